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
gossamer.crawl(...) as pages` waits for it.) Cancelled a second time, or by a filter that raises, it ends at once:
then what was in flight is asked for again. A program that is killed, or leaves, may have missed the last pages that
were stored; they are in the folder.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from itertools import chain
from pathlib import Path
from types import TracebackType
from typing import Literal, TypedDict, Unpack

import msgspec

from gossamer import config
from gossamer.fetch.protocols import makers
from gossamer.folder import CrawlFolder
from gossamer.library.crawled import Crawled
from gossamer.library.report import Report, shown
from gossamer.library.running import Keep, Running, running
from gossamer.maintenance.operator_changes import is_site, set_policy
from gossamer.process.media_types import load_own
from gossamer.rendered import When
from gossamer.runtime.temporary import temporary_folder
from gossamer.seeds import SeedList, Spooled
from gossamer.settings import Tree
from gossamer.settings.kinds import seconds
from gossamer.url.canonical import canonicalize, choose_for
from gossamer.url.site import host_of
from gossamer.url.typed import seed_in

Scope = Literal["host", "site", "any"]
Seconds = str | float
"""A time: seconds, or a text such as "10m"."""


class PolicyChanges(TypedDict, total=False):
    """What is not named stays as it was."""

    delay: Seconds
    crawl_rate: float  # requests a second; of a site all its hosts together
    max_pages: int
    priority: float  # in [0, 1]
    paused: bool  # nothing is asked, everything stays queued
    blocked: bool  # nothing is asked, what is queued is refused
    trusted: bool  # what looks like a trap here is none
    render: When  # which pages a browser shows


class _Wanted(msgspec.Struct, frozen=True):
    """What the program asked for."""

    seeds: Iterable[str]
    folder: Path | None
    flags: Mapping[str, object]
    filters: Sequence[Keep]
    revisit: list[str]
    every: Seconds | None
    everything: bool


class _State:
    """What a crawl and its iterator share. Neither holds the other: Python lets go of a crawl that nobody reads."""

    def __init__(self) -> None:
        self.running: Running | None = None
        self.report = Report()

    def end(self, report: Report) -> None:
        self.running, self.report = None, report


class Crawl(AsyncIterator[Crawled]):
    """A crawl that begins when its first page is asked for. `async with` waits for its clean end."""

    def __init__(self, wanted: _Wanted) -> None:
        self._state = _State()
        self._pages = _pages(wanted, self._state)

    def __aiter__(self) -> Crawl:
        return self

    async def __anext__(self) -> Crawled:
        return await anext(self._pages)

    async def __aenter__(self) -> Crawl:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """End it: what is in flight is finished when this returns."""
        await self._pages.aclose()

    @property
    def report(self) -> Report:
        """How it goes, and when it is over, how it went: counts by reason."""
        running = self._state.running
        return running.report if running is not None else self._state.report

    def add(self, *seeds: str) -> int:
        """More to start from, while it runs. Returns how many were not known yet."""
        return self._running.add([seed_in(text) for text in seeds])

    def set_policy(self, name: str, **changes: Unpack[PolicyChanges]) -> None:
        """What holds for a host, or for a whole site, from its next turn on; see `gossamer policy`."""
        url = canonicalize(name) or canonicalize(f"http://{name}/")
        if url is None:
            raise ValueError(f"{name!r} is not the name of a host or a site")
        host, said, worker = host_of(url), dict(changes), self._running.worker
        if (delay := said.pop("delay", None)) is not None:
            said["delay_s"] = seconds(delay) if isinstance(delay, str) else delay
        set_policy(worker.folder, host, said, is_site=is_site(host))
        worker.look_at_folder()

    def stop(self) -> None:
        """Ask for nothing more: the iterator ends when what is in flight has been given."""
        self._running.stop("left")

    @property
    def _running(self) -> Running:
        if self._state.running is None:
            raise RuntimeError("the crawl is not under way: it begins when its first page is asked for")
        return self._state.running


def crawl(
    seeds: str | Iterable[str] = (),
    *,
    dir: str | Path | None = None,
    max_pages: int | None = None,
    max_depth: int | None = None,
    max_time: Seconds | None = None,
    scope: Scope | None = None,
    include: Sequence[str] | None = None,
    exclude: Sequence[str] | None = None,
    delay: Seconds | None = None,
    contact: str | None = None,
    allow_private: bool | None = None,
    render: When | None = None,
    settings: Mapping[str, object] | None = None,
    filters: Sequence[Keep] = (),
    revisit: str | Iterable[str] = (),
    every: Seconds | None = None,
    everything: bool = False,
) -> Crawl:
    """Crawl, and give each page as it is finished. `dir`: the crawl's folder; None: one that is removed at the end.

    `settings`: any setting by its name, `{"fetch.timeout_s": 30}`; None there lifts a limit that the folder keeps.
    `revisit`: pages to ask for though the folder has them. `every`: go on, and ask for them so often; for all pages
    where `revisit` names none. `everything`: also redirects, failures and refusals.

    Raises, when the first page is asked for, `ConfigError` for a wrong setting, `FolderError` for a folder that
    cannot be used, `ValueError` for a seed that is no URL."""
    flags: dict[str, object] = {
        "crawl.max_pages": max_pages,
        "crawl.max_depth": max_depth,
        "crawl.max_time_s": max_time,
        "crawl.scope": scope,
        "crawl.include": include,
        "crawl.exclude": exclude,
        "politeness.delay_s": delay,
        "crawl.contact": contact,
        "crawl.allow_private": allow_private,
        "render.when": render,
    }
    again = [revisit] if isinstance(revisit, str) else list(revisit)
    if every is not None and not again:
        flags |= {"crawl.forever": True, "schedule.shortest_s": every, "schedule.longest_s": every}
    flags |= {key: "none" if value is None else value for key, value in (settings or {}).items()}
    wanted = [seeds] if isinstance(seeds, str) else seeds
    folder = Path(dir) if dir is not None else None
    return Crawl(_Wanted(wanted, folder, flags, filters, again, every if again else None, everything))


async def _pages(wanted: _Wanted, state: _State) -> AsyncGenerator[Crawled, None]:
    with ExitStack() as folders:
        path = wanted.folder or folders.enter_context(temporary_folder()) / "crawl"
        configuration = config.load(path, None, wanted.flags)
        tree = configuration.tree
        makers(tree.fetch.schemes)
        load_own()
        folders.enter_context(_form_of_urls(tree))
        revisit = [seed_in(text) for text in wanted.revisit]
        seeds = folders.enter_context(closing(Spooled(chain(map(seed_in, wanted.seeds), revisit))))
        every_s = seconds(wanted.every) if isinstance(wanted.every, str) else wanted.every
        folder = CrawlFolder(path)
        if seeds.first is None and not folder.is_crawl:
            raise ValueError(f"{path} is not a crawl yet: give at least one URL to start from")
        folder.create()
        folders.enter_context(shown())
        with folder.locked(), configuration.tried(path) as started:
            folder.keep_format()
            index = SeedList(path).take(seeds, tree.crawl.scope)
            urls = [seed.url for seed in revisit]
            async with running(folder, tree, index, wanted.filters, urls, every_s, state.end) as state.running:
                started()
                while (crawled := await state.running.next(everything=wanted.everything)) is not None:
                    yield crawled


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
