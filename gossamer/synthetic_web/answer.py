"""The two nouns of the synthetic web: what was asked, and what will be answered.

An `Answer` is decided in full before anything is sent: status, headers, body, and the manner of sending it. It also
knows what a reader should find in its body (its anchors), so that the truth about the web needs no HTML parser.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple


class Delivery(StrEnum):
    """How the server plays an answer."""

    WHOLE = "whole"  # at once, with its length
    CHUNKED = "chunked"
    DRIP = "drip"  # a few bytes at a time, over `takes_s`
    ENDLESS = "endless"  # dripping for ever
    SILENT = "silent"  # nothing, and the connection stays open
    RESET = "reset"  # TCP reset
    HANG_UP = "hang_up"  # closed without a byte
    TRUNCATED = "truncated"  # closed before the promised length


NO_ANSWER = frozenset({Delivery.SILENT, Delivery.RESET, Delivery.HANG_UP})
FAILING = NO_ANSWER | {Delivery.ENDLESS, Delivery.TRUNCATED}


class Anchor(NamedTuple):
    """A link as a page writes it."""

    href: str
    text: str = ""
    rel: str = ""


class Built(NamedTuple):
    """What scripts make of a page, beyond what was sent."""

    anchors: tuple[Anchor, ...]
    text: str  # a sentence that was not sent; empty where only links are made
    loads: tuple[str, ...]  # what a browser asks for to do it


@dataclass(frozen=True, slots=True)
class Request:
    host: int
    target: str  # path and query, as on the request line
    now: float
    times_asked: int = 0  # answered before; only counted where `Web.counts` says so
    accept_encoding: str = ""
    if_none_match: str = ""
    if_modified_since: str = ""


class Visit(NamedTuple):
    """A request as the makers of pages see it."""

    host: int
    parts: Sequence[str]  # the path, cut at its slashes
    query: str
    now: float
    times_asked: int = 0


@dataclass(frozen=True, slots=True)
class Answer:
    kind: str  # what this is, in one word: page, private, moved, calendar, ...
    status: int = 200
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""
    delivery: Delivery = Delivery.WHOLE
    wait_s: float = 0.0  # before the first byte
    takes_s: float = 0.0  # from the first byte to the last, when dripping
    coding: str = ""  # gzip or br, if the client accepts it
    anchors: tuple[Anchor, ...] = ()
    base: str | None = None  # <base href>
    nofollow: bool = False  # <meta name=robots content=nofollow>
    near_group: str = ""  # pages with the same word here are near-duplicates
    built: Built | None = None  # by scripts, where there are any that build something

    def header(self, name: str) -> str | None:
        for key, value in self.headers:
            if key.lower() == name.lower():
                return value
        return None
