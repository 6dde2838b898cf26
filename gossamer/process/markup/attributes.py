"""Tags with absurdly many attributes, shortened before the parser sees them.

lexbor compares every attribute of a tag with all those before it: 40,000 in one tag, 280 KB, take five seconds, and
twice as many four times as long. Nothing honest has a thousand. What follows the first thousand is left out, and the
page is read as if it had not been there.

Only a large page can do harm: at `HARMLESS_BYTES` it is 50 ms. And a tag that large has a long stretch without a `>`
in it, which most pages have not; to look for that takes a microsecond. Where there is one (a script, most often), the
page is scanned as the HTML standard's tokenizer would read it, at 4 µs a KB. A tag that has a `>` in its values at
every turn is not found so; a page that holds its worker up is ended by the clock (`processor.py`).
"""

from __future__ import annotations

import re

ATTRIBUTES_MAX = 1000
HARMLESS_BYTES = 32_768
STRETCH_BYTES = 2048  # a thousand attributes with names of their own take twice that

_NAME = rb"[^ \t\n\f\r/>][^ \t\n\f\r/>=]*+"
_VALUE = rb"""(?:"[^"]*+(?:"|\Z)|'[^']*+(?:'|\Z)|[^ \t\n\f\r>"'][^ \t\n\f\r>]*+)?+"""
_ATTRIBUTE = rb"[ \t\n\f\r/]*+" + _NAME + rb"(?:[ \t\n\f\r]*+=[ \t\n\f\r]*+" + _VALUE + rb")?+"
_FEW = rb"(?:%b){0,%d}+" % (_ATTRIBUTE, ATTRIBUTES_MAX)
_END = rb"[ \t\n\f\r/]*+(?:>|\Z)"
# What is inside these is no markup, up to their end tags. (A group that captures may not be repeated possessively.)
_RAW = rb"(?i:<(?=[stxin])(?:%b))" % b"|".join(
    rb"%b(?=[ \t\n\f\r/>])%b%b(?:[^<]++|<(?!/%b))*+" % (name, _FEW, _END, name)
    for name in b"script style textarea title xmp iframe noembed noframes".split()
)
_TAG = rb"<[a-zA-Z][^ \t\n\f\r/>]*+"
_COMMENT = rb"<!--(?:-?>|.*?(?:--!?>|\Z))"
_USUAL = re.compile(rb"(?:[^<]++|%b|%b%b%b|%b|<(?![a-zA-Z]|!--))*+" % (_RAW, _TAG, _FEW, _END, _COMMENT), re.DOTALL)
_FIRST_OF_MANY = re.compile(_TAG + _FEW)
_REST = re.compile(rb"[^<>]*+>?")  # up to what may be another tag: better a few words too much than a page lost


def with_few_attributes(markup: bytes) -> bytes:
    if len(markup) < HARMLESS_BYTES or not _has_long_stretch(markup):
        return markup
    pieces: list[bytes] = []
    at = 0
    while True:
        usual = _USUAL.match(markup, at)
        assert usual is not None  # it may match nothing, yet it matches
        many = _FIRST_OF_MANY.match(markup, usual.end())
        if many is None:
            break
        pieces += (markup[at : many.end()], b">")
        rest = _REST.match(markup, many.end())
        assert rest is not None
        at = rest.end()
    return b"".join((*pieces, markup[at:])) if pieces else markup


def _has_long_stretch(markup: bytes) -> bool:
    starts = range(0, len(markup) - STRETCH_BYTES, STRETCH_BYTES)
    return any(markup.find(b">", at, at + STRETCH_BYTES) < 0 for at in starts)
