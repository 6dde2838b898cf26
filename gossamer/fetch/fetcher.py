"""The fetcher: one lease, at most one request.

Order: robots.txt first (its own turn, if the copy is missing or old), then the page. Politeness needs no lock here,
because the frontier hands out one lease a host and waits for the answer to end before the next.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

import msgspec

from gossamer.clock import Clock
from gossamer.fetch.cookie_jars import CookieJars
from gossamer.fetch.robots import Ask, RobotsCache, Unreachable, decide, is_unreachable
from gossamer.fetch.sessions import Sessions
from gossamer.headers import ExtraHeaders
from gossamer.interfaces import BookingOf, HostBlocked, HostElsewhere, SchemeFetcher
from gossamer.records import (
    SITEMAP,
    Answer,
    Exchange,
    Failed,
    Fetched,
    Lease,
    Moved,
    Postponed,
    Reason,
    Refused,
    Result,
    RobotsCopy,
    RobotsRead,
    Url,
    Validators,
)
from gossamer.settings import RESTS_S, RobotsSettings
from gossamer.url.canonical import canonicalize
from gossamer.url.media_types import MediaTypes
from gossamer.url.site import clock_name, host_of, origin_of
from gossamer.visitor.credentials import NONE as NO_CREDENTIALS

SITEMAPS_MAX = 1000  # that one robots.txt can name
ELSEWHERE_S = 5.0  # until another look whether another node has answered
NONE_THERE = frozenset({Reason.GONE, Reason.CLIENT_ERROR, Reason.BAD_REDIRECT})


class Nobody:
    """Stands for the modules of schemes that were crawled once, and of which URLs are still queued."""

    async def fetch(
        self,
        url: Url,
        validators: Validators | None = None,
        *,
        body_bytes_max: int | None = None,
        wanted: MediaTypes | None = None,
        extra: ExtraHeaders | None = None,
    ) -> Answer:
        return Refused(Reason.SCHEME, f"{url.partition(':')[0]} is not among fetch.schemes")


NOBODY = Nobody()


class Fetcher:
    def __init__(
        self,
        scheme_fetchers: Mapping[str, SchemeFetcher],
        robots: RobotsCache,
        booking_of: BookingOf,
        clock: Clock,
        settings: RobotsSettings,
        agent: str,
        media_types: Iterable[str] = (),
        rests_s: Sequence[float] = RESTS_S,
        elsewhere: Callable[[str, Url], Answer | None] = lambda origin, url: None,
        cookies: CookieJars | None = None,
        sessions: Sessions | None = None,
    ) -> None:
        """`rests_s`: how long a robots.txt is left alone that could not be fetched, each time longer. `elsewhere`:
        what another node found at the URL that the robots.txt of an origin has moved to; None: nothing yet."""
        self._scheme_fetchers = scheme_fetchers
        self._robots = robots
        self._booking_of = booking_of
        self._clock = clock
        self._settings = settings
        self._agent = agent
        self._media_types = MediaTypes(media_types)
        self._rests_s = rests_s
        self._elsewhere = elsewhere
        self._cookies = cookies or CookieJars("off", clock)
        self._sessions = sessions or Sessions(NO_CREDENTIALS, None, clock)

    def by(self, scheme_fetchers: Mapping[str, SchemeFetcher]) -> Fetcher:
        """The same, where others ask."""
        other = Fetcher.__new__(Fetcher)  # `copy` takes four times as long, and each lease has its own
        other.__dict__.update(self.__dict__, _scheme_fetchers=scheme_fetchers)
        return other

    async def fetch(self, lease: Lease) -> Result:
        origin = origin_of(lease.url)
        kept, rules = self._robots.get(origin)
        match decide(kept, origin, self._settings, self._clock.now()):
            case Ask(url=url):
                return await self.read_robots(origin, url, kept)
            case Unreachable(copy=unreachable, wait_s=wait_s):
                return Refused(Reason.ROBOTS_UNREACHABLE, unreachable.fault, wait_s)
        if not rules.allowed(lease.url, self._agent):
            found = rules.explain(lease.url, self._agent)
            return Refused(Reason.ROBOTS, f"line {found.line}: {found.rule}")
        delay_s = rules.crawl_delay(self._agent)
        if delay_s is not None and delay_s > self._settings.crawl_delay_s_max:
            return Refused(Reason.CRAWL_DELAY_TOO_LONG, f"Crawl-delay: {delay_s:g}")
        wanted = self._media_types if lease.link.rel != SITEMAP else None
        if (login := await self._sessions.log_in(lease.url)) is not None:
            return login
        cookies = self._sessions.cookies_of(lease.url) or self._cookies
        brought = cookies.brought_to(lease.url)
        answer = await self._ask(lease.url, lease.validators, brought.cookies, wanted=wanted)
        cookies.take(lease.url, answer.exchange)
        if (over := self._sessions.answered(lease.url, answer)) is not None:
            return over
        if isinstance(answer, Moved) and answer.target in (chain := (*lease.link.chain, lease.url)):
            if answer.target == lease.url and cookies.asks_again(lease.url, brought, answer.exchange):
                return Postponed(0.0, Reason.COOKIE)
            return Failed(Reason.REDIRECT_LOOP, answer.exchange, " -> ".join((*chain, answer.target)))
        return answer

    async def _ask(
        self,
        url: Url,
        validators: Validators | None = None,
        cookies: str = "",
        *,
        body_bytes_max: int | None = None,
        wanted: MediaTypes | None = None,
    ) -> Answer:
        fetcher, extra = self._scheme_fetcher(url), self._sessions.extra_for(url, cookies)
        if not extra:  # as nearly all; modules of others may not know of it
            return await fetcher.fetch(url, validators, body_bytes_max=body_bytes_max, wanted=wanted)
        return await fetcher.fetch(url, validators, body_bytes_max=body_bytes_max, wanted=wanted, extra=extra)

    def _scheme_fetcher(self, url: Url) -> SchemeFetcher:
        return self._scheme_fetchers.get(url.partition(":")[0], NOBODY)

    async def read_robots(
        self, origin: str, url: Url, before: RobotsCopy | None, *, has_turn: bool = True
    ) -> RobotsRead | Refused | Postponed:
        """The turn goes to the host's robots.txt, or to where it was moved. `has_turn`: it is the host's own."""
        limit = self._settings.body_bytes_max
        answer: Answer
        if has_turn and clock_name(host_of(url)) == clock_name(host_of(origin)):
            answer = await self._ask(url, body_bytes_max=limit)
        else:
            # Redirected to another host: that host is asked at its own turn.
            try:
                async with self._booking_of(url) as tell:
                    answer = await self._ask(url, body_bytes_max=limit)
                    tell(answer)
            except HostBlocked:
                detail = f"redirected to {host_of(url)}, which a policy blocks"
                answer = Failed(Reason.BLOCKED, None, detail, self._clock.now())
            except HostElsewhere:
                found = self._elsewhere(origin, url)
                if found is None:
                    detail = f"redirected to {host_of(url)}, which another node asks"
                    return Postponed(ELSEWHERE_S, Reason.ROBOTS_UNREACHABLE, detail)
                answer = found
        if isinstance(answer, Refused | Postponed):
            return answer  # a private address, or no name server: the same holds for every page of this host
        kept = self._copy(origin, answer, before)
        rules = self._robots.put(kept)
        delay_s = rules.crawl_delay(self._agent)
        if delay_s is not None and delay_s <= self._settings.crawl_delay_s_max:
            kept = msgspec.structs.replace(kept, crawl_delay_s=delay_s)
        exchange = answer.exchange
        waits_s = self._settings.retry_s
        must_wait = kept.reason is not None and is_unreachable(kept.status) and kept.tries <= len(waits_s)
        return RobotsRead(
            kept,
            exchange,
            ended_at=exchange.ended_at if exchange else self._clock.now(),
            wait_s=waits_s[kept.tries - 1] if must_wait else 0.0,
            sitemaps=tuple(filter(None, (canonicalize(sitemap, url) for sitemap in rules.sitemaps[:SITEMAPS_MAX]))),
        )

    def _copy(self, origin: str, answer: Answer, before: RobotsCopy | None) -> RobotsCopy:
        now = self._clock.now()
        before = before or RobotsCopy(origin, fetched_at=now, status=None)
        match answer:
            case Fetched(exchange=exchange, body=body):
                return RobotsCopy(origin, now, exchange.status, body[:])
            case Moved(target=target) if before.hops < self._settings.redirects_max:
                return msgspec.structs.replace(before, moved_to=target, hops=before.hops + 1, reason=None, detail="")
            case Moved(exchange=exchange):
                return RobotsCopy(origin, now, exchange.status)
            case Failed(reason=reason, exchange=Exchange(status=status)) if reason in NONE_THERE:
                return RobotsCopy(origin, now, status)
        # Unreachable: an older copy stays in force.
        assert isinstance(answer, Failed), f"a robots.txt that is {answer}"
        tries, waits = before.tries + 1, len(self._settings.retry_s)
        rest_s = self._rests_s[min(tries - waits, len(self._rests_s)) - 1] if tries > waits else 0.0
        answered = f"status {answer.exchange.status}" if answer.exchange else ""
        return RobotsCopy(
            origin,
            before.fetched_at,
            before.status,
            before.body,
            tries=tries,
            tried_at=now,
            crawl_delay_s=before.crawl_delay_s,
            reason=answer.reason,
            detail=answer.detail or answered,
            rest_s=rest_s,
        )
