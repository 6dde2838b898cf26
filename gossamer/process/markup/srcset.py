"""The pictures that a `srcset` offers, by the parsing rules of the HTML standard ("parse a srcset attribute").

A candidate is a URL and, after white space, descriptors: `480w`, `2x`, `480w 320h`. One with descriptors that are
wrong is left out, as a browser leaves it out. URLs may hold commas; descriptors may hold parentheses with anything in
them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_SPACE = " \t\n\f\r"
_URL = re.compile(rf"[{_SPACE},]*+([^{_SPACE}]+)")
_DESCRIPTORS = re.compile(r"(?:[^,(]|\([^)]*+\)?)*+")
_DESCRIPTOR = re.compile(rf"(?:[^{_SPACE}(]|\([^)]*+\)?)++")
_WHOLE = re.compile(r"[0-9]+")
_DENSITY = re.compile(r"(?:[0-9]+(?:\.[0-9]+)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|-0+(?:\.0+)?")


def candidates(srcset: str) -> Iterator[str]:
    at = 0
    while (found := _URL.match(srcset, at)) is not None:
        url, at = found[1], found.end()
        if url.endswith(","):
            yield url.rstrip(",")
            continue
        descriptors = _DESCRIPTORS.match(srcset, at)
        assert descriptors is not None  # it may match nothing, yet it matches
        at = descriptors.end()
        if _are_valid(_DESCRIPTOR.findall(descriptors[0])):
            yield url


def _are_valid(descriptors: list[str]) -> bool:
    kinds = sorted(descriptor[-1] for descriptor in descriptors)
    if kinds not in ([], ["w"], ["x"], ["h", "w"]):
        return False
    return all(
        _DENSITY.fullmatch(each[:-1]) if each[-1] == "x" else _WHOLE.fullmatch(each[:-1]) and each[:-1].strip("0")
        for each in descriptors
    )
