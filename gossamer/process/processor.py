"""From a body to a page: what it is, who reads it, where that happens, and what the headers add.

HTML is read by the native reader where there is one (native.py), else by html.py, with the same result. In the
sandbox it is always html.py: what is read there may run out of memory, which the native reader would not survive.

The type is declared and sniffed (`sniffing.py`), the table says who reads it (`media_types.py`). What is small is
read here and now, because handing it over would cost more than reading it. What is risky, large, packed or a suspect
is read by another process (`sandbox.py`), so that the worst it can do is to have no text. What no processor reads is
a page without text and links, and is archived like any other.

Nothing that a server sends ends the crawl. An exception costs its page, with a fault that says where it came from.
And a page that is read here and takes absurdly long ends this worker by the clock of its processor time; the next one
has it read in the sandbox.

What the server says about robots in its headers (X-Robots-Tag) counts like the same words inside the page.
"""

from __future__ import annotations

import signal
import sys
from contextlib import nullcontext

from msgspec.structs import replace

from gossamer.interfaces import NotRead, Watched
from gossamer.process import html, native
from gossamer.process.fingerprints.shingles import PIECE_CHARS, words_in
from gossamer.process.fingerprints.sketch import sketch_of
from gossamer.process.media_types import OWN, TYPES, Reader, Readers, bug, load_own
from gossamer.process.sandbox import Sandbox
from gossamer.process.sandbox_process import Setup
from gossamer.process.simhash import simhash_of
from gossamer.process.sniffing import SNIFFED_BYTES, media_type_of
from gossamer.process.text import fold
from gossamer.process.xml import GZIP
from gossamer.records import Body, Fetched, Page, Url
from gossamer.settings import ProcessSettings, Tree
from gossamer.shortage import lacking

DEFAULTS = Tree()

# For the largest page that is read here: twenty times the slowest honest one. Other threads of the process, such
# as those that compact its stores, count too.
TIME_HERE_S_MAX = 8.0
BRIEF_BYTES = 32 << 10  # even a parser that is quadratic in its input takes a second or two for so little

# Directives of X-Robots-Tag with a value of their own; any other word before a colon names a robot.
_WITH_VALUE = frozenset(("unavailable_after", "max-snippet", "max-image-preview", "max-video-preview"))


class Processor:
    """Close it when done: it may have started a process."""

    def __init__(
        self,
        agent: str = html.AGENT,
        process: ProcessSettings = DEFAULTS.process,
        *,
        schemes: tuple[str, ...] = ("http", "https"),
        parameters_dropped: tuple[str, ...] = (),
        parameters_kept: tuple[str, ...] = (),
        may_die: bool = False,
        as_markdown: bool = False,
    ) -> None:
        """`schemes` and `parameters_…` as they were told to `url.canonical.choose` in this process.

        `may_die`: this process is a worker, and another takes its place; a user's program is not ended.

        `as_markdown`: the main text of pages is Markdown, and they have no fingerprint. It is for exports."""
        load_own()
        self._agent = agent.lower()
        self._may_die = may_die
        self._aside_bytes = process.aside_bytes
        reader, _ = native.loaded()
        self._readers = Readers(agent, process, reader.read if reader else html.process, as_markdown=as_markdown)
        self._as_markdown = as_markdown
        self._believed = OWN.keys() - TYPES.keys()
        modules = sorted({reader.process.__module__ for reader in OWN.values() if reader.can_be_sandboxed})
        self._sandbox = Sandbox(
            Setup(agent, process, schemes, parameters_dropped, parameters_kept, sys.path, modules, as_markdown)
        )

    async def process(
        self, url: Url, fetched: Fetched, watched: Watched = nullcontext, *, is_suspect: bool = False
    ) -> Page:
        """`watched` is entered while the body is read in this process: should that kill us, the page is a suspect."""
        try:
            return await self._process(url, fetched, watched, is_suspect=is_suspect)
        except (OSError, NotRead):
            raise  # of this machine or of the end of the crawl, and not of the page
        except Exception as fault:
            if short := lacking(fault):
                raise short from None
            return Page(url, fault=bug(fault))

    async def _process(self, url: Url, fetched: Fetched, watched: Watched, *, is_suspect: bool) -> Page:
        declared = fetched.exchange.header("Content-Type")
        media_type = media_type_of(declared, fetched.body[:SNIFFED_BYTES], self._believed)
        reader = self._readers.get(media_type)
        if reader is None or not len(fetched.body):
            page = Page(url, media_type=media_type)
        elif (is_suspect and reader.can_be_sandboxed) or self._goes_to_sandbox(reader, fetched.body):
            page = await self._sandbox.read(url, media_type, declared, fetched.body)
        else:
            with watched():
                page = self._read_here(media_type, fetched.body[: reader.head_bytes], url, declared)
        return _with_headers(self._with_fingerprint(page), fetched, self._agent)

    def hurry(self) -> None:
        """The crawl ends: what waits to be read in the sandbox is left for its next start."""
        self._sandbox.hurry()

    def _read_here(self, media_type: str, body: bytes, url: Url, declared: str | None) -> Page:
        """Within a bound of processor time, which a busy machine does not make longer: nothing else ends a parser
        written in C. (ITIMER_PROF is the clock of `gossamer bench --profile`.)"""
        if not self._may_die or (len(body) <= BRIEF_BYTES and media_type not in OWN):
            return self._readers.read(media_type, body, url, declared)
        signal.setitimer(signal.ITIMER_VIRTUAL, TIME_HERE_S_MAX)
        try:
            return self._readers.read(media_type, body, url, declared)
        finally:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)

    async def close(self) -> None:
        await self._sandbox.close()

    def _with_fingerprint(self, page: Page) -> Page:
        if isinstance(page, native.ReadPage) or self._as_markdown:
            return page  # it has one, or needs none
        # Here and not in the sandbox, where importing numpy would double the time to start; it is 20 ms at most.
        text = page.main_text or page.text
        if not text:
            return page
        # Without the title, which ends in the name of the site: a copy elsewhere would differ (docs/decisions/0010).
        # The words are the same whatever white space is between them; of a long text only some are looked at.
        words = words_in(text if len(text) <= PIECE_CHARS else fold(text))
        return replace(page, simhash=simhash_of(words.plain), words=len(words.plain), sketch=sketch_of(words))

    def _goes_to_sandbox(self, reader: Reader, body: Body) -> bool:
        if reader.head_bytes is not None or not reader.can_be_sandboxed:
            return False
        # A packed body may become a thousand times as large.
        return reader.is_risky or len(body) > self._aside_bytes * reader.swiftness or body[:2] == GZIP


def processor_of(tree: Tree, *, as_markdown: bool = False, may_die: bool = False) -> Processor:
    """That reads as the crawl with these settings does."""
    return Processor(
        tree.crawl.user_agent_token,
        tree.process,
        schemes=tree.fetch.schemes,
        parameters_dropped=tree.crawl.parameters_dropped,
        parameters_kept=tree.crawl.parameters_kept,
        as_markdown=as_markdown,
        may_die=may_die,
    )


def _with_headers(page: Page, fetched: Fetched, agent: str) -> Page:
    if (said := fetched.exchange.header("Refresh")) and (found := html.refresh(said)) and found[1]:
        page = replace(page.plain(), links=[*page.links, *html.refresh_link(found[1], page.url)])
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
    lower = head.lower()
    if b"\nx-robots-tag:" not in lower:  # as is most often so
        return words
    for line in lower.split(b"\n"):
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
