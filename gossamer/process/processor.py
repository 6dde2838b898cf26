"""From a body to a page: what it is, who reads it, where that happens, and what the headers add.

The type is declared and sniffed (`sniffing.py`), the table says who reads it (`media_types.py`). What is small is
read here and now, because handing it over would cost more than reading it. What is risky, large or packed is read by
another process (`aside.py`), so that the worst it can do is to have no text. What no processor reads is a page
without text and links, and is archived like any other.

What the server says about robots in its headers (X-Robots-Tag) counts like the same words inside the page.
"""

from __future__ import annotations

import sys
from contextlib import nullcontext

from msgspec.structs import replace

from gossamer.interfaces import Watched
from gossamer.process import html
from gossamer.process.aside import Aside
from gossamer.process.aside_process import Setup
from gossamer.process.media_types import OWN, TYPES, Reader, Readers, load_own
from gossamer.process.simhash import fingerprint
from gossamer.process.sniffing import SNIFFED_BYTES, media_type_of
from gossamer.process.xml import GZIP
from gossamer.records import Body, Fetched, Page, Url
from gossamer.settings import ContextSettings, ProcessSettings, Tree

DEFAULTS = Tree()

# Directives of X-Robots-Tag with a value of their own; any other word before a colon names a robot.
_WITH_VALUE = frozenset(("unavailable_after", "max-snippet", "max-image-preview", "max-video-preview"))


class Processor:
    """Close it when done: it may have started a process."""

    def __init__(
        self,
        agent: str = html.AGENT,
        process: ProcessSettings = DEFAULTS.process,
        context: ContextSettings = DEFAULTS.context,
        *,
        schemes: tuple[str, ...] = ("http", "https"),
        parameters_dropped: tuple[str, ...] = (),
        parameters_kept: tuple[str, ...] = (),
    ) -> None:
        """The last three as they were told to `url.canonical.choose` in this process."""
        load_own()
        self._agent = agent.lower()
        self._aside_bytes = process.aside_bytes
        self._shingle_words = process.shingle_words
        self._readers = Readers(agent, process, context)
        self._believed = OWN.keys() - TYPES.keys()
        modules = sorted({reader.process.__module__ for reader in OWN.values() if reader.can_go_aside})
        self._aside = Aside(
            Setup(agent, process, context, schemes, parameters_dropped, parameters_kept, sys.path, modules)
        )

    async def process(self, url: Url, fetched: Fetched, watched: Watched = nullcontext) -> Page:
        """`watched` is entered while the body is read in this process: should that kill us, this page is to blame."""
        declared = fetched.exchange.header("Content-Type")
        media_type = media_type_of(declared, fetched.body[:SNIFFED_BYTES], self._believed)
        reader = self._readers.get(media_type)
        if reader is None or not len(fetched.body):
            page = Page(url, media_type=media_type)
        elif self._goes_aside(reader, fetched.body):
            page = await self._aside.read(url, media_type, declared, fetched.body)
        else:
            with watched():
                page = self._readers.read(media_type, fetched.body[: reader.head_bytes], url, declared)
        return _with_headers(self._with_fingerprint(page), fetched, self._agent)

    async def close(self) -> None:
        await self._aside.close()

    def _with_fingerprint(self, page: Page) -> Page:
        # Here and not aside, where importing numpy would double the time to start; it is 20 ms at most.
        text = page.main_text or page.text
        if not text:
            return page
        # Without the title, which ends in the name of the site: a copy elsewhere would differ (docs/decisions/0010).
        bits, words = fingerprint(text, shingle_words=self._shingle_words)
        return replace(page, simhash=bits, words=words)

    def _goes_aside(self, reader: Reader, body: Body) -> bool:
        if reader.head_bytes is not None or not reader.can_go_aside:
            return False
        # A packed body may become a thousand times as large.
        return reader.is_risky or len(body) > self._aside_bytes or body[:2] == GZIP


def _with_headers(page: Page, fetched: Fetched, agent: str) -> Page:
    if (said := fetched.exchange.header("Refresh")) and (found := html.refresh(said)) and found[1]:
        page = replace(page, links=[*page.links, *html.refresh_link(found[1], page.url)])
    if words := header_words(fetched.exchange.head, agent):
        page = replace(
            page,
            noindex=page.noindex or html.forbids(words, "noindex"),
            nofollow=page.nofollow or html.forbids(words, "nofollow"),
            noarchive=page.noarchive or "noarchive" in words,  # `none` does not say so
        )
    return page


def header_words(head: bytes, agent: str) -> set[str]:
    """All that X-Robots-Tag asks of this agent: `noindex`, `otherbot: none`, `gossamer: nofollow, noindex`."""
    words: set[str] = set()
    for line in head.lower().split(b"\n"):
        if not line.startswith(b"x-robots-tag:"):
            continue
        is_for_us = True
        for item in line.decode("latin-1").partition(":")[2].split(","):
            name, colon, rest = item.partition(":")
            if colon and name.strip() in _WITH_VALUE:
                continue
            if colon and " " in name.strip():
                continue  # the second half of a date: unavailable_after: Fri, 25 Jun 2010 15:00:00 PST
            if colon:
                is_for_us = name.strip() == agent
            if is_for_us:
                words |= html.robots_words(rest if colon else item)
    return words
