"""What is main text and what is frame, how it is kept apart, and where links stand."""

from __future__ import annotations

import pytest

from gossamer.process.html import process
from gossamer.process.processor import Processor
from gossamer.process.text import fold
from gossamer.records import Exchange, Fetched, Page
from gossamer.settings import ProcessSettings

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
    assert page(f"<main>Loading</main>{STORY * 10}").main_text == "\n\n".join(["Loading", *[TEXT] * 10])


def test_the_header_of_an_article_is_part_of_it() -> None:
    assert page(f"<article><header><h1>A story</h1></header>{STORY}</article>").main_text == f"A story\n\n{TEXT}"


def test_a_name_that_only_mentions_a_frame_makes_none() -> None:
    for name in ("has-sidebar", "wy-nav-content", "no-menu", "unavoidable", "loading", "shareholders"):
        assert page(f"<nav>Home</nav><div class={name}>{STORY}</div>").main_text == TEXT


def test_an_area_ends_where_its_element_ends() -> None:
    markup = "<p>Choose <select><option>one<option>two</select> and go on <button><img src=x></button>to the end.</p>"
    assert page(markup).main_text == "Choose and go on to the end."


def test_a_page_whose_frame_is_called_after_its_sidebar_keeps_its_text() -> None:
    found = page(f"<div class=sidebar-page><p>Hello</p>{STORY * 5}</div>")
    assert found.main_text == "\n\n".join(["Hello", *[TEXT] * 5])


def test_links_in_running_text_are_text() -> None:
    markup = (
        "<p>See <a href=1>one</a> and <a href=2>two</a> and <a href=3>three</a>, which all say more about it.</p>"
    )
    assert page(f"<nav>Home</nav>{markup}").main_text.startswith("See one and two")


def test_a_page_of_links_is_what_it_is() -> None:
    index = "".join(f"<li><a href={number}>Chapter number {number}</a>" for number in range(20))
    found = page(f"<nav>Home</nav><h1>Contents</h1><ul>{index}</ul>")
    assert found.main_text.startswith("Contents\nChapter number 0\nChapter number 1")
    assert {link.position for link in found.links} == {"main"}


def test_where_nothing_is_left_the_main_text_is_all_text() -> None:
    assert page("<nav>Home</nav>").main_text == "Home"
    assert page("").main_text == ""


# --- Paragraphs, lists, code and tables ---

RECIPE = """<nav>Home</nav><main><h1>Soup</h1><div><p>Take  two
eggs.<br>Stir.<br><br>Rest.</p></div><p>Then:</p><ol><li>Fry<ul><li>hot<li><p>quick</p></ul></li><li>Serve</ol>
<table><tr><th></th><th>Small</th><th>Large</th></tr><tr><td>Bowl</td> <td>3</td><td><b>5</b></td></tr></table>
<pre><code>def soup():
    return <span>"hot"</span>

soup()
</code></pre><p>The <select><option>happy</select> end.</p><pre>a<br>  b</pre>
<dl><dt>Egg<dd>What hens lay</dl></main>"""


def test_paragraphs_lines_items_cells_and_code_are_kept_apart() -> None:
    assert page(RECIPE).main_text == (
        "Soup\n\nTake two eggs.\nStir.\n\nRest.\n\nThen:\nFry\nhot\nquick\nServe\n\n"
        "\tSmall\tLarge\nBowl\t3\t5\n\n"
        'def soup():\n    return "hot"\n\nsoup()\n\n'
        "The end.\n\na\n  b\nEgg\nWhat hens lay"
    )
    assert "\n" not in page(RECIPE).text


async def test_white_space_is_no_part_of_a_fingerprint() -> None:
    """Short, longer than is looked at in one piece, and longer than is looked at at all."""
    for times in (1, 300, 2000):
        apart = f"<main>{RECIPE * times}</main>"
        in_one = f"<main><p>{fold(page(apart).main_text)}</p></main>"
        one, other = [await read(markup) for markup in (apart, in_one)]
        assert one.main_text != other.main_text and fold(one.main_text) == fold(other.main_text)
        assert (one.simhash, one.words, one.sketch) == (other.simhash, other.words, other.sketch)
        assert one.sketch


async def read(markup: str) -> Page:
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n\r\n"
    processor = Processor(process=ProcessSettings(aside_bytes=1 << 30))
    exchange = Exchange(b"", head, 200, "192.0.2.1", 0.0, 0.1, 0.1)
    try:
        return await processor.process(PAGE, Fetched(exchange, markup.encode()))
    finally:
        await processor.close()


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
