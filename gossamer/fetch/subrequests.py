"""What a page asks for while it is rendered: each request at a turn of its host, by leave of its robots.txt.

The turn is booked, as for a robots.txt that was moved to another host. Where nobody here knows the robots.txt of a
host, it is asked for first, at a turn of its own; the copy is kept in memory, because the host may be somebody
else's. A Crawl-delay in it is kept by holding the turn for so long.

To the page's own origin go cookies and credentials as with a page of that URL, and what comes back counts as with a
page. To any other origin goes nothing, whatever we have for it: a page must not read what is meant for us.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any
from weakref import WeakValueDictionary

from gossamer.clock import Clock
from gossamer.fetch.cookie_jars import CookieJars
from gossamer.fetch.fetcher import Fetcher
from gossamer.fetch.robots import Ask, Robots, RobotsCache, Unreachable, decide
from gossamer.fetch.sessions import Sessions
from gossamer.interfaces import BookingOf, HostBlocked, HostElsewhere, NoBooking, SchemeFetcher
from gossamer.records import Answer, Failed, Postponed, Reason, Refused, RobotsCopy, RobotsRead, Url
from gossamer.settings import RobotsSettings
from gossamer.url.site import origin_of

TRIES = 3  # where whoever gave the turn is gone, or the name of a host has to wait


class Subrequests:
    def __init__(
        self,
        scheme_fetchers: Mapping[str, SchemeFetcher],
        known: Callable[[str], RobotsCopy | None],
        booking_of: BookingOf,
        clock: Clock,
        settings: RobotsSettings,
        agent: str,
        delay_s: float,
        cookies: CookieJars,
        sessions: Sessions,
    ) -> None:
        """`known`: the robots.txt of an origin, where this process has it. `delay_s`: of hosts that ask for none."""
        self._scheme_fetchers = scheme_fetchers
        self._known = known
        self._booking_of = booking_of
        self._clock = clock
        self._settings = settings
        self._agent = agent
        self._delay_s = delay_s
        self._cookies = cookies
        self._sessions = sessions
        self._own = RobotsCache(lambda origin: None)
        self._reader = Fetcher(scheme_fetchers, self._own, booking_of, clock, settings, agent)
        self._reading: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._held: set[asyncio.Task[None]] = set()

    async def fetch(self, url: Url, bytes_max: int, *, is_own: bool) -> Answer:
        """`is_own`: it goes to the origin of the page that asks."""
        scheme_fetcher = self._scheme_fetchers.get(url.partition(":")[0])
        if scheme_fetcher is None:
            return Refused(Reason.SCHEME)
        for _ in range(TRIES):
            answer = await self._fetch(scheme_fetcher, url, bytes_max, is_own=is_own)
            if not isinstance(answer, Postponed):
                break
        return answer

    async def _fetch(self, scheme_fetcher: SchemeFetcher, url: Url, bytes_max: int, *, is_own: bool) -> Answer:
        try:
            rules = await self._rules(origin_of(url))
            if not isinstance(rules, Robots):
                return rules
            if not rules.allowed(url, self._agent):
                return Refused(Reason.ROBOTS)
            delay_s = rules.crawl_delay(self._agent) or 0.0
            if delay_s > self._settings.crawl_delay_s_max:
                return Refused(Reason.CRAWL_DELAY_TOO_LONG)
            if is_own and self._sessions.is_shut(url):
                return Refused(Reason.LOGIN, wait_s=1.0)
            return await self._ask(scheme_fetcher, url, bytes_max, delay_s, is_own=is_own)
        except HostBlocked:
            return Refused(Reason.BLOCKED)
        except HostElsewhere:
            return Refused(Reason.OWNERSHIP)
        except NoBooking:
            return Postponed(0.0, Reason.TIMEOUT)

    async def _as_visitor(self, scheme_fetcher: SchemeFetcher, url: Url, bytes_max: int, *, is_own: bool) -> Answer:
        cookies = self._sessions.cookies_of(url) or self._cookies
        extra = self._sessions.extra_for(url, cookies.kept_for(url)) if is_own else None
        if not extra:  # as nearly all; modules of others may not know of it
            answer = await scheme_fetcher.fetch(url, body_bytes_max=max(1, bytes_max))
        else:
            answer = await scheme_fetcher.fetch(url, body_bytes_max=max(1, bytes_max), extra=extra)
        if is_own:
            cookies.take(url, answer.exchange)
        return answer

    async def _ask(
        self, scheme_fetcher: SchemeFetcher, url: Url, bytes_max: int, delay_s: float, *, is_own: bool
    ) -> Answer:
        came: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()

        async def at_its_turn() -> None:
            async with self._booking_of(url) as tell:
                answer = await self._as_visitor(scheme_fetcher, url, bytes_max, is_own=is_own)
                tell(answer)
                if not came.done():
                    came.set_result(answer)
                if delay_s > self._delay_s:
                    await self._clock.sleep(delay_s)

        task = asyncio.ensure_future(at_its_turn())
        self._held.add(task)
        task.add_done_callback(self._held.discard)
        try:
            ended: list[asyncio.Future[Any]] = [task, came]
            await asyncio.wait(ended, return_when=asyncio.FIRST_COMPLETED)
            if not came.done():
                task.result()  # raises why there is none
            return came.result()
        except asyncio.CancelledError:
            if not came.done():
                task.cancel()
            raise

    async def _rules(self, origin: str) -> Robots | Answer:
        copy = self._known(origin)
        if copy is not None and decide(copy, origin, self._settings, self._clock.now()) is None:
            self._own.put(copy)
            return self._own.get(origin)[1]
        lock = self._reading.setdefault(origin, asyncio.Lock())
        async with lock:
            for _ in range(self._settings.redirects_max + 2):
                kept, rules = self._own.get(origin)
                match decide(kept, origin, self._settings, self._clock.now()):
                    case None:
                        return rules
                    case Unreachable():
                        return Refused(Reason.ROBOTS_UNREACHABLE, wait_s=1.0)
                    case Ask(url=url):
                        read = await self._reader.read_robots(origin, url, kept, has_turn=False)
                        if not isinstance(read, RobotsRead):
                            return read
                        if read.robots.reason is not None:
                            return Refused(Reason.ROBOTS_UNREACHABLE, wait_s=1.0)
        return Failed(Reason.BAD_REDIRECT)

    async def close(self) -> None:
        for task in self._held:
            task.cancel()
        if self._held:
            await asyncio.wait(self._held)
