"""Budgets: how many pages of a host and of its site are enough, by the settings or by what the operator says of it.

A host that writes a new text for every address is a trap that no look at its pages can tell. It has two marks: no
other site cares for it, and it never ends, so that every page of it leads to new ones. A site that ends has ever more
pages that do not: the products of a shop, the last page of each list. So what is counted of a host that nobody asked
for is its *leading* pages, those that led to a new page of the same host, and it has `traps.host_pages` of them for
each link from another site; while the crawl is small, a tenth of the pages that the partition has fetched so far, and
at least `LEADING_MIN`. Beyond the first of these its pages also have to be worth something to others: links from a
trap's own kin carry no credit (schedule/importance.py). It gets more when it is found again after more links came.

What is in flight may turn out to be a page or not. So a host whose budget would be used up by what is out is held
until that is known, and nothing above the budget is ever asked for.
"""

from __future__ import annotations

from collections.abc import Callable

from gossamer.frontier.back import Back
from gossamer.frontier.disk.tables import Site, Totals
from gossamer.frontier.front import Front
from gossamer.interfaces import Credit
from gossamer.records import Host, Reason, Refused
from gossamer.settings import FrontierSettings

LEADING_MIN = 100  # leading pages that any host may have: a site of 500 pages with 20 links each has about 90
LEADING_SHARE = 10  # and then the tenth part of all pages so far


class Budgets:
    def __init__(
        self,
        front: Front,
        limits: FrontierSettings,
        pages_a_link: int,
        is_home: Callable[[str], bool],
        totals: Totals,
        credit: Credit | None = None,
    ) -> None:
        """`is_home`: whether a person asked for a host. Others have `pages_a_link` leading pages for each link."""
        self._totals = totals
        self._front = front
        self._limits = limits
        self._pages_a_link = pages_a_link
        self._leading_min = min(LEADING_MIN, pages_a_link)  # with fewer leading pages no host is beyond its links
        self._is_home = is_home
        self._credit = credit
        self.has_limits = bool(limits.host_pages_max or limits.site_pages_max)

    def refusal(self, host: Host, site: Callable[[str], Site]) -> Refused | None:
        """Why no more of the host's pages may be asked for."""
        if host.led >= self._leading_min and self._is_beyond_its_links(host, host.led):
            links = 1 + host.in_links
            story = f"{host.led} of its {host.pages} pages led to new ones, and links from other sites to it: {links}"
            if host.led < self._leading_max() * links:
                story += ", which give it next to no importance"
            return Refused(Reason.TRAP_HOST, story)
        if not (self.has_limits or self._front.has_policies):
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

    def _leading_max(self) -> int:
        """Leading pages for each link from another site."""
        return min(self._pages_a_link, max(LEADING_MIN, self._totals.pages // LEADING_SHARE))

    def _is_beyond_its_links(self, host: Host, leading: int) -> bool:
        """Whether nobody asked for the host, and so many leading pages are more than links from other sites allow."""
        most = self._leading_max()
        if leading < most:
            return False
        allowed = most * (1 + host.in_links)  # and one that led here when the host was not known yet
        if leading < allowed and (self._credit is None or self._credit.has_earned_its_pages(host)):
            return False
        return not (self._is_home(host.name) or self._front.policies.of(host).trusted)

    def is_held(self, back: Back, site: Callable[[str], Site]) -> bool:
        """What is in flight may use up the budget: wait and see."""
        leading = back.host.led + back.out
        if back.out and leading >= self._leading_min and self._is_beyond_its_links(back.host, leading):
            return True
        if not (self.has_limits or self._front.has_policies):
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
