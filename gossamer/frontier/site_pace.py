"""The pace of a site: all its hosts together are asked no faster than its owner would expect of one crawler.

Forty sub-domains with a delay of their own each are forty requests a second to one owner's servers. A site lives in
one partition, so its rate limiter (gossamer/rate_limiter.py) is kept here: a host whose turn has come gets a moment
of it, and takes its turn then. The rate is `politeness.site_requests_per_s`, or what a policy says of the site. In
memory alone: after a restart nobody has been asked for a while.
"""

from __future__ import annotations

from gossamer.frontier.back import Back
from gossamer.frontier.front import Front
from gossamer.rate_limiter import RateLimiter

SITES_MAX = 50_000  # some 10 MB


class SitePace:
    def __init__(self, front: Front, rate: float | None) -> None:
        self._front = front
        self._rate = rate
        self._limiters: dict[str, RateLimiter] = {}

    def turn_at(self, back: Back, now: float) -> float:
        """When the host may take the turn that has come."""
        if back.slot_at == 0.0:
            limiter = back.limiter or self._limiter(back, now)
            back.slot_at = limiter.take(now) if limiter is not None else now
        return back.slot_at

    def keep_turn(self, back: Back, now: float) -> None:
        """The turn came, and nothing was asked: the host need not stand in line again for the next URL."""
        back.slot_at = now

    def apply_policies(self) -> None:
        """Policies have changed: every host gets a new moment."""
        self._limiters.clear()
        for back in self._front.active.values():
            back.limiter = None
            if back.slot_at:
                back.slot_at = 0.0
                self._front.arm(back)

    def put_off(self, by_s: float, now: float) -> None:
        """The clock was set forward to `now`: whoever has a moment keeps as far behind the others as before."""
        for limiter in self._limiters.values():
            limiter.put_off(by_s)
        for back in self._front.active.values():
            if back.slot_at > now - by_s:
                back.slot_at += by_s
                if back.key in self._front.turns:
                    self._front.arm(back)

    def _limiter(self, back: Back, now: float) -> RateLimiter | None:
        host = back.host
        limiter = self._limiters.get(host.site)
        if limiter is None:
            policies = self._front.policies
            rate = policies.site_rate(host.site) if self._front.has_policies else None
            if (rate := rate or self._rate) is None:
                return None
            if len(self._limiters) >= SITES_MAX:
                self._limiters = {site: each for site, each in self._limiters.items() if not each.is_idle(now)}
                for each in self._front.active.values():
                    each.limiter = None  # a site has one, whoever asks next
            limiter = self._limiters[host.site] = RateLimiter(rate)
        back.limiter = limiter
        return limiter
