"""What a page of a scripted, decorated or hostile host says; and style sheet, picture and font, which say nothing.

The picture, the font and the film are there to be left alone: who wants text and links has no use for them.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import NamedTuple

from gossamer.synthetic_web.answer import Anchor, Answer, Built
from gossamer.synthetic_web.atlas import Atlas
from gossamer.synthetic_web.html import HTML
from gossamer.synthetic_web.text import text

FANOUT = 3  # pages below each page
TEXT_BYTES = 900
CACHED = ("Cache-Control", "public, max-age=86400")
SHARED = ("Access-Control-Allow-Origin", "*")
JAVASCRIPT = "text/javascript; charset=utf-8"
NEEDLESS = ("/logo.png", "/font.woff2", "/film.mp4")

STYLE = """@font-face { font-family: own; src: url(/font.woff2); }
body { font-family: own, sans-serif; background: url(/logo.png); }
"""


class Content(NamedTuple):
    title: str
    sentences: list[str]
    anchors: tuple[Anchor, ...]

    def as_json(self) -> str:
        links = [[anchor.href, anchor.text or anchor.href] for anchor in self.anchors]
        return json.dumps({"title": self.title, "sentences": self.sentences, "links": links})


def content(atlas: Atlas, host: int, page: int, pages: int) -> Content:
    """What the page says when it is complete; its first sentence is found on no other page."""
    chance, words = atlas.chance(f"scripted/{host}/{page}"), text(atlas.options.seed)
    sentences = [f"Item {page} of host {host} is {words.title(chance)}.", *words.sentences(chance, TEXT_BYTES)]
    below = range(page * FANOUT + 1, min((page + 1) * FANOUT + 1, pages))
    return Content(words.title(chance), sentences, tuple(Anchor(path_of(other), f"item {other}") for other in below))


def path_of(page: int) -> str:
    return f"/item/{page}" if page else "/"


def page_at(path: str, pages: int) -> int | None:
    """The number of the page at a path; None where there is none."""
    if path == "/":
        return 0
    section, _, number = path[1:].partition("/")
    is_number = number.isdecimal() and number.isascii() and len(number) < 9 and number == str(int(number))
    return int(number) if section == "item" and is_number and 0 < int(number) < pages else None


def kind_at(place: int, hosts: int, kinds: Sequence[str]) -> str | None:
    """Of the host at this place among so many, which have the kinds in turn; None where it is none of them."""
    return kinds[place % len(kinds)] if 0 <= place < hosts else None


def shell(title: str, head: str, body: str) -> str:
    """A page with an empty element for an application to fill."""
    return (
        f'<!DOCTYPE html>\n<html lang="en">\n<head>\n<title>{title}</title>\n{head}</head>\n<body>\n'
        f'<div id="app"></div>\n{body}</body>\n</html>\n'
    )


def page_answer(kind: str, body: str, anchors: Sequence[Anchor] = (), built: Built | None = None) -> Answer:
    return Answer(kind, headers=(("Content-Type", HTML),), body=body.encode(), anchors=tuple(anchors), built=built)


def file(kind: str, content_type: str, body: str) -> Answer:
    """A part of pages, which any origin may read and every client may keep."""
    return Answer(kind, headers=(("Content-Type", content_type), CACHED, SHARED), body=body.encode())


def shared_file(path: str) -> Answer | None:
    """What all of these hosts have."""
    if path == "/style.css":
        return file("style", "text/css", STYLE)
    if path in NEEDLESS:
        kind = {"png": "image/png", "woff2": "font/woff2", "mp4": "video/mp4"}[path.rpartition(".")[2]]
        return file("needless", kind, "no browser shows this\n")
    return None
