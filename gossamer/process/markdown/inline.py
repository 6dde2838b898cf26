"""The inside of a paragraph as Markdown: runs of text with their styles become one text with marks.

What would be a mark and is text gets a backslash, where it would be one: `snake_case` and `2 * 3` stay as they are. A
mark of emphasis that CommonMark would not take for one, because of what is around it, is left out: the words count.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import groupby
from typing import NamedTuple
from unicodedata import category

from gossamer.process.markup.reading import LINE_END
from gossamer.process.text import fold

BREAK = "  "  # at the end of a line that ends there; all dialects know it


class Style(NamedTuple):
    """From the outermost mark to the innermost."""

    link: str = ""  # where it leads; empty: nowhere
    is_strong: bool = False
    is_emphasis: bool = False
    is_code: bool = False


PLAIN = Style()
Run = tuple[str, Style]

_PUNCTUATION = r"[!-/:-@\[-`{-~]"
# A backslash, code, emphasis, a link, something struck through, a tag, a reference.
_MARKS = re.compile(
    rf"\\(?={_PUNCTUATION}|\s|\Z)|`|(?<!\s)\*|\*(?!\s)|(?<![^\W_])_|_(?![^\W_])|\[|~|<(?=[^\s<=])|&(?=#?\w+;)"
)
_REFERENCE = re.compile(r"&(?=#?\w+;)")
# What begins a heading, an item, a quotation, an ordered item, or is a line between two things.
_LINE_MARK = re.compile(
    r"(?:#{1,6}|[-+])(?=\s|\Z)|\*(?=\s)|>|(?P<number>[0-9]{1,9})(?=[.)](?:\s|\Z))|[-=_*|:](?=[-=_*|:\s]*\Z)"
)
_TICKS = re.compile("`+")


def paragraph(runs: Sequence[Run]) -> list[str]:
    """In lines; none where there is no text."""
    lines = [_as_text(line) for part in _marked(runs, 0).split(LINE_END) if (line := fold(part))]
    return [*[f"{line}{BREAK}" for line in lines[:-1]], *lines[-1:]]


def one_line(runs: Sequence[Run]) -> str:
    """Of a heading or a cell."""
    return fold(_marked(runs, 0))


def text_lines(text: str) -> str:
    """Plain text, its lines as they are."""
    return "\n".join([_as_text(escaped(line)) for line in text.splitlines()])


def escaped(text: str) -> str:
    return _MARKS.sub(r"\\\g<0>", text)


def _as_text(line: str) -> str:
    """A line that begins nothing but itself."""
    found = _LINE_MARK.match(line)
    if found is None:
        return line
    at = found.end() if found["number"] else 0
    return f"{line[:at]}\\{line[at:]}"


def _marked(runs: Sequence[Run], level: int, before: str = " ", after: str = " ") -> str:
    """`level`: of the styles. `before`, `after`: the characters around it."""
    if level == len(PLAIN):
        text, in_link = escaped("".join([text for text, _ in runs])), bool(runs and runs[0][1].link)
        return text.replace("]", "\\]") if in_link else text
    if not any(any(style[level:]) for _, style in runs):
        return _marked(runs, len(PLAIN))
    groups = [(value, list(group)) for value, group in groupby(runs, key=lambda run: run[1][level])]
    marked = ""
    for number, (value, group) in enumerate(groups):
        left = marked[-1:] or before
        right = groups[number + 1][1][0][0][:1] if number + 1 < len(groups) else after
        if not value:
            piece = _marked(group, level + 1, left, right)
        elif level == 0:
            piece = _link(_marked(group, 1), str(value))
            if piece.startswith("[") and left == "!":
                marked = f"{marked[:-1]}\\!"  # it would be a picture
        elif level == 3:
            piece = _code("".join([text for text, _ in group]))
        else:
            piece = _emphasised(_marked(group, level + 1), "**" if level == 1 else "*", left, right)
            piece = piece or _marked(group, len(PLAIN) - 1, left, right)
        if piece.startswith("`") and marked.endswith("`"):
            marked += " "  # or the two would be one
        marked += piece
    return marked


def _parts(text: str) -> tuple[str, str, str]:
    """White space, which stays outside of marks, around a text."""
    core = text.strip()
    at = text.find(core)
    return (text[:at], core, text[at + len(core) :]) if core else (text, "", "")


def _link(text: str, target: str) -> str:
    before, core, after = _parts(text)
    return f"{before}[{fold(core)}]({_destination(target)}){after}" if core else text


def _destination(url: str) -> str:
    url = _REFERENCE.sub(r"\\&", url.replace("\\", "%5C").replace("<", "%3C").replace(">", "%3E"))
    return f"<{url}>" if "(" in url or ")" in url else url


def _emphasised(text: str, mark: str, left: str, right: str) -> str:
    """Nothing where the mark would be none."""
    before, core, after = _parts(text)
    if not any(map(str.isalnum, core)) or left == "*":
        return ""
    if (not before and _clings(core[0], left)) or (not after and _clings(core[-1], right)):
        return ""
    return f"{before}{mark}{core}{mark}{after}"


def _clings(edge: str, beside: str) -> bool:
    """Whether a mark between these two would be none: beside no letter it needs a space on its other side."""
    return not edge.isalnum() and not beside.isspace() and category(beside)[0] != "P"


def _code(text: str) -> str:
    before, core, after = _parts(fold(text) if text.strip() == text else f" {fold(text)} ")
    if not core:
        return text
    ticks = "`" * (1 + max([len(run) for run in _TICKS.findall(core)], default=0))
    pad = " " if core[0] == "`" or core[-1] == "`" else ""
    return f"{before}{ticks}{pad}{core}{pad}{ticks}{after}"
