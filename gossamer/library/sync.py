"""A crawl for scripts: a plain iterator, without `async`.

    for page in gossamer.crawl_sync("https://example.org/", max_pages=100):
        print(page.url, page.title)

The crawl runs in an event loop of its own, in a thread beside the script, so that it goes on while the script works
on a page. All else is as in crawl.py. `break`, an exception and Ctrl-C end it cleanly, and so does the end of a
script that has forgotten about it; a second Ctrl-C ends it at once.
"""

from __future__ import annotations

import asyncio
import concurrent.futures.thread
import threading
from collections.abc import Callable, Coroutine, Iterator
from contextlib import suppress
from functools import wraps
from types import TracebackType
from typing import Any, ParamSpec, TypeVar, Unpack
from weakref import WeakSet

from gossamer.library.crawl import Crawl, PolicyChanges, crawl
from gossamer.library.crawled import Crawled
from gossamer.library.report import Report

P = ParamSpec("P")
T = TypeVar("T")


class CrawlSync(Iterator[Crawled]):
    """A crawl that begins when its first page is asked for. `with` waits for its clean end."""

    def __init__(self, crawl: Crawl) -> None:
        self._crawl = crawl
        self._beside: _Beside | None = None  # None: not begun, or over
        self._is_over = False

    def __iter__(self) -> CrawlSync:
        return self

    def __next__(self) -> Crawled:
        if self._is_over:
            raise StopIteration
        self._beside = self._beside or _Beside(self._crawl)
        try:
            page = self._beside.call(self._beside.next())
        except BaseException:
            self.close()
            raise
        if page is None:
            self.close()
            raise StopIteration
        return page

    def __enter__(self) -> CrawlSync:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __del__(self) -> None:
        self.close()

    def close(self) -> None:
        """End it: what is in flight is finished when this returns."""
        beside, self._beside, self._is_over = self._beside, None, True
        if beside is not None:
            beside.end()

    @property
    def report(self) -> Report:
        """How it goes, and when it is over, how it went: counts by reason."""
        return self._do(lambda: self._crawl.report)

    def add(self, *seeds: str) -> int:
        """More to start from, while it runs. Returns how many were not known yet."""
        return self._do(lambda: self._crawl.add(*seeds))

    def set_policy(self, name: str, **changes: Unpack[PolicyChanges]) -> None:
        """What holds for a host, or for a whole site, from its next turn on; see `gossamer policy`."""
        self._do(lambda: self._crawl.set_policy(name, **changes))

    def stop(self) -> None:
        """Ask for nothing more: the iterator ends when what is in flight has been given."""
        self._do(self._crawl.stop)

    def _do(self, what: Callable[[], T]) -> T:
        """In the thread of the crawl, where there is one."""

        async def done() -> T:
            return what()

        return what() if self._beside is None else self._beside.call(done())


class _Beside:
    """The thread of a crawl. It does not know of the iterator: Python lets go of one that nobody reads."""

    def __init__(self, crawl: Crawl) -> None:
        self._crawl = crawl
        self._loop = asyncio.new_event_loop()
        self._ending = asyncio.Event()
        self._asking: asyncio.Task[Any] | None = None
        self._staying: asyncio.Task[Any] | None = None
        self._fault: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="gossamer")
        self._thread.start()
        _open.add(self)

    def call(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    async def next(self) -> Crawled | None:
        self._asking = asyncio.current_task()
        return await anext(self._crawl, None)

    def end(self) -> None:
        """Raises what went wrong meanwhile."""
        with suppress(RuntimeError):  # it has ended already
            self._loop.call_soon_threadsafe(self._ending.set)
        try:
            self._thread.join()
        except KeyboardInterrupt:
            assert self._staying is not None
            self._loop.call_soon_threadsafe(self._staying.cancel)
            self._thread.join()
            raise
        if self._fault is not None:
            raise self._fault

    def _run(self) -> None:
        try:
            with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
                runner.run(self._stay())
        except BaseException as fault:
            self._fault = fault

    async def _stay(self) -> None:
        self._staying = asyncio.current_task()
        await self._ending.wait()
        try:
            await self._leave()
        except asyncio.CancelledError:
            await self._leave()  # asked twice: what is in flight is not waited for

    async def _leave(self) -> None:
        if self._asking is not None and not self._asking.done():
            self._asking.cancel()
            await asyncio.wait([self._asking])
        else:
            await self._crawl.aclose()


_open: WeakSet[_Beside] = WeakSet()


def _end_all() -> None:
    for beside in list(_open):
        beside.end()


# The thread pools of Python end before threads are waited for, and a crawl needs them to end. What is registered last
# is called first, so theirs has to be there already.
assert concurrent.futures.thread
threading._register_atexit(_end_all)  # type: ignore[attr-defined]


def _plain(make: Callable[P, Crawl]) -> Callable[P, CrawlSync]:
    @wraps(make)
    def crawl_sync(*arguments: P.args, **named: P.kwargs) -> CrawlSync:
        """As `crawl`, for a script: `for page in gossamer.crawl_sync(...)`."""
        return CrawlSync(make(*arguments, **named))

    return crawl_sync


crawl_sync = _plain(crawl)
