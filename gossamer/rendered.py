"""Rendering as a noun: what a browser made of a page, what that took, and what it gains for a pattern of URLs.

A page that a browser has shown counts by what it showed: its text, its links, its digest (docs/decisions/0058). What
the server sent is in the archive all the same.
"""

from __future__ import annotations

from hashlib import sha256
from typing import Literal

import msgspec

When = Literal["never", "auto", "always"]


class Loaded(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """One request of a page while it was rendered, and what came of it."""

    url: str
    kind: str  # Script, Stylesheet, XHR, Fetch; as the browser calls it
    status: int = 0  # 0: there was no answer
    bytes: int = 0
    why: str = ""  # cache: no server was asked; else why nothing came


class RenderCost(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """What it took to render a page, why that was done, and what it gained."""

    why: str = ""  # the evidence (render/evidence.py)
    requests: int = 0  # that went to servers
    bytes: int = 0  # that they sent
    seconds: float = 0.0  # that a browser had the page
    missing: int = 0  # requests of the page that nobody answered
    text_gained: int = 0  # characters
    links_gained: int = 0
    fault: str = ""  # why there is no rendered document
    picture_bytes: int = 0  # of the picture that is stored with it; 0: there is none

    @property
    def is_gain(self) -> bool:
        return bool(self.text_gained or self.links_gained)


class Rendered(msgspec.Struct, frozen=True, gc=False):
    """What came of rendering a page. Without a document the page is as its server sent it."""

    cost: RenderCost
    document: bytes = b""  # UTF-8
    loaded: list[Loaded] = []
    screenshot: bytes = b""  # PNG


class Gain(msgspec.Struct, array_like=True, gc=False):
    """What rendering gained for the pages of one pattern of a host. Mutable: its partition owns it."""

    rendered: int = 0
    gained: int = 0  # of these
    passed: int = 0  # pages with scripts that were not rendered since one was
    looked_at: float = 0.0
    last: RenderCost | None = None

    @property
    def is_worth_it(self) -> bool:
        return self.gained * 2 >= self.rendered > 0


class RenderCounts(msgspec.Struct):
    """Of a worker."""

    pages: int = 0  # rendered
    gained: int = 0  # of these
    failed: int = 0
    requests: int = 0
    bytes: int = 0
    seconds: float = 0.0
    browsers: int = 0  # started
    killed: int = 0  # pages and browsers, for their memory
    waiting: int = 0  # pages, now


def digest_of(document: bytes) -> str:
    """Empty where there is none."""
    return sha256(document).hexdigest() if document else ""
