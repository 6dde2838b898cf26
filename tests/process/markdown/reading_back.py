"""Markdown as those read it who get it: markdown-it makes HTML of it, whose text and elements are looked at."""

from __future__ import annotations

import re

from markdown_it import MarkdownIt
from selectolax.lexbor import LexborHTMLParser, LexborNode

from gossamer.process import html
from gossamer.process.markdown.document import process

PAGE = "http://a.test/folder/page.html"
_READER = MarkdownIt("commonmark").enable(["table", "strikethrough"])
_SIGNS = re.compile("[¶#§🔗]")  # by which headings link to themselves, and which are left out
_PICTURE = re.compile(rb"<img\b", re.IGNORECASE)


def markdown(markup: str | bytes) -> str:
    body = markup.encode() if isinstance(markup, str) else markup
    return process(body, PAGE, "text/html; charset=utf-8").main_text


def read_back(text: str) -> LexborNode:
    root = LexborHTMLParser(_READER.render(text)).root
    assert root is not None
    return root


def difference(body: bytes, content_type: str | None = None) -> str:
    """Where the text of the Markdown, read back, is not the main text of the page; pictures have no text there."""
    body = _PICTURE.sub(b"<imagine", body)
    written = process(body, PAGE, content_type).main_text
    found = read_back(written).text(deep=True) if written else ""
    mine, theirs = (
        _SIGNS.sub("", "".join(text.split())) for text in (found, html.process(body, PAGE, content_type).main_text)
    )
    if mine == theirs:
        return ""
    at = next((number for number, pair in enumerate(zip(mine, theirs, strict=False)) if len(set(pair)) > 1), -20)
    return f"{mine[max(0, at - 20) : at + 40]!r} and should be {theirs[max(0, at - 20) : at + 40]!r}"
