"""What is main text and what is frame, where links stand, and which language it all is in."""

from __future__ import annotations

import pytest

from gossamer.process.html import process
from gossamer.process.markup.language import code, language_of
from gossamer.records import Page

PAGE = "http://a.test/folder/page.html"
STORY = "<p>Once upon a time there was a page with a story, and it went on for a while.</p>"
TEXT = "Once upon a time there was a page with a story, and it went on for a while."


def page(markup: str) -> Page:
    return process(markup.encode(), PAGE, "text/html; charset=utf-8")


def positions(markup: str) -> dict[str, str]:
    return {link.url.rpartition("/")[2]: link.position for link in page(markup).links}


# --- Main text ---


@pytest.mark.parametrize(
    "frame",
    [
        "<nav>Home About</nav>",
        "<header>My site</header>",
        "<footer>Imprint</footer>",
        "<aside>Did you know?</aside>",
        "<div role=navigation>Home About</div>",
        "<div role='banner'>My site</div>",
        "<ul class='main-nav'><li>Home<li>About</ul>",
        "<div id=leftSidebar>News</div>",
        "<div class='c-breadcrumb__list'>Home > Here</div>",
        "<div class='cookie-consent'>We use cookies, and here is a long text about why we do so.</div>",
        "<div id=footer>Imprint</div>",
        "<table><tr><td class=menu>Home</table>",
        "<select><option>German<option>French</select><button>Go</button>",
        "<div hidden>Not yet</div><div style='display: none'>Not now</div>",
        "<div><a href=1>Home</a> | <a href=2>About</a> | <a href=3>News</a></div>",
        "<ul><li><a href=1>Home</a><li><a href=2>About</a><li><a href=3>News</a></ul>",
    ],
    ids=lambda frame: frame[:30],
)
def test_the_frame_of_a_page_is_not_its_main_text(frame: str) -> None:
    for markup in (frame + STORY, STORY + frame, f"<div class=page>{frame}<div>{STORY}</div></div>"):
        found = page(markup)
        assert found.main_text == TEXT, markup
        assert found.text != TEXT  # which has it all


def test_what_says_it_is_the_main_part_is_believed() -> None:
    beside = "<p>Beside the point, with a few words of its own.</p>"
    for markup in (f"<main>{STORY}</main>", f"<div role=main>{STORY}</div>", f"<article>{STORY}</article>"):
        assert page(beside + markup + beside).main_text == TEXT


def test_a_main_part_with_hardly_a_word_in_it_is_not_believed() -> None:
    assert page(f"<main>Loading</main>{STORY * 10}").main_text == " ".join(["Loading", *[TEXT] * 10])


def test_the_header_of_an_article_is_part_of_it() -> None:
    assert page(f"<article><header><h1>A story</h1></header>{STORY}</article>").main_text == f"A story {TEXT}"


def test_a_name_that_only_mentions_a_frame_makes_none() -> None:
    for name in ("has-sidebar", "wy-nav-content", "no-menu", "unavoidable", "loading", "shareholders"):
        assert page(f"<nav>Home</nav><div class={name}>{STORY}</div>").main_text == TEXT


def test_an_area_ends_where_its_element_ends() -> None:
    markup = "<p>Choose <select><option>one<option>two</select> and go on <button><img src=x></button>to the end.</p>"
    assert page(markup).main_text == "Choose and go on to the end."


def test_a_page_whose_frame_is_called_after_its_sidebar_keeps_its_text() -> None:
    assert page(f"<div class=sidebar-page><p>Hello</p>{STORY * 5}</div>").main_text == " ".join(
        ["Hello", *[TEXT] * 5]
    )


def test_links_in_running_text_are_text() -> None:
    markup = (
        "<p>See <a href=1>one</a> and <a href=2>two</a> and <a href=3>three</a>, which all say more about it.</p>"
    )
    assert page(f"<nav>Home</nav>{markup}").main_text.startswith("See one and two")


def test_a_page_of_links_is_what_it_is() -> None:
    index = "".join(f"<li><a href={number}>Chapter number {number}</a>" for number in range(20))
    found = page(f"<nav>Home</nav><h1>Contents</h1><ul>{index}</ul>")
    assert found.main_text.startswith("Contents Chapter number 0")
    assert {link.position for link in found.links} == {"main"}


def test_where_nothing_is_left_the_main_text_is_all_text() -> None:
    assert page("<nav>Home</nav>").main_text == "Home"
    assert page("").main_text == ""


# --- Where links stand ---


def test_links_know_where_they_stand() -> None:
    markup = f"""<head><link rel=next href=next></head><nav><a href=home>Home</a></nav>
        <main>{STORY}<p>It goes on <a href=on>on the next page</a> after this.</p><a href=cat><img src=c></a></main>
        <div class=related><a href=other>Another story</a></div><footer><a href=imprint>Imprint</a></footer>"""
    assert positions(markup) == {
        "next": "",
        "home": "navigation",
        "on": "main",
        "cat": "main",
        "other": "navigation",
        "imprint": "footer",
    }


def test_a_list_of_links_in_no_area_is_navigation() -> None:
    markup = "<ul><li><a href=1>Home</a><li><a href=2>About</a><li><a href=3>News</a></ul>" + STORY
    assert set(positions(markup).values()) == {"navigation"}


def test_of_two_places_the_better_one_counts() -> None:
    markup = f"<footer><a href=x>Story</a></footer>{STORY}<p>See <a href=x>the story</a> for more.</p>"
    assert positions(markup) == {"x": "main"}


def test_the_context_of_a_link_goes_by_its_place() -> None:
    markup = (
        f"<nav><a href=/home>Our home page</a></nav>{STORY}<p>See <a href=/more>the other story</a> now.</p>".encode()
    )
    home, more = process(markup, PAGE).links
    assert 0 <= home.context < more.context <= 1


# --- Language ---

SAMPLES = {
    "en": "All human beings are born free and equal in dignity and rights, and should act in a spirit of love.",
    "de": "Alle Menschen sind frei und gleich an Würde und Rechten geboren und sollen einander im Geist begegnen.",
    "fr": "Tous les êtres humains naissent libres et égaux en dignité et en droits et ils sont doués de raison.",
    "es": "Todos los seres humanos nacen libres e iguales en dignidad y derechos y, dotados como están de razón.",
    "it": "Tutti gli esseri umani nascono liberi ed eguali in dignità e diritti. Essi sono dotati di ragione.",
    "pt": "Todos os seres humanos nascem livres e iguais em dignidade e em direitos, dotados de razão e não só.",
    "nl": "Alle mensen worden vrij en gelijk in waardigheid en rechten geboren. Zij zijn begiftigd met verstand.",
    "pl": "Wszyscy ludzie rodzą się wolni i równi pod względem swej godności i swych praw, są oni w tym jak my.",
    "ru": "Все люди рождаются свободными и равными в своем достоинстве и правах. Они наделены разумом и не только.",
    "uk": "Всі люди народжуються вільними і рівними у своїй гідності та правах. Вони наділені розумом і це не все.",
    "el": "Όλοι οι άνθρωποι γεννιούνται ελεύθεροι και ίσοι στην αξιοπρέπεια και τα δικαιώματα.",
    "ja": "すべての人間は、生まれながらにして自由であり、かつ、尊厳と権利とについて平等である。",
    "zh": "人人生而自由,在尊严和权利上一律平等。他们赋有理性和良心。",
    "ko": "모든 인간은 태어날 때부터 자유로우며 그 존엄과 권리에 있어 동등하다.",
    "ar": "يولد جميع الناس أحرارا متساوين في الكرامة والحقوق",
    "fa": "تمام افراد بشر آزاد به دنیا می‌آیند و از لحاظ حیثیت و حقوق با هم برابرند و چنین گفته‌اند",
}


@pytest.mark.parametrize(("language", "text"), SAMPLES.items())
def test_a_language_is_told_from_a_sentence_whatever_is_declared(language: str, text: str) -> None:
    assert language_of(text) == language
    assert language_of(text, "sv") == language


def test_a_declared_language_that_fits_as_well_is_believed() -> None:
    danish = "Alle mennesker er født frie og lige i værdighed og rettigheder, og de er som en for det hele."
    assert language_of(danish, "nb-NO") == "nb"
    assert language_of("मराठी भाषा ही भारताच्या राज्यांपैकी", "mr") == "mr"


def test_too_little_text_has_the_declared_language_or_none() -> None:
    assert language_of("42", "en-GB") == "en"
    assert language_of("xyzzy plugh") == ""
    assert language_of("") == ""


@pytest.mark.parametrize(
    ("declared", "expected"),
    [
        ("EN_us", "en"),
        ("zh-Hant-TW", "zh"),
        (" de ", "de"),
        ("eng", "en"),
        ("jp", "ja"),
        ("iw", "he"),
        ("x-default", ""),
        ("english", ""),
        ("qq", ""),
        ("und", ""),
        ("", ""),
    ],
)
def test_a_declared_language_is_reduced_to_its_code(declared: str, expected: str) -> None:
    assert code(declared) == expected
