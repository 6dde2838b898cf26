"""The fetcher: one lease, at most one request.

Order: robots.txt first (its own turn, if the copy is missing or old), then the page. Politeness needs no lock here,
because the frontier hands out one lease a host and waits for the answer to end before the next.
"""

from __future__ import annotations

import msgspec

from gossamer.clock import Clock
from gossamer.fetch.http import Answer, Http
from gossamer.fetch.robots import Ask, RobotsCache, Unreachable, decide, is_unreachable
from gossamer.interfaces import TurnOf
from gossamer.records import (
    Failed,
    Fetched,
    Lease,
    Moved,
    Reason,
    Refused,
    Result,
    RobotsCopy,
    RobotsRead,
    Url,
)
from gossamer.settings import RobotsSettings
from gossamer.url.site import host_of, origin_of


class Fetcher:
    def __init__(
        self,
        http: Http,
        robots: RobotsCache,
        turn_of: TurnOf,
        clock: Clock,
        settings: RobotsSettings,
        agent: str,
    ) -> None:
        self._http = http
        self._robots = robots
        self._turn_of = turn_of
        self._clock = clock
        self._settings = settings
        self._agent = agent

    async def fetch(self, lease: Lease) -> Result:
        origin = origin_of(lease.url)
        copy, rules = self._robots.get(origin)
        match decide(copy, origin, self._settings, self._clock.now()):
            case Ask(url=url):
                return await self._read_robots(origin, url, copy)
            case Unreachable(status=status):
                return Refused(Reason.ROBOTS_UNREACHABLE, f"robots.txt: {status or 'no answer'}")
        if not rules.allowed(lease.url, self._agent):
            return Refused(Reason.ROBOTS)
        return await self._http.fetch(lease.url)

    async def _read_robots(self, origin: str, url: Url, before: RobotsCopy | None) -> Result:
        limit = self._settings.body_bytes_max
        if host_of(url) == host_of(origin):
            answer = await self._http.fetch(url, body_bytes_max=limit, cut=True)
        else:
            # Redirected to another host: that host is asked at its own turn.
            async with self._turn_of(url):
                answer = await self._http.fetch(url, body_bytes_max=limit, cut=True)
        if isinstance(answer, Refused):
            return answer  # a private address: the same holds for every page of this host
        copy = self._copy(origin, answer, before)
        rules = self._robots.put(copy)
        copy = msgspec.structs.replace(copy, crawl_delay_s=rules.crawl_delay(self._agent))
        exchange = answer.exchange
        waits_s = self._settings.retry_s
        must_wait = copy.moved_to is None and is_unreachable(copy.status) and copy.tries <= len(waits_s)
        return RobotsRead(
            copy,
            exchange,
            ended_at=exchange.ended_at if exchange else self._clock.now(),
            wait_s=waits_s[copy.tries - 1] if must_wait else 0.0,
        )

    def _copy(self, origin: str, answer: Answer, before: RobotsCopy | None) -> RobotsCopy:
        now = self._clock.now()
        before = before or RobotsCopy(origin, fetched_at=now, status=None)
        match answer:
            case Fetched(exchange=exchange, body=body):
                return RobotsCopy(origin, now, exchange.status, body)
            case Moved(target=target) if before.hops < self._settings.redirects_max:
                return msgspec.structs.replace(before, moved_to=target, hops=before.hops + 1)
            case Moved(exchange=exchange) | Failed(exchange=exchange) if exchange is not None:
                if not is_unreachable(exchange.status):
                    return RobotsCopy(origin, now, exchange.status)
        # Unreachable: an older copy stays in force.
        return msgspec.structs.replace(before, moved_to=None, hops=0, tries=before.tries + 1, tried_at=now)
