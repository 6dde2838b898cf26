"""The main text of a page as Markdown: the same words in the same blocks, and their form."""

from __future__ import annotations

import pytest

from gossamer.process import html
from gossamer.process.markdown.blocks import NEST_MAX
from gossamer.process.markdown.document import process
from gossamer.process.markdown.writer import URL_CHARS_MAX
from tests.process.markdown.reading_back import PAGE, difference, markdown, read_back

MIB = 1 << 20


@pytest.mark.parametrize(
    ("markup", "wanted"),
    [
        ("<h1>One</h1><p>Two<h4>Three <b>3</b></h4>", "# One\n\nTwo\n\n#### Three **3**"),
        ("<h2>A title <a href='#t'>¶</a></h2><p>Text", "## A title\n\nText"),
        ("<ul><li>a<li>b<ul><li>c</ul><li>d</ul>", "- a\n- b\n  - c\n- d"),
        ("<ol start=9><li>a<li>b<p>more</ol>", "9. a\n10. b\n\n    more"),
        ("<ul><li>a</ul><ul><li>b</ul>", "- a\n\n* b"),
        ("<ul><li><li>b</ul>", "- b"),
        ("<dl><dt>term<dd>said</dl>", "term\n\n- said"),
        ("<blockquote><p>a<p>b</blockquote>c", "> a\n>\n> b\n\nc"),
        ("<p>one<br>two<br>three", "one  \ntwo  \nthree"),
        ("<p>a <b>b </b>c, <i>d</i> <code>e*f</code>", "a **b** c, *d* `e*f`"),
        ("<p>x<b>(y)</b>z <i></i>", "x(y)z"),
        ("<p><code>a`b</code>", "``a`b``"),
        ("<p>H<sub>2</sub>O", "H2O"),
        ("<p>one <img src=x alt='a cat'> two", "one a cat two"),
        ("<a href=/x><h3>Title</h3>and more</a>", "### [Title](http://a.test/x)\n\n[and more](http://a.test/x)"),
        ("<svg><text>in a drawing</text><text>twice</text></svg>", "in a drawing twice"),
    ],
)
def test_what_becomes_of_elements(markup: str, wanted: str) -> None:
    assert markdown(markup) == wanted
    assert difference(markup.encode()) == ""


def test_links_are_those_of_the_crawl() -> None:
    text = """<p><a href="../b?z=1&utm_source=x&a=2#part">one</a>, <a href="mailto:a@b.test">two</a>,
        <a href="#here">three</a>, <a href="/w/x_(y)">four [4]</a>!<a href=z>five</a>,
        <a href="javascript:x()">six</a>,
        <a href="?q=1&amp;copy;=2">7</a>, and a text that is long enough to be no list of links at all."""
    found = [(node.text(), node.attributes["href"]) for node in read_back(markdown(text)).css("a")]
    assert found == [
        ("one", "http://a.test/b?a=2&z=1"),
        ("four [4]", "http://a.test/w/x_(y)"),
        ("five", "http://a.test/folder/z"),
        ("7", "http://a.test/folder/page.html?copy;=2&q=1"),
    ]
    crawled = {link.url for link in html.process(text.encode(), PAGE).links}
    assert {href for _, href in found} <= crawled


def test_code_keeps_its_lines_and_its_language() -> None:
    code = "def f():\n\n    return '```'  # <b> *x*"
    escaped = code.replace("<", "&lt;")
    for markup in (
        f"<pre><code class='language-python'>{escaped}\n</code></pre>",
        f"<div class='highlight-python x'><div class=highlight><pre><span></span>{escaped}</pre></div></div>",
        f"<ul><li>an item<pre class='lang-python'>{escaped}</pre></ul>",
    ):
        found = read_back(markdown(f"<p>Before.</p>{markup}<p>After.</p>")).css_first("pre code")
        assert found is not None
        assert (found.text().rstrip("\n"), found.attributes["class"]) == (code, "language-python")


def test_a_table_has_its_rows_and_columns() -> None:
    rows = "<tr><th>Name<th>Price<tr><td rowspan=2>a | b<td><a href=x>1</a><tr><td>2<tr><td colspan=2>`both`"
    table = read_back(markdown(f"<p>Below.</p><table><caption>All of it</caption>{rows}</table>"))
    cells = [[cell.text().strip() for cell in row.css("th, td")] for row in table.css("tr")]
    assert cells == [["Name", "Price"], ["a | b", "1"], ["", "2"], ["`both`", ""]]
    assert "All of it\n\n| Name | Price |" in markdown(f"<table><caption>All of it</caption>{rows}</table>")


def test_a_table_without_names_has_an_empty_line_for_them() -> None:
    assert markdown("<table><tr><th>Age<td>7<tr><th>Size<td>8</table>") == (
        "| | |\n| --- | --- |\n| Age | 7 |\n| Size | 8 |"
    )


def test_a_table_that_is_a_layout_becomes_lines() -> None:
    markup = "<table><tr><td>1.<td><a href=x>A title</a> by me<tr><td><td><ul><li>one<li>two</ul></table>"
    assert markdown(markup) == "1\\. [A title](http://a.test/folder/x) by me\n\n- one\n- two"


@pytest.mark.parametrize(
    "text",
    [
        "# no heading", "- no item", "+ no item", "* no item", "1. no item", "12) no item", "> no quotation", "---",
        "===", "***", "| a | b |", "a snake_case and __init__ _x_", "2 * 3 *4* **5**", "[no](link) [1] [x]: y", "a|b",
        "![no](picture)", "<b>no tag</b> a < b <x@y.test>", "&amp; &#35; &copy;", "`no code`", "~~all there~~", "```",
        "back\\slash \\* \\", "https://a.test/_x_", "    no code", "Q: :-", "\\",
    ],
)  # fmt: skip
def test_what_looks_like_a_mark_and_is_text_stays_text(text: str) -> None:
    escaped = text.replace("&", "&amp;").replace("<", "&lt;")
    for markup in ("<p>{}", "<p>Before<br>{}<br>after", "<ul><li>{}</ul>", "<h2>{}</h2>", "<p>A <b>{}</b>."):
        assert difference(markup.format(escaped).encode()) == "", markup
    cells = read_back(markdown(f"<table><tr><th>{escaped}<th>b<tr><td>c<td>d</table>")).css("th")
    assert [cell.text().strip() for cell in cells] == [text.strip(), "b"]


def test_the_frame_of_a_page_is_left_out() -> None:
    text = "<p>Once upon a time there was a page with a story.</p>"
    menu = "<nav><ul><li><a href=1><img alt=logo></a><li><a href=2>Home</a></ul></nav>"
    assert markdown(f"{menu}{text}<footer>Imprint</footer>") == "Once upon a time there was a page with a story."


def test_bytes_that_are_no_text_do_not_lead_astray() -> None:
    body = b"<nav>menu</nav><p>a\xe2<b>\x82</b>\xac \xff</p><p>of which there is enough</p><footer>f\xe2</footer>"
    text = process(body, PAGE, "text/html; charset=utf-8").main_text
    assert text.endswith("\n\nof which there is enough") and text.startswith("a")


HOSTILE = {
    "lists": "<ol start=999999990><li>" * 30 + "<li>x" * 50_000,
    "quotations with code": "<blockquote>" * 50 + "<pre>" + "x\n" * 200_000,
    "links with a long base": f"<base href='http://a.test/{'x' * 1500}/'>" + "<a href=x>y</a>" * 20_000,
    "a wide table": "<table><tr>" + "<td>x" * 50_000,
    "spans": "<table><tr><td>a<td>b" + "<tr><td colspan=50 rowspan=999>x" * 10_000,
    "tables": "<table><tr><td>x" * 10_000,
    "emphasis": "<p>" + "<b>x</b>y<i>z</i>" * 20_000,
    "marks": "<p>" + "*_`[<&~" * 40_000,
    "signs": "<h1>x" + "<a href=#>¶" * 20_000,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_markup_is_bounded(name: str) -> None:
    body = HOSTILE[name].encode()
    most = 4 * len(body) + URL_CHARS_MAX + 17 * MIB
    assert 0 < len(markdown(body)) <= most


def test_nesting_is_as_deep_as_anybody_reads() -> None:
    text = markdown("<ul><li>x" * 100)
    assert len(read_back(text).css("ul")) == NEST_MAX
    assert difference(b"<ul><li>x" * 100) == ""
