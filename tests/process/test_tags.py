"""The tags that are looked at are those that the parser sees, whatever stands in attributes, comments and scripts."""

from __future__ import annotations

import random

import pytest
from selectolax.lexbor import LexborHTMLParser

from gossamer.process.html import process
from gossamer.process.markup.tags import with_certain_tags
from tests.fuzz.growth import pieces_of

# Elements in which others are ignored or out of sight are left out: there the parser does not tell what it sees.
PIECES = pieces_of("""
    < > </ /> = " ' _ ~ a a=' a=" a=b <! <? <!-- --> --!> <!--> ]]> <![CDATA[ & / - ! ?
    <p> </p> <div_a=' </div> <svg> </svg> <math> </math> <foreignObject> <desc> <table> <td> </table> <b>
    <script> </script> <script/> </scriptx <style> </style> <title> </title> <title/> <textarea> </textarea>
    <xmp> </xmp> <iframe> </iframe> <noembed> <noframes> </noframes> <noscript> <script_a='> </script_a='>
    <x-#> <x-#_a=' <x-#_a=">"> </x-#> <x-#/> <x-#> <x-#_a=' <x-#_a=">"> </x-#> <x-#/>
""")


def markup_of(seed: int) -> bytes:
    chance = random.Random(seed)
    pieces = [chance.choice(PIECES).replace("#", str(number)) for number in range(chance.randint(2, 30))]
    return "".join(pieces).encode()


@pytest.mark.parametrize("seeds", [range(start, start + 500) for start in (14_000, 29_500)], ids=str)
def test_the_parser_sees_the_tags_that_were_found(seeds: range) -> None:
    for seed in seeds:
        markup, tags = with_certain_tags(markup_of(seed))
        found = {name for name in tags.all if name.startswith(b"x-")}
        elements = {str(node.tag).encode() for node in LexborHTMLParser(markup).css("*")}
        seen = {name for name in elements if name.startswith(b"x-")}
        assert seen <= found, (seed, markup_of(seed), markup)
        assert found - seen <= {*tags.all[-1:]}, (seed, markup_of(seed), markup)  # a tag without an end is none


@pytest.mark.parametrize("title", ["<title/>", "<title>a</title>", "<style>a{}</style>", "<script>'<p>'</script>"])
def test_what_follows_a_drawing_is_read(title: str) -> None:
    body = f"<svg>{title}<path/></svg><p>before " + "<p>text</p>" * 10_000 + "<a href=/after>after</a>"
    page = process(body.encode(), "http://a.test/", "text/html")
    assert page.text.startswith("before text") and page.links[0].url == "http://a.test/after"
