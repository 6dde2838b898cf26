"""The walk over the tree of a page, which takes the text of a leaf at once, against one that takes no short cuts."""

from __future__ import annotations

import random
from collections.abc import Iterator

from selectolax.lexbor import LexborHTMLParser, LexborNode

from gossamer.process.html import process
from gossamer.process.markup.reading import Reading, read
from tests.fuzz import corpus
from tests.fuzz.run import mutated
from tests.fuzz.targets import Target

URL = "http://h.test/"
WORD, BLOCK = " ", "\0"  # no text in a tree holds the second
_INLINE = """
    a abbr acronym b bdi bdo big cite code data del dfn em font i ins kbd label mark nobr q rp rt ruby s samp small
    span strike strong sub sup time tt u var wbr -comment
"""
_WORDS = "area base br col embed hr img input link meta param source track"
_HIDDEN = "script style title textarea iframe noembed noframes"
INLINE, WORDS, HIDDEN = (frozenset(names.split()) for names in (_INLINE, _WORDS, _HIDDEN))
MORE_WORDS = [b"<br>", b"<div>", b"</div>", b"<span>", b"</span>", b"<li>", b"</a>", b"<a href=q>q</a>", b" ", b"\n"]


def everything(node: LexborNode, *, is_hidden: bool = False) -> Iterator[str]:
    """All text below a node, and what ends a word or a block in it."""
    before = ""
    for child in node.iter(include_text=True):
        name = child.tag or "-comment"
        if name == "-text":
            yield "" if is_hidden else child.text_content or ""
        elif name == "noscript":
            yield BLOCK
        else:
            end = "" if name in INLINE else WORD if name in WORDS | HIDDEN else BLOCK
            yield WORD if name == before == "a" else end
            yield from everything(child, is_hidden=name in HIDDEN)
            yield end
        before = name


def naive_blocks(html: bytes) -> list[list[str]]:
    root = LexborHTMLParser(html).root
    text = "".join(everything(root)) if root is not None else ""
    return [words for block in text.split(BLOCK) if (words := block.split())]


def blocks(html: bytes) -> list[list[str]]:
    reading = Reading()
    root = LexborHTMLParser(html).root
    if root is not None:
        read(root, reading, None, {})
    return [block.split() for block in reading.blocks]


def test_blocks_are_those_of_a_walk_without_short_cuts() -> None:
    chance = random.Random(7)
    target = Target(lambda _: None, corpus.HTML + corpus.public_cases()["html"], corpus.HTML_WORDS + MORE_WORDS)
    for html in [*target.seeds, *(mutated(chance.choice(target.seeds), target, chance, 2000) for _ in range(500))]:
        assert blocks(html) == naive_blocks(html), html


def test_what_ended_behind_white_space_or_a_script_has_ended() -> None:
    for between in (" ", "<script>x</script>", "<!-- x --> ", "<br>", "<b></b> "):
        assert blocks(f"<div>a</div>{between}<b>b</b>".encode()) == [["a"], ["b"]], between


def test_a_link_behind_the_navigation_and_a_script_is_not_in_the_navigation() -> None:
    page = process(b"<div class=nav>n</div><script>x</script><a href=/a><h2>t</h2></a><p>text", URL)
    assert [link.position for link in page.links] == ["main"]


def test_a_picture_in_a_paragraph_is_in_that_paragraph() -> None:
    html = b"<p>one <img src=i> two<p>three<footer><p>four <img src=j></footer>"
    page = process(html, URL, links_from=["images"])
    assert [(link.url[-1], link.position) for link in page.links] == [("i", "main"), ("j", "footer")]


def test_a_drawing_that_is_never_closed_hides_its_title_and_no_page() -> None:
    page = process(b"<p>a<svg><title>t<p>b <a href=/c>c</a>", URL)
    assert page.text.split()[:2] == ["a", "b"]
    assert len(page.links) == 1
