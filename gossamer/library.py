"""Gossamer as a library: a crawl is an asynchronous iterator of what was found.

    async for page in gossamer.crawl(["https://example.org/"], dir="D", max_pages=100):
        print(page.url, page.title)

Everything of the command is there: the same folder, the same settings, the same politeness. What a program began,
`gossamer crawl` goes on with, `gossamer status` looks into and `gossamer export` hands on. What differs: all of it
happens in this process and in one event loop, so that filters and processors are plain functions of the program. For
more than one core there is the command.

A page is given to the program when it is stored and finished. Who takes long makes the crawl wait: while a hundred
pages wait for the program, nothing more is asked for. Leaving the loop ends the crawl cleanly, by `break`, by an
exception or by cancelling: what is in flight is finished, and the next crawl in the same folder goes on. (After
`break` that happens when Python lets go of the iterator, and a program that ends at once cuts it short; `async with
contextlib.aclosing(gossamer.crawl(...)) as pages` waits for it.) Cancelled a second time, or by a filter that raises,
it ends at once: then what was in flight is asked for again. A program that is killed, or leaves, may have missed the
last pages that were stored; they are in the folder.
"""

from __future__ import annotations

import asyncio
import warnings
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, asynccontextmanager, closing, contextmanager
from pathlib import Path

import msgspec
from msgspec.structs import replace

from gossamer import config
from gossamer.clock import RealClock
from gossamer.cluster.pace import CrawlPace, Pace
from gossamer.cluster.shared import LocalShared
from gossamer.fetch.protocols import makers
from gossamer.folder import CrawlFolder
from gossamer.frontier.disk.store import RocksStore
from gossamer.messages import worker_messages
from gossamer.process.fingerprints import duplicates
from gossamer.process.fingerprints.duplicates import Duplicates
from gossamer.process.media_types import load_own
from gossamer.records import (
    Body,
    Failed,
    Fetched,
    Link,
    Moved,
    Outcome,
    Page,
    Reason,
    Refused,
    Seed,
    Url,
    Verdict,
    header_in,
)
from gossamer.runtime.temporary import temporary_folder
from gossamer.seeds import SeedList, Spooled
from gossamer.settings import Tree
from gossamer.supervisor.recrawl_coordinator import RecrawlCoordinator
from gossamer.supervisor.seeding import SeedFeed
from gossamer.url.canonical import choose_for
from gossamer.url.typed import seed_in
from gossamer.worker.worker import Worker

LOOK_S = 1.0  # between two looks at what an operator may have changed, also while nothing is fetched
HELD_MAX = 100  # pages that wait for the program before the crawl waits, too

Keep = Callable[[Link], bool]
"""A filter: whether to follow a link. It is asked for what all other filters let in."""


class Crawled(msgspec.Struct, frozen=True):
    """What became of one URL. Without an answer `status` is None, and `reason` says why."""

    url: Url
    page: Page  # what processing made of it: title, text, links, language, ...; empty where there was no page
    status: int | None = None
    reason: Reason | None = None
    detail: str = ""
    body: Body = b""
    head: bytes = b""  # status line and headers, as received
    fetched_at: float | None = None  # None: it was not asked for
    content_hash: str = ""
    verdict: Verdict | None = None
    moved_to: Url | None = None
    depth: int = 0
    source: Url | None = None  # the page that led here; None: a seed

    @property
    def title(self) -> str:
        return self.page.title

    @property
    def text(self) -> str:
        return self.page.text

    @property
    def links(self) -> list[Link]:
        return self.page.links

    def header(self, name: str) -> str | None:
        return header_in(self.head, name)


async def crawl(
    seeds: str | Iterable[str] = (),
    *,
    dir: str | Path | None = None,
    max_pages: int | None = None,
    max_depth: int | None = None,
    max_time: str | float | None = None,
    scope: str | None = None,
    include: Sequence[str] | None = None,
    exclude: Sequence[str] | None = None,
    delay: str | float | None = None,
    contact: str | None = None,
    allow_private: bool | None = None,
    settings: Mapping[str, object] | None = None,
    filters: Sequence[Keep] = (),
    everything: bool = False,
) -> AsyncGenerator[Crawled, None]:
    """Crawl, and give each page as it is finished. `dir`: the crawl's folder; None: one that is removed at the end.

    `settings`: any setting by its name, `{"fetch.timeout_s": 30}`; None there lifts a limit that the folder keeps.
    `everything`: also redirects, failures and refusals. Raises, when the first page is asked for, `ConfigError` for a
    wrong setting, `FolderError` for a folder that cannot be used, `ValueError` for a seed that is no URL.
    """
    flags = {
        "crawl.max_pages": max_pages,
        "crawl.max_depth": max_depth,
        "crawl.max_time_s": max_time,
        "crawl.scope": scope,
        "crawl.include": include,
        "crawl.exclude": exclude,
        "politeness.delay_s": delay,
        "crawl.contact": contact,
        "crawl.allow_private": allow_private,
    } | {key: "none" if value is None else value for key, value in (settings or {}).items()}
    with ExitStack() as folders:
        path = Path(dir) if dir is not None else folders.enter_context(temporary_folder()) / "crawl"
        configuration = config.load(path, None, flags)
        tree = configuration.tree
        makers(tree.fetch.schemes)
        load_own()
        folders.enter_context(_form_of_urls(tree))
        texts = [seeds] if isinstance(seeds, str) else seeds
        wanted = folders.enter_context(closing(Spooled(map(seed_in, texts))))
        folder = CrawlFolder(path)
        if wanted.first is None and not folder.is_crawl:
            raise ValueError(f"{path} is not a crawl yet: give at least one URL to start from")
        folder.create()
        with folder.locked(), configuration.tried(path) as started:
            folder.keep_format()
            SeedList(path).take(wanted, tree.crawl.scope)
            async with _running(folder, tree, filters) as running:
                started()
                while (outcome := await running.next()) is not None:
                    crawled = _crawled(outcome)
                    if crawled is not None and (everything or isinstance(outcome.result, Fetched)):
                        yield crawled


class _Running:
    """A crawl under way in this event loop, and what it has finished."""

    def __init__(self, pages_max: int | None) -> None:
        self.worker: Worker
        self.run: asyncio.Task[None]
        self.crawl_pace: CrawlPace
        self._pages_max = pages_max
        self._finished: deque[Outcome] = deque()
        self._news = asyncio.Event()  # something was finished, or all of it
        self._room = asyncio.Event()
        self._is_left = False
        self._recrawl: RecrawlCoordinator
        self._watching: asyncio.Task[None]

    async def start(self) -> None:
        worker, crawl = self.worker, self.worker.crawl
        await worker.assign_all()
        await self._feed()
        crawl.allow((self._pages_max or 0) - worker.pages)
        crawl.is_paused = False
        self._stop_at_the_limit()
        self._recrawl = RecrawlCoordinator(worker.folder, worker.config.schedule, worker.clock)
        self.run = asyncio.create_task(crawl.run(alone=not worker.config.crawl.forever))
        self.run.add_done_callback(lambda _: self._news.set())
        self._watching = asyncio.create_task(self._watch())

    async def _watch(self) -> None:
        """Policies and seeds are looked at here too: while all hosts are paused nothing is finished."""
        worker = self.worker
        folder, changed_at = worker.folder, worker.folder.policies_changed_at
        try:
            while True:
                await worker.clock.sleep(LOOK_S)
                worker.look_at_folder()
                if changed_at != (changed_at := folder.policies_changed_at):
                    self.crawl_pace.limit(*folder.policies().crawl.over(worker.config.politeness))
                worker.crawl.look_again()
        finally:
            worker.crawl.stop()

    async def _feed(self) -> None:
        worker = self.worker

        async def add_seeds(partition: int, seeds: list[Seed]) -> None:
            worker.add_seeds(partition, seeds)

        totals = {number: partition.totals for number, partition in worker.partitions.items()}
        await SeedFeed(SeedList(worker.folder.path), worker.config.crawl.partitions, add_seeds, totals).run()

    async def on_finished(self, outcomes: Sequence[Outcome]) -> None:
        """Called with what was just finished; the next commit waits until this returns."""
        self._finished.extend(outcomes)
        self._news.set()
        self.worker.look_at_folder()
        if self._recrawl.wants_statistics:
            requests = sum(partition.totals.requests for partition in self.worker.partitions.values())
            plan = self._recrawl.take(self.worker.statistics(), self.worker.partitions, requests)
            if plan is not None:
                self.worker.apply_plan(plan)
        self._stop_at_the_limit()
        while len(self._finished) > HELD_MAX and not self._is_left:
            self.worker.crawl.is_paused = True
            self._room.clear()
            await self._room.wait()
        self.worker.crawl.is_paused = False
        self.worker.crawl.look_again()

    def _stop_at_the_limit(self) -> None:
        if self._pages_max is not None and self.worker.pages >= self._pages_max:
            self.worker.crawl.stop()

    async def next(self) -> Outcome | None:
        while not self._finished:
            if self.run.done():
                return None
            self._news.clear()
            await self._news.wait()
        outcome = self._finished.popleft()
        self._room.set()
        return outcome

    async def leave(self) -> None:
        """Finish what is in flight; nobody waits any more for what is handed on. Raises what went wrong meanwhile."""
        self._is_left = True
        self._room.set()
        self.worker.crawl.stop()
        try:
            await asyncio.wait([self.run])
        finally:
            if not self.run.done():  # cancelled while it waited: what is in flight stays leased, for the next crawl
                self.run.cancel()
                await asyncio.wait([self.run])
            self._watching.cancel()
            await asyncio.wait([self._watching])
        try:
            self.run.result()
            if not self._watching.cancelled():
                self._watching.result()
        except BaseExceptionGroup as faults:
            raise _only(faults) from None


@asynccontextmanager
async def _running(folder: CrawlFolder, tree: Tree, filters: Sequence[Keep]) -> AsyncIterator[_Running]:
    """A worker by itself, with all partitions; left cleanly, however that comes about."""
    clock, running = RealClock(), _Running(tree.crawl.max_pages)
    pace = Pace(clock, tree.politeness.ip_requests_per_s, tree.politeness.ip_burst)
    crawl_pace = running.crawl_pace = CrawlPace(clock, *folder.policies().crawl.over(tree.politeness))
    with (
        closing(RocksStore(folder.fingerprints, duplicates.TABLES)) as store,
        closing(Duplicates(store, folder.fingerprints, tree.process.near_bits)) as claims,
    ):
        welcome, shared = (
            worker_messages.Welcome(str(folder.path.absolute()), tree),
            LocalShared(claims, pace, crawl_pace),
        )
        async with Worker(
            0, welcome, shared, warnings.warn, filters=filters, on_finished=running.on_finished
        ) as worker:
            running.worker = worker
            await running.start()
            loop, limit_s = asyncio.get_running_loop(), tree.crawl.max_time_s
            clock_stop = loop.call_later(limit_s, worker.crawl.stop) if limit_s is not None else None
            try:
                yield running
            finally:
                if clock_stop is not None:
                    clock_stop.cancel()
                await running.leave()


_forms: list[tuple[object, ...]] = []  # of URLs, as the crawls under way want them


@contextmanager
def _form_of_urls(tree: Tree) -> Iterator[None]:
    """What a URL is called is the same in all of a process (url/canonical.py), so its crawls have to agree on it."""
    form = (tree.fetch.schemes, tree.crawl.parameters_dropped, tree.crawl.parameters_kept)
    if _forms and _forms[0] != form:
        raise config.ConfigError(
            "fetch.schemes, crawl.parameters_dropped and crawl.parameters_kept hold for a whole program, and another "
            "crawl that is under way in this one has others: wait for its end, or let them agree"
        )
    _forms.append(form)
    try:
        choose_for(tree)
        yield
    finally:
        _forms.remove(form)


def _only(fault: BaseException) -> BaseException:
    """Tasks fail in groups. Where one thing alone went wrong, the program gets just that."""
    while isinstance(fault, BaseExceptionGroup) and len(fault.exceptions) == 1:
        fault = fault.exceptions[0]
    return fault


def _crawled(outcome: Outcome) -> Crawled | None:
    """None: nothing became of it yet, because the turn went to robots.txt or is still to come."""
    link, result, exchange = outcome.lease.link, outcome.result, outcome.result.exchange
    if not isinstance(result, Fetched | Moved | Failed | Refused):
        return None
    common = Crawled(
        link.url,
        outcome.page or Page(link.url),
        status=exchange.status if exchange else None,
        head=exchange.head if exchange else b"",
        fetched_at=exchange.started_at if exchange else result.ended_at,
        depth=link.depth,
        source=link.source,
    )
    match result:
        case Fetched(body=body):
            return replace(common, body=body, content_hash=outcome.content_hash, verdict=outcome.verdict)
        case Moved(body=body, target=target):
            return replace(common, body=body, moved_to=target)
        case _:
            return replace(common, reason=result.reason, detail=result.detail)
