"""The renderer: which pages a browser shows, and what becomes of them.

A page is read as its server sent it. Then it is decided (decision.py) whether a browser shows it, that is done
(pool.py, showing.py), and the document that comes of it is read like any other. If it has text or links that the
plain page has not, it takes its place. If not, the page is as if nobody had rendered it, but for what it cost.

While a page of a pattern that nobody knows is being looked at, others of that pattern wait for the result.
"""

from __future__ import annotations

import asyncio
import html
import re
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path

from msgspec.structs import replace

from gossamer.clock import Clock
from gossamer.interfaces import Gains, NotRead
from gossamer.records import Fetched, Page, Url
from gossamer.render.browser import Browser
from gossamer.render.credit import Credit
from gossamer.render.decision import Decision, decide
from gossamer.render.evidence import NONE, SCRIPTS, Evidence, evidence_of, gain_of
from gossamer.render.loading import Fetch, Loading
from gossamer.render.pool import Pool, PoolClosed
from gossamer.render.showing import Showing, Shown
from gossamer.rendered import RenderCost, RenderCounts, Rendered, When
from gossamer.settings import RenderSettings
from gossamer.settings.kinds import MIB
from gossamer.url.patterns import pattern_of
from gossamer.url.site import host_of

HTML = frozenset({"text/html", "application/xhtml+xml"})
BODY_BYTES_MAX = 4 * MIB
_CONTENT_TYPE = re.compile(rb"\ncontent-type:[^\n]*", re.IGNORECASE)
_UTF8 = b"\ncontent-type: text/html; charset=utf-8\r"
_HEAD = re.compile(r"<head[^>]*>", re.IGNORECASE)


class Renderer:
    """Implements `interfaces.Renderer`."""

    def __init__(
        self,
        program: str,
        folder: Callable[[], Path],
        settings: RenderSettings,
        agent: str,
        fetch: Fetch,
        clock: Clock,
        when: Callable[[Url], When],
        delay_s: float,
    ) -> None:
        """`folder`: for what a browser has to write. `when`: what holds for the host of a URL. `delay_s`: that hosts
        are left alone for."""
        self._settings = settings
        self._agent = agent
        self._clock = clock
        self._when = when
        self._pool = Pool(program, folder, settings, clock)
        self._loading = Loading(fetch, clock)
        self._credit = Credit(clock, delay_s)
        self._looking: dict[tuple[str, str], asyncio.Event] = {}  # patterns, for the first time
        self._counts = RenderCounts()

    @property
    def counts(self) -> RenderCounts:
        return replace(self._counts, browsers=self._pool.started, killed=self._pool.killed)

    async def render(
        self, url: Url, fetched: Fetched, page: Page, gains: Gains, read: Callable[[Fetched], Awaitable[Page]]
    ) -> Page:
        when = self._when(url)
        if (
            when == "never"
            or page.fault
            or page.media_type not in HTML
            or not 0 < fetched.body_bytes < BODY_BYTES_MAX
        ):
            return page
        evidence = NONE
        if when == "auto" and (evidence := evidence_of(fetched.body[:], page)) is NONE:
            return page
        decision = await self._decision(url, when, evidence, gains)
        if not decision.is_rendered:
            self._credit.passed()
            gains.passed(url)
            return page
        key = (host_of(url), pattern_of(url))
        looked_at = self._looking.setdefault(key, asyncio.Event())
        spent_s = self._credit.spend(is_started=self._pool.is_started) if when == "auto" else None
        try:
            page, cost = await self._rendered(url, fetched, page, evidence, decision.why, read)
            gains.rendered(url, cost, self._clock.now())
            if cost.is_gain and spent_s is not None:
                self._credit.earn_back(spent_s)
            return page
        finally:
            looked_at.set()
            if self._looking.get(key) is looked_at:
                del self._looking[key]

    async def _decision(self, url: Url, when: When, evidence: Evidence, gains: Gains) -> Decision:
        while True:
            own, host = gains.of(url)
            has_look = self._credit.has_look(is_started=self._pool.is_started)
            decision = decide(when, evidence, own, host, has_look=has_look)
            looked_at = self._looking.get((host_of(url), pattern_of(url)))
            if when != "auto" or decision.why == "pattern" or looked_at is None:
                return decision
            await looked_at.wait()

    async def _rendered(
        self,
        url: Url,
        fetched: Fetched,
        plain: Page,
        evidence: Evidence,
        why: str,
        read: Callable[[Fetched], Awaitable[Page]],
    ) -> tuple[Page, RenderCost]:
        counts = self._counts
        counts.waiting += 1
        began: list[float] = []
        try:
            shown = await self._pool.show(partial(self._show, url, fetched, began))
        except PoolClosed as over:
            raise NotRead from over
        finally:
            counts.waiting -= 1
        seconds = self._clock.awake() - began[0] if began else 0.0
        missing = sum(1 for each in shown.loaded if not each.status)
        cost = RenderCost(
            *(why, shown.requests, shown.bytes, round(seconds, 3), missing),
            fault=shown.fault,
            picture_bytes=len(shown.screenshot),
        )
        rendered = Rendered(cost, loaded=shown.loaded, screenshot=shown.screenshot)
        page = plain
        if shown.document:
            document = document_of(shown)
            page = await read(as_answer(fetched, document))
            text, links = gain_of(plain, page, of_site=evidence is SCRIPTS)
            cost = replace(cost, text_gained=text, links_gained=links)
            if cost.is_gain:
                rendered = replace(rendered, cost=cost, document=document)
            else:
                page = plain
        counts.pages += 1
        counts.gained += cost.is_gain
        counts.failed += bool(shown.fault)
        counts.requests += shown.requests
        counts.bytes += shown.bytes
        counts.seconds += seconds
        return replace(page.plain(), rendered=replace(rendered, cost=cost)), cost

    async def _show(self, url: Url, fetched: Fetched, began: list[float], browser: Browser) -> Shown:
        began[:] = [self._clock.awake()]
        content_type = fetched.exchange.header("Content-Type") or "text/html"
        showing = Showing(
            browser, url, fetched.body[:], content_type, self._loading, self._settings, self._agent, self._clock
        )
        return await showing.show()

    def hurry(self) -> None:
        """The crawl ends: what is not rendered yet is left for its next start."""
        self._pool.hurry()

    async def close(self) -> None:
        await self._pool.close()


def document_of(shown: Shown) -> bytes:
    """With a word for each place that the page wanted to go to: to the reader, as if it had said so."""
    targets = "".join(
        f'<meta http-equiv="refresh" content="0; url={html.escape(target)}">' for target in shown.targets
    )
    text = shown.document
    if targets and (head := _HEAD.search(text)):
        text = text[: head.end()] + targets + text[head.end() :]
    return text.encode("utf-8", "replace")


def as_answer(fetched: Fetched, document: bytes) -> Fetched:
    """What the server would have sent: its own head, true of this document."""
    exchange = fetched.exchange
    head, found = _CONTENT_TYPE.subn(_UTF8, exchange.head)
    if not found:
        head = exchange.head.removesuffix(b"\r\n") + _UTF8[1:] + b"\n\r\n"
    return Fetched(replace(exchange, head=head), document)
