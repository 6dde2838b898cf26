"""The tags of a large page as the parser will see them, and the page made so that there is no doubt about them.

What a parser costs is told by its tags (`nesting.py`), so they have to be known exactly: a `>` or a whole `</div>`
may stand in the value of an attribute. The pattern below reads tags, attributes and comments as the tokenizer of the
HTML standard does, 10 µs for a KB with 40 tags. Some things would leave it in doubt, and are taken out of the page:

- What stands in a <script>, <style> and the like is no markup, unless they are in a drawing. So what they hold is
  left out where it has tags in it; no field of a page is made of it. CDATA, which is text in a drawing and a comment
  elsewhere, is a comment everywhere.
- lexbor compares every attribute of a tag with all those before it: 40,000 in one tag, 280 KB, take five seconds, and
  twice as many four times as long. Nothing honest has five hundred; those after them are left out.
"""

from __future__ import annotations

import re
from typing import NamedTuple

ATTRIBUTES_MAX = 500
STRETCH_BYTES = 2048  # two of them are as many attributes
BLOCK_TAGS = 200

_SPACE = rb"[ \t\n\f\r]*+"
_SPACE_OR_SLASH = rb"[ \t\n\f\r/]*+"
_NAME = rb"[^ \t\n\f\r/>][^ \t\n\f\r/>=]*+"
_VALUE = rb"""(?:"[^"]*+(?:"|\Z)|'[^']*+(?:'|\Z)|[^ \t\n\f\r>"'][^ \t\n\f\r>]*+)?+"""
_USUAL_ATTRIBUTE = rb"""[ \t\n\f\r]++[^ \t\n\f\r/>="'<]++="[^"]*+\""""  # tried first: it takes less time
_ATTRIBUTE = rb"(?:%b|%b%b(?:%b=%b%b)?+)" % (_USUAL_ATTRIBUTE, _SPACE_OR_SLASH, _NAME, _SPACE, _SPACE, _VALUE)
_FEW = rb"(?:%b){0,%d}+" % (_ATTRIBUTE, ATTRIBUTES_MAX)
_END = _SPACE_OR_SLASH + rb"(?:>|\Z)"
_TAG_NAME = rb"/?[a-zA-Z][^ \t\n\f\r/>]*+"
_COMMENT = rb"!--(?:-?>|.*?(?:--!?>|\Z))"
_BOGUS_COMMENT = rb"[!?/][^>]*+>?"
_NO_TAGS = rb"[^<]*+(?:<(?!/?[a-zA-Z])(?:%b|%b|)[^<]*+)*+" % (_COMMENT, _BOGUS_COMMENT)
_RAW_NAMES = frozenset(b"script style textarea title xmp iframe noembed noframes".split())
_RAW_NAME = rb"(?=[stxinSTXIN])(?i:%b)(?=[ \t\n\f\r/>])" % b"|".join(_RAW_NAMES)
_TEXT = rb"[^<]*+(?:<(?![a-zA-Z!?/])[^<]*+)*+"
_RAW_WITH_COMMENT = rb"%b%b%b%b<(?!/?[a-zA-Z])" % (_RAW_NAME, _FEW, _END, _TEXT)
# With all that follows a tag up to the next one. A tag of too many attributes, or one such as <script> before
# something like a comment, is found without its name.
_TAGS = re.compile(
    rb"<(?:(?!%b)(%b)(?:>|%b%b)|/?[a-zA-Z])%b" % (_RAW_WITH_COMMENT, _TAG_NAME, _FEW, _END, _NO_TAGS), re.DOTALL
)
_UP_TO_TAG = re.compile(_NO_TAGS, re.DOTALL)
_BLOCK = re.compile(
    rb"(?:%b(?:<%b(?:%b)*+%b)?+){0,%d}+" % (_NO_TAGS, _TAG_NAME, _ATTRIBUTE, _END, BLOCK_TAGS), re.DOTALL
)

_USUAL = re.compile(rb"(?:%b(?:<(?!%b)%b%b%b)?+)*+" % (_NO_TAGS, _RAW_NAME, _TAG_NAME, _FEW, _END), re.DOTALL)
_RAW = re.compile(rb"<(%b)%b%b" % (_RAW_NAME, _FEW, _END))
_RAW_ENDS = {name: re.compile(rb"</(?i:%b)(?=[ \t\n\f\r/>])" % name) for name in _RAW_NAMES}
_FIRST_OF_MANY = re.compile(rb"<%b%b" % (_TAG_NAME, _FEW))
_REST = re.compile(rb"[^<>]*+>?")  # up to what may be another tag: better a few words too much than a page lost


_HIDDEN_END = re.compile(rb"""=[ \t\n\f\r]*+(?:"[^">]*+>|'[^'>]*+>)""")


def may_have_many_attributes(markup: bytes) -> bool:
    """Whether some tag may go on for long: there is no `>` for a while, or one in the value of an attribute."""
    starts = range(0, len(markup) - STRETCH_BYTES, STRETCH_BYTES)
    return any(markup.find(b">", at, at + STRETCH_BYTES) < 0 for at in starts) or bool(_HIDDEN_END.search(markup))


class Tags(NamedTuple):
    """Of a page: their names in order, in small letters, with a `/` where they end something."""

    all: list[bytes]
    names: frozenset[bytes]


def with_certain_tags(markup: bytes) -> tuple[bytes, Tags]:
    markup = markup.replace(b"<![CDATA[", b"<! CDATA[")
    tags = _tags(markup)
    if b"" in tags.names or _hold_markup(tags):
        markup = _rewritten(markup)
        tags = _tags(markup)
    return markup, tags


def block_end(markup: bytes, at: int, blocks: int) -> int:
    """Behind so many blocks of tags that start at this place."""
    for _ in range(blocks):
        block = _BLOCK.match(markup, at)
        assert block is not None  # it may match nothing, yet it matches
        at = block.end()
    return at


def _tags(markup: bytes) -> Tags:
    start = _UP_TO_TAG.match(markup)
    assert start is not None
    tags: list[bytes] = _TAGS.findall(markup, start.end())
    names = frozenset(tags)
    if any(name != name.lower() for name in names):
        tags = [name.lower() for name in tags]
        names = frozenset(tags)
    return Tags(tags, names)


def _hold_markup(tags: Tags) -> bool:
    """Whether tags were found in what is no markup."""
    for name in _RAW_NAMES & tags.names:
        end, at = b"/" + name, -1
        for _ in range(tags.all.count(name)):
            at = tags.all.index(name, at + 1)
            if tags.all[at + 1 : at + 2] != [end]:
                return True
    return False


def _rewritten(markup: bytes) -> bytes:
    pieces: list[bytes] = []
    at = 0
    while True:
        usual = _USUAL.match(markup, at)
        assert usual is not None
        if raw := _RAW.match(markup, usual.end()):
            pieces.append(markup[at : raw.end()])
            name = raw[1].lower()
            if raw[0].endswith(b"/>"):  # that ends it in a drawing, and nowhere else
                pieces.append(b"</%b>" % name)
                at = raw.end()
                continue
            end = _RAW_ENDS[name].search(markup, raw.end())
            at = end.start() if end else len(markup)
            if markup.find(b"<", raw.end(), at) < 0:
                pieces.append(markup[raw.end() : at])
        elif many := _FIRST_OF_MANY.match(markup, usual.end()):
            pieces += (markup[at : many.end()], b">")
            rest = _REST.match(markup, many.end())
            assert rest is not None
            at = rest.end()
        else:
            pieces.append(markup[at:])
            return b"".join(pieces)
