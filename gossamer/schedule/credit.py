"""The credit of a partition: what its pages are worth, by the links that lead to them (`interfaces.Credit`).

It stands between the frontier, which knows states and queues, and the pure functions of importance.py. The frontier
asks it when a link comes (what credit it brings), when a queue is ordered (how important a page is), when a URL is
leased (what it may share among its links), and when a page is finished or dropped (its credit goes back to Lambda).

**Promises.** Most links lead to pages that are known already. To write each of those pages anew for every link would
cost more than all else that is done with links. So what a link is worth is noted in memory first, and counts when the
page is leased, or when it doubles what the page has. Only then is the page looked up (`bits_without_effect`). Until
then Lambda has not paid, so that a crash loses a little evidence and no credit. Memory holds the latest
`PROMISES_MAX`, in two generations, by 64-bit hashes of their URLs: the texts would be half of it. Two of ten thousand
are the same with a chance below 1 in 10^11, and then one page gets what was promised to another.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from gossamer.records import Host, Lease, Link, State, UrlRecord
from gossamer.schedule import importance
from gossamer.schedule.plans import Plans
from gossamer.schedule.ranks import Ranks
from gossamer.schedule.recrawl_plan import RecrawlPlan
from gossamer.url.site import host_of, origin_of, site_of

PROMISES_MAX = 10_000  # of a partition: some 1.5 MB


class Credit:
    def __init__(self, plans: Plans, recrawl_plan: RecrawlPlan) -> None:
        self.plans = plans
        self.recrawl_plan = recrawl_plan
        self.ranks: Ranks | None = None  # of an earlier `gossamer rank`: better than any estimate, of what it knows
        self._latest: dict[int, int] = {}  # promises, in two generations
        self._earlier: dict[int, int] = {}

    @property
    def minted(self) -> int:
        return self.recrawl_plan.minted or self.plans.treasury.minted

    # ---- a link comes ------------------------------------------------------------------------------------

    def for_seed(self) -> int:
        """What a seed starts with: credit is made here, and nowhere else."""
        return importance.mint(self.plans.treasury)

    def for_new_page(self, worth: int) -> int:
        """What a page starts with that a link of this worth leads to: Lambda pays it."""
        return importance.advance(self.plans.treasury, worth)

    def promise(self, url: str, worth: int) -> int:
        """A link comes to a page that is known. Returns what links have promised it so far."""
        key = hash(url)
        promised = self._latest.get(key)
        if promised is None:
            promised = self._earlier.pop(key, 0)
            if len(self._latest) >= PROMISES_MAX // 2:
                self._latest, self._earlier = {}, self._latest
        promised += worth
        self._latest[key] = promised
        return promised

    def promise_each(self, urls: Sequence[str], worth: int) -> list[int]:
        """The same for links of one page, each to another."""
        latest = self._latest
        promises = []
        for url in urls:
            key = hash(url)
            if key in latest:
                latest[key] = promised = latest[key] + worth
            else:
                promised = self.promise(url, worth)
                latest = self._latest
            promises.append(promised)
        return promises

    def promised(self, url: str) -> int:
        """What links have promised a page that has not got it yet."""
        key = hash(url)
        return self._latest.get(key) or self._earlier.get(key, 0)

    def _take_promises(self, url: str) -> int:
        key = hash(url)
        return self._latest.pop(key, 0) or self._earlier.pop(key, 0)

    def bits_without_effect(self, known: UrlRecord) -> int:
        """Promises of no more bits than these are not worth a look at a page: what it has is more, in whole octaves,
        or they were looked at just now and left alone."""
        enough = max(0, known.earned - 1) if known.state is State.DONE else known.credit
        return max(enough, self.promised(known.url)).bit_length()

    def pay_promises(self, known: UrlRecord) -> UrlRecord | None:
        """A queued page with what links promised it, if that makes it worth a better place in its queue."""
        promised = self.promised(known.url)
        if not promised or not importance.is_worth_more(known.credit + promised, known.credit):
            return None
        self._take_promises(known.url)
        return msgspec.structs.replace(known, credit=known.credit + self.for_new_page(promised))

    def count_promises(self, known: UrlRecord) -> UrlRecord | None:
        """A page that was fetched, with what links have promised it since, if that doubles what it is worth.

        It is not to be visited now, so nothing is paid: what it earned says how important it is, and no more."""
        promised = self.promised(known.url)
        if not promised or promised < known.earned:
            return None
        self._take_promises(known.url)
        if known.history is not None and known.history.cell >= 0:
            self.plans.earned += promised
        return msgspec.structs.replace(known, earned=known.earned + promised)

    # ---- a page is leased, finished or dropped -----------------------------------------------------------

    def to_share(self, known: UrlRecord, host: Host) -> int:
        """What a page may share among those it links to when it is fetched."""
        even = importance.grant(self.recrawl_plan.even_share, host.pages, host.in_links)
        return known.credit + self.promised(known.url) + even

    def spend(self, before: UrlRecord, after: UrlRecord) -> UrlRecord:
        """A page's outcome is final: its links have got what it had, and Lambda, which paid them, gets it back."""
        earned = before.earned + before.credit + self._take_promises(before.url)
        importance.finished(self.plans.treasury, before.credit)
        return msgspec.structs.replace(after, credit=0, earned=earned)

    def give_back(self, known: UrlRecord) -> UrlRecord:
        """A page will not be asked for: what it held goes to Lambda."""
        importance.finished(self.plans.treasury, known.credit)
        return msgspec.structs.replace(known, credit=0)

    # ---- what it says ------------------------------------------------------------------------------------

    def importance(self, known: UrlRecord) -> float:
        """What links make of a page, in [0, 1]: by its rank where it has one, else by its credit to the power of two:
        pages of about the same credit have the same."""
        ranked = self.ranks.page(known.url) if self.ranks is not None else None
        if ranked is not None:
            return ranked
        return importance.importance(1 << (known.credit or known.earned).bit_length(), self.minted)

    def authority(self, host: Host) -> float:
        """What other sites make of a host, in [0, 1]."""
        ranked = self.ranks.host(host.name) if self.ranks is not None else None
        return importance.importance(host.earned, self.minted) if ranked is None else ranked

    def has_earned_its_pages(self, host: Host) -> bool:
        """Whether a host that nobody asked for may have more pages, for what other sites make of those it has."""
        return importance.has_earned_its_pages(host.earned, host.pages, self.minted, self.recrawl_plan.known)

    def weight(self, known: UrlRecord, *, is_last: bool) -> float:
        """What a page is worth to come back to, as a multiple of the mean."""
        if is_last:
            return importance.LAST
        ranked = self.ranks.pages.rank(known.url) if self.ranks is not None else None
        if self.ranks is not None and ranked is not None:
            return importance.bounded(ranked * len(self.ranks.pages))
        return importance.weight(known.earned, self.recrawl_plan.mean_earned or self.plans.mean_earned)


def share_out(lease: Lease, links: list[Link], own: int) -> tuple[int, list[int]]:
    """What each of so many links of a page to its own origin is worth, and each of these: those to other sites more
    than those within the site."""
    origin, site = origin_of(lease.url) + "/", site_of(lease.host)
    crosses = [not link.url.startswith(origin) and site_of(host_of(link.url)) != site for link in links]
    within = importance.part_of(lease.credit, own + len(links), sum(crosses))
    return within, importance.worths(lease.credit, crosses, own)
