"""Budgets: how many pages of a host and of its site are enough, by the settings or by what the operator says of it.

A host that nobody asked for has `traps.host_pages` pages for each link from another site: one that eats more may be
a trap that no look at its pages can tell. Beyond the first of these its pages also have to be worth something to
others: links from a trap's own kin carry no credit (schedule/importance.py). It gets more when it is found again
after more links have come.

A host that fails again and again has used up its budget too: what is queued for it is refused. Should one of its URLs
be found again after that, it gets one more try.

What is in flight may turn out to be a page or not. So a host whose budget would be used up by what is out is held
until that is known, and nothing above the budget is ever asked for.
"""

from __future__ import annotations

from collections.abc import Callable

from gossamer.frontier.back import Back
from gossamer.frontier.front import Front
from gossamer.frontier.tables import Site
from gossamer.interfaces import Planner
from gossamer.records import Host, Reason, Refused
from gossamer.settings import FrontierSettings


class Budgets:
    def __init__(
        self,
        front: Front,
        limits: FrontierSettings,
        pages_a_link: int,
        is_home: Callable[[str], bool],
        planner: Planner | None = None,
    ) -> None:
        """`is_home`: whether a person asked for a host. Others have `pages_a_link` pages a link from another site."""
        self._front = front
        self._limits = limits
        self._pages_a_link = pages_a_link
        self._is_home = is_home
        self._planner = planner
        self._has_limits = bool(limits.host_pages_max or limits.site_pages_max)

    @property
    def _has_any(self) -> bool:
        return self._has_limits or self._front.has_policies

    def refusal(self, host: Host, site: Callable[[str], Site]) -> Refused | None:
        """Why no more of the host's pages may be asked for."""
        if host.failures >= self._limits.host_failures_max:
            return Refused(Reason.HOST_DOWN)
        if self._is_beyond_its_links(host, host.pages):
            links = 1 + host.in_links
            story = f"{host.pages} pages were fetched, and links from other sites to it: {links}"
            if host.pages < self._pages_a_link * links:
                story += ", which give it next to no importance"
            return Refused(Reason.TRAP_HOST, story)
        if not self._has_any:
            return None
        if self._front.policies.of(host).blocked:
            return Refused(Reason.BLOCKED)
        most = self._host_pages_max(host)
        if most is not None and host.pages >= most:
            return Refused(Reason.HOST_BUDGET)
        most = self._site_pages_max(host)
        if most is not None and site(host.site).pages >= most:
            return Refused(Reason.SITE_BUDGET)
        return None

    def _is_beyond_its_links(self, host: Host, pages: int) -> bool:
        """Whether so many pages of a host that nobody asked for are more than the links from other sites allow."""
        if pages < self._pages_a_link:
            return False
        allowed = self._pages_a_link * (1 + host.in_links)  # and one that led here when the host was not known yet
        if pages < allowed and (self._planner is None or self._planner.earns_its_keep(host)):
            return False
        return not (self._is_home(host.name) or self._front.policies.of(host).trusted)

    def forgive(self, host: Host) -> None:
        """Nothing is queued for the host any more: what comes next is one more try."""
        host.failures = min(host.failures, self._limits.host_failures_max - 1)

    def is_held(self, back: Back, site: Callable[[str], Site]) -> bool:
        """What is in flight may use up the budget: wait and see."""
        if back.out and self._is_beyond_its_links(back.host, back.host.pages + back.out):
            return True
        if not self._has_any:
            return False
        host = back.host
        most = self._host_pages_max(host)
        if most is not None and host.pages < most <= host.pages + back.out:
            return True
        most = self._site_pages_max(host)
        if most is None:
            return False
        out = sum(other.out for other in self._front.active.values() if other.host.site == host.site)
        return site(host.site).pages < most <= site(host.site).pages + out

    def _host_pages_max(self, host: Host) -> int | None:
        return self._front.policies.of(host).max_pages or self._limits.host_pages_max

    def _site_pages_max(self, host: Host) -> int | None:
        return self._front.policies.site_pages_max(host.site) or self._limits.site_pages_max
