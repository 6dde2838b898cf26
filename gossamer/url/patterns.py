"""The pattern of a URL: what is left of its address when everything that a program may count up is taken out.

    /2019/05/a-title.html          /0/0/*.html
    /thread/4711                   /thread/*
    /blog/a-title/                 /blog/*/
    /list?page=7                   /list?page
    /shop/red/large/new/x?a=1      /shop/red/large/…/x?a
    /s-9f3ac01b77/item/3           /*/item/*

Pages made by one program have one pattern, be they articles or the days of an endless calendar, so a pattern is what
a budget can be given to (frontier/patterns.py). Numbers become `0`; parts that mix letters and numbers, such as
session ids, become `*`, and so does the last part, which is where titles and numbers stand; of a query the names
remain. A script with a query keeps its own name, because there the query says which page it is.

A pattern of words can still be one of very many (filters in a path, parameters in all combinations, made-up names
that are answered all the same). So each pattern lies within wider ones (`wider`), up to that of its whole host.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from gossamer.records import Url

PARTS_MAX = 3  # folders that a pattern tells apart; what lies deeper is `…`
NAMES_MAX = 8  # names of parameters that a pattern tells apart
PART_CHARS_MAX = 40
EXTENSION_CHARS_MAX = 5
PARTS_REMEMBERED = 8_192  # of pages being crawled now; an entry takes about 300 bytes

WHOLE_HOST = "/…"

_NUMBER = re.compile(r"[0-9]+")
_MIXED = re.compile(r"[0-9][^0-9/]*[A-Za-z][^0-9/]*[0-9]")  # two numbers with letters between them
_VALUE = re.compile(r"=[^&]*")


def pattern_of(url: Url) -> str:
    path, mark, query = url[url.index("/", len("https://")) :].partition("?")
    slash = ""
    if path.endswith("/") and len(path) > 1:
        path, slash = path[:-1], "/"
    folder, _, last = path.rpartition("/")
    if mark:
        return f"{_folders(folder)}/{_general(last)}{slash}?{_names(_VALUE.sub('', query))}"
    _, dot, extension = last.rpartition(".")
    is_one = dot and len(extension) <= EXTENSION_CHARS_MAX and extension.isalpha() and extension.isascii()
    return f"{_folders(folder)}/*{dot + extension if is_one else ''}{slash}"


def wider(pattern: str) -> Iterator[str]:
    """The patterns that a pattern lies within, up to that of its whole host: each begins the one before it."""
    path, mark, names = pattern.partition("?")
    if names:
        yield path + mark
    first, _, rest = path[1:].partition("/")
    if rest:
        yield f"/{first}{WHOLE_HOST}"
    yield WHOLE_HOST


def is_wide(pattern: str) -> bool:
    """Whether others may lie within it."""
    return pattern.endswith((WHOLE_HOST, "?"))


def lies_within(pattern: str, wide: str) -> bool:
    return pattern.startswith(wide.removesuffix("…"))


@lru_cache(PARTS_REMEMBERED)
def _folders(path: str) -> str:
    if not path:
        return ""
    parts = path[1:].split("/")
    general = [_general(part) for part in parts[:PARTS_MAX]]
    return "/" + "/".join(general) + ("/…" if len(parts) > PARTS_MAX else "")


@lru_cache(PARTS_REMEMBERED)
def _general(part: str) -> str:
    part = part[:PART_CHARS_MAX]
    return "*" if _MIXED.search(part) else _NUMBER.sub("0", part)


@lru_cache(PARTS_REMEMBERED)
def _names(query: str) -> str:
    names = query.split("&")
    return "&".join(_general(name) for name in names[:NAMES_MAX]) + ("&…" if len(names) > NAMES_MAX else "")
