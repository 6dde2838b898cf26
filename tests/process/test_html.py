from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gossamer.process.html import FRAME, IMAGE, LINKS_MAX, REFRESH, SCRIPT, process
from gossamer.process.links import ANCHOR_CHARS_MAX
from gossamer.records import Page

PAGE = "http://a.test/folder/page.html"


def page(markup: str, url: str = PAGE) -> Page:
    return process(markup.encode(), url, "text/html; charset=utf-8")


def link_parts(markup: str) -> list[tuple[str, str, str]]:
    return [(link.url, link.anchor, link.rel) for link in page(markup).links]


def urls(markup: str, url: str = PAGE) -> list[str]:
    return [link.url for link in page(markup, url).links]


# --- Title and text ---


def test_the_title_is_the_first_one_and_folded() -> None:
    assert page("<title> My\n\t title </title><title>other</title>").title == "My title"
    assert page("<p>no title").title == ""


def test_the_title_of_a_drawing_is_not_the_title_of_the_page() -> None:
    assert page("<body><svg><title>icon</title></svg>").title == ""


def test_text_is_what_a_reader_sees() -> None:
    markup = """<title>t</title><style>p {}</style><body>one<script>two()</script><!-- three -->
        <noscript>four <b>five</b></noscript><template>six</template><textarea>seven</textarea>
        <iframe>eight</iframe>&nbsp;nine &amp; ten</body>"""
    assert page(markup).text == "one nine & ten"


def test_a_word_runs_through_inline_elements_and_ends_at_all_others() -> None:
    assert page("H<sub>2</sub>O is <b>w</b>et<!-- very -->ter").text == "H2O is wetter"
    assert page("<p>one</p>two<br>three<ul><li>four<li>five</ul>six").text == "one two three four five six"
    assert page("<table><tr><td>1</td><td>2</td></tr></table>").text == "1 2"
    assert page("<div>a</div><b><i>b</i></b>").text == "a b"
    assert page("<a href=1>one</a><a href=2>two</a>").text == "one two"


def test_white_space_inside_an_inline_element_ends_a_word() -> None:
    assert page("<b>a</b><span> </span><b>c</b>").text == "a c"
    assert page("<b>a</b><i> <u>b</u></i>").text == "a b"
    assert page("a<b></b><!-- x -->b").text == "ab"
    assert page("one <b> two</b>").text == "one two"


def test_text_goes_on_behind_what_is_not_shown() -> None:
    assert page("<p>a <noscript><img src=x></noscript>b <noscript>no</noscript> c</p>").text == "a b c"


def test_an_empty_script_does_not_hide_the_text_after_it() -> None:
    assert page("<script></script>text").text == "text"


def test_white_space_is_folded() -> None:
    assert page("<p>  a \n\n  b\t\xa0 c  </p>").text == "a b c"
    assert page("<p>a\nb</p>").text == "a b"


# --- Links ---


def test_links_come_in_document_order_and_each_url_once() -> None:
    markup = "<a href=/b>b</a> <a href=/a>a</a> <a href='/b#part'>again</a> <area href=c alt=see>"
    links = page(markup).links
    assert [(link.url, link.anchor) for link in links] == [
        ("http://a.test/b", "b"),
        ("http://a.test/a", "a"),
        ("http://a.test/folder/c", "see"),
    ]
    assert {link.source for link in links} == {PAGE}


def test_what_cannot_be_crawled_is_no_link() -> None:
    markup = (
        "<a href='mailto:a@a.test'><a href='javascript:go()'><a href='data:,x'><a href='http://'><a name=x><a href>"
    )
    assert urls(markup) == []


def test_one_followable_occurrence_makes_a_link_followable() -> None:
    markup = "<a href=/both rel='NoFollow ugc'>x</a><a href=/both>y</a><a href=/never rel=nofollow>z</a>"
    assert link_parts(markup) == [("http://a.test/both", "x", ""), ("http://a.test/never", "z", "nofollow")]


def test_the_first_anchor_that_says_something_is_kept() -> None:
    assert page("<a href=/x><img></a><a href=/x>Read</a><a href=/x>more</a>").links[0].anchor == "Read"


def test_a_picture_speaks_for_a_link_without_words() -> None:
    assert page("<a href=/x> <img src=a.png alt=' a  cat '></a>").links[0].anchor == "a cat"


def test_an_anchor_is_folded_and_bounded() -> None:
    assert page("<a href=/x> one\n two </a>").links[0].anchor == "one two"
    assert len(page(f"<a href=/x>{'word ' * 1000}</a>").links[0].anchor) == ANCHOR_CHARS_MAX


def test_the_first_base_counts_for_the_whole_document() -> None:
    markup = "<link rel=canonical href=c><base href='/b/'><base href='/other/'><a href=x>"
    assert urls(markup) == ["http://a.test/b/c", "http://a.test/b/x"]
    assert page(markup).canonical == "http://a.test/b/c"


def test_a_base_that_leads_nowhere_is_ignored() -> None:
    assert urls("<base href='javascript:x'><a href=y>") == ["http://a.test/folder/y"]


@pytest.mark.parametrize(
    ("rel", "is_link"),
    [
        ("next", True),
        ("prev", True),
        ("canonical", True),
        ("alternate", True),
        ("alternate stylesheet", False),
        ("stylesheet", False),
        ("icon", False),
        ("preconnect", False),
        ("dns-prefetch", False),
        ("pingback", False),
        ("", False),
    ],
)
def test_only_link_elements_that_lead_to_pages_are_links(rel: str, is_link: bool) -> None:
    assert urls(f"<link rel='{rel}' href=/x>") == (["http://a.test/x"] if is_link else [])


def test_alternates_for_programs_are_no_links() -> None:
    assert urls("<link rel=alternate type=application/rss+xml href=/feed>") == ["http://a.test/feed"]
    assert urls("<link rel=alternate type='application/json+oembed' href=/oembed>") == []


def test_frames_and_refreshes_are_links() -> None:
    assert link_parts("<iframe src=/in></iframe>") == [("http://a.test/in", "", FRAME)]
    assert link_parts("<frameset><frame src=/in></frameset>") == [("http://a.test/in", "", FRAME)]
    assert link_parts("<meta http-equiv=Refresh content='5; url=/new'>") == [("http://a.test/new", "", REFRESH)]
    assert page("<meta http-equiv=refresh content=30>").links == []


def test_links_inside_noscript_count_for_we_run_no_scripts() -> None:
    assert urls("<body><noscript><a href=/plain>plain</a></noscript>") == ["http://a.test/plain"]


def test_a_query_is_escaped_in_the_encoding_of_its_page() -> None:
    body = "<a href='/поиск?q=привет'>".encode("windows-1251")
    found = process(body, PAGE, "text/html; charset=windows-1251").links[0].url
    assert found == "http://a.test/%D0%BF%D0%BE%D0%B8%D1%81%D0%BA?q=%EF%F0%E8%E2%E5%F2"


def test_pictures_and_scripts_are_links_only_where_they_are_wanted() -> None:
    markup = b"""<img src=/1 srcset='/2 1x, /3 2x' alt=cat><picture><source srcset=/4></picture>
        <video poster=/5></video><script src=/6></script><img data-src=/7>"""
    assert process(markup, PAGE).links == []
    wanted = process(markup, PAGE, links_from=("images", "scripts")).links
    assert [link.url for link in wanted] == [f"http://a.test/{number}" for number in range(1, 8)]
    assert (wanted[0].anchor, wanted[0].rel, wanted[5].rel) == ("cat", IMAGE, SCRIPT)
    assert len(process(markup, PAGE, links_from=("scripts",)).links) == 1


# --- What a page says about itself ---


def test_headings_are_those_of_three_levels_and_not_of_the_frame() -> None:
    markup = (
        "<header><h1>A</h1></header><nav><h2>Menu</h2></nav><h2> B\n b¶</h2><h4>C</h4><footer><h3>D</h3></footer>"
    )
    assert page(markup).headings == ["A", "B b"]


def test_the_description_is_the_one_for_search_engines_before_that_for_social_ones() -> None:
    social = "<meta property=og:description content='for friends'>"
    assert page(f"{social}<meta name=Description content=' for  all '>").description == "for all"
    assert page(social).description == "for friends"


def test_alternates_are_told_with_their_languages() -> None:
    markup = "<link rel=alternate hreflang=de-AT href=/de><link rel=alternate href=/feed type=application/rss+xml>"
    assert page(markup).alternates == [("de-at", "http://a.test/de")]


def test_the_language_is_what_the_text_is_in_and_else_what_is_declared() -> None:
    english = "<p>this is the text of a page and it is in the language that it is in, as one can see"
    assert page(f"<html lang=de>{english}").language == "en"
    assert page("<html lang=pt-BR><p>xyzzy").language == "pt"
    assert page("<meta http-equiv=content-language content=fr><p>xyzzy").language == "fr"
    assert page("<p>xyzzy").language == ""


# --- What the author asks of robots ---


def test_what_is_said_to_another_robot_is_not_for_us() -> None:
    markup = b"<meta name=otherbot content='noindex, noarchive'>"
    assert not process(markup, PAGE).noindex
    ours = process(markup, PAGE, agent="OtherBot")
    assert (ours.noindex, ours.nofollow, ours.noarchive) == (True, False, True)
    assert not process(b"<meta name=robots content=none>", PAGE).noarchive


@pytest.mark.parametrize(
    ("metas", "noindex", "nofollow"),
    [
        ("<meta name=robots content=noindex>", True, False),
        ("<meta name=robots content='index, NOFOLLOW'>", False, True),
        ("<META NAME=ROBOTS CONTENT=None>", True, True),
        ("<meta name=robots content='all'>", False, False),
        ("<meta name=gossamer content=noindex><meta name=robots content=nofollow>", True, True),
        ("<meta name=otherbot content=none>", False, False),
        ("<meta name=robots>", False, False),
        ("<meta name=description content=noindex>", False, False),
    ],
)
def test_meta_robots_is_understood(metas: str, noindex: bool, nofollow: bool) -> None:
    found = page(f"{metas}<a href=/x>x</a>")
    assert (found.noindex, found.nofollow) == (noindex, nofollow)
    assert found.links  # listed all the same: the crawl decides


def test_the_first_canonical_url_counts_and_is_canonical() -> None:
    markup = "<link rel=Canonical href='HTTP://A.test/x?utm_source=y#z'><link rel=canonical href=/other>"
    assert page(markup).canonical == "http://a.test/x"
    assert page("<link rel=canonical href='mailto:x@a.test'>").canonical is None


# --- Hostile markup ---


@given(st.binary(max_size=300), st.sampled_from([None, "text/html", "text/html; charset=utf-16", "x; charset=big5"]))
@example(b"\xff\xfe<\x00a\x00", None)
@example(b"<a href='http://[/'>\x00</a>\xef\xbb\xbf", None)
def test_any_bytes_make_a_page(body: bytes, content_type: str | None) -> None:
    assert process(body, PAGE, content_type).url == PAGE


def test_bytes_that_are_no_utf8_are_marked_where_they_stand() -> None:
    found = process(b"<title>\xe9t\xe9</title><a href='/\xff'>caf\xe9</a> \xc3<br>", PAGE, "text/html; charset=utf-8")
    assert (found.title, found.text) == ("\ufffdt\ufffd", "caf\ufffd \ufffd")
    assert [(link.url, link.anchor) for link in found.links] == [("http://a.test/%EF%BF%BD", "caf\ufffd")]


@pytest.mark.parametrize(
    "markup",
    [
        "<div>" * 100_000,
        "<div>" * 100_000 + "x" + "</div>" * 100_000,
        "<p>" + "".join(f"<b id={n}>" for n in range(20_000)) + "<p>x" * 20_000,
        "<table><tr><td>" * 50_000,
        "<ul><li>" * 50_000,
        "<noscript>" * 50_000,
        "<span>x</span>" * 50_000,
        "x" + "<b></b>" * 50_000 + "y",
        "<div class=menu><main>" * 400 + "x<p>" * 20_000,
        "<nav>" * 900 + "<a href=x>x</a>" * 10_000,
        "<a href='" + "x" * 1_000_000,
        "<" * 100_000,
        "<!--" * 100_000,
        "\0" * 100_000,
    ],
    ids=lambda markup: markup[:20],
)
def test_hostile_nesting_is_harmless(markup: str) -> None:
    first = "<a href=/first>first</a>"
    assert page(f"<title>t</title>{first}{markup}").links[0].url == "http://a.test/first"


@pytest.mark.parametrize(
    "middle",
    [
        "<svg>" + "<path d='M0 0'/>" * 3000 + "</svg>",  # closed by themselves
        "<div><span>row</div>\n" * 3000,  # closed by what is around them
        "<input " + " ".join(f"data-{number}=''" for number in range(20_000)) + ">",
    ],
    ids=lambda middle: middle[:12],
)
def test_what_comes_after_much_that_is_harmless_is_read(middle: str) -> None:
    found = page(f"<p>before{middle}<p>after <a href=x>x</a>")
    assert found.text.startswith("before") and found.text.endswith("after x")
    assert len(found.links) == 1


def test_a_long_honest_page_is_read_to_its_end() -> None:
    rows = "".join(f"<tr><td><b>{n}</b><td><br><img src=x><p>text" for n in range(5_000))
    assert urls(f"<table>{rows}</table><a href=/last>") == ["http://a.test/last"]


def test_links_are_bounded() -> None:
    markup = "".join(f"<a href=/{n}></a>" for n in range(LINKS_MAX + 10))
    assert len(urls(markup)) == LINKS_MAX
