"""The browsers of a worker: started when the first page needs one, replaced when they have shown enough.

Each shows a few pages at once, every page in a context and a process of its own. A browser that has shown
`render.pages` pages shows nothing more and ends with its last one. Above `render.memory` its largest page
is killed, or the browser where that is not a page. What died otherwise, a page or a whole browser, is shown again,
`TRIES` times at most. After `IDLE_S` without a page a browser ends.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import signal
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path

from gossamer.clock import Clock
from gossamer.render.browser import Browser
from gossamer.render.devtools import BrowserGone, PageDied
from gossamer.render.processes import is_renderer, tree_memory
from gossamer.render.showing import Shown
from gossamer.settings import RenderSettings

TRIES = 3  # of a page whose browser died
WATCH_S = 0.5
IDLE_S = 30.0
HURRY_S = 2.0


class PoolClosed(Exception):
    """The crawl ends."""


class Pool:
    def __init__(self, program: str, folder: Callable[[], Path], settings: RenderSettings, clock: Clock) -> None:
        self.started = 0
        self.died = 0  # otherwise than by our will
        self.killed = 0  # pages or browsers, for their memory
        self._program = program
        self._folder = folder
        self._settings = settings
        self._clock = clock
        self._room = asyncio.Semaphore(settings.processes * settings.pages_at_once)
        self._starting = asyncio.Lock()
        self._browsers: list[Browser] = []
        self._numbers = itertools.count(1)
        self._watching: asyncio.Task[None] | None = None
        self._closing: set[asyncio.Task[None]] = set()
        self._is_closed = False

    @property
    def is_started(self) -> bool:
        return bool(self._browsers)

    async def show(self, show: Callable[[Browser], Awaitable[Shown]]) -> Shown:
        async with self._room:
            for _ in range(TRIES):
                if self._is_closed:
                    raise PoolClosed
                try:
                    browser = await self._browser()
                except BrowserGone as gone:
                    return Shown(fault=str(gone))
                try:
                    return await show(browser)
                except PageDied:
                    if browser.pages_killed:  # by us; elsewhere it may have been by anybody
                        browser.pages_killed -= 1
                        return Shown(fault="it took too much memory in the browser")
                    browser.is_leaving = True  # if a process died that all pages need, every other page dies as well
                except BrowserGone:
                    self.died += not self._is_closed
                finally:
                    browser.pages -= 1
                    self._look_at(browser)
            if self._is_closed:
                raise PoolClosed
            return Shown(fault=f"its page or its browser died {TRIES} times")

    def hurry(self) -> None:
        """The crawl ends: nothing more is shown, and what is being shown has `HURRY_S` left."""
        if not self._is_closed:
            self._is_closed = True
            asyncio.get_running_loop().call_later(HURRY_S, self._kill_all)

    def _kill_all(self) -> None:
        for browser in self._browsers:
            browser.kill()

    async def close(self) -> None:
        self._is_closed = True
        if self._watching is not None:
            self._watching.cancel()
        for browser in list(self._browsers):
            self._end(browser)
        if self._closing:
            await asyncio.wait(self._closing)

    async def _browser(self) -> Browser:
        """One with room for a page, which counts from now on."""
        async with self._starting:
            for browser in self._browsers:
                self._look_at(browser)
            most = self._settings.pages_at_once
            free = [each for each in self._browsers if not each.is_leaving and each.pages < most]
            if free and (min(each.pages for each in free) == 0 or len(self._browsers) >= self._settings.processes):
                browser = min(free, key=lambda each: each.pages)
            else:
                profile = self._folder() / f"browser{next(self._numbers)}"
                browser = await Browser.start(self._program, profile, self._settings)
                self.started += 1
                self._browsers.append(browser)
                if self._watching is None or self._watching.done():
                    self._watching = asyncio.ensure_future(self._watch())
            browser.pages += 1
            browser.shown += 1
            browser.is_leaving = browser.is_leaving or browser.shown >= self._settings.pages
            return browser

    def _look_at(self, browser: Browser) -> None:
        if browser in self._browsers and (browser.is_gone or (browser.is_leaving and not browser.pages)):
            self._end(browser)

    def _end(self, browser: Browser) -> None:
        self._browsers.remove(browser)
        task = asyncio.ensure_future(browser.close())
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)

    async def _watch(self) -> None:
        idle_s = 0.0
        while self._browsers:
            await self._clock.sleep(WATCH_S)
            idle_s = 0.0 if any(browser.pages for browser in self._browsers) else idle_s + WATCH_S
            for browser in list(self._browsers):
                if idle_s > IDLE_S:
                    self._end(browser)
                elif browser.pages:
                    self._watch_memory(browser)

    def _watch_memory(self, browser: Browser) -> None:
        sizes = tree_memory(browser.process.pid)
        if sum(sizes.values()) <= self._settings.memory:
            return
        self.killed += 1
        pid = max(sizes, key=lambda each: sizes[each])
        if is_renderer(pid):
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
                browser.pages_killed += 1
        else:
            browser.kill()
