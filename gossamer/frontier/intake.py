"""The intake: what becomes of a link that arrives. Seen before? Let in through the link filter? New, or a refusal to
be lifted?

The order is by cost: the cache of hot URLs answers from the text alone, the link filter decides without a look at the
disk, the filter knows most new URLs for new, and only then is the store asked.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import KW_ONLY, dataclass
from itertools import compress

import msgspec

from gossamer.frontier.change import Change
from gossamer.frontier.disk.partition_reader import PartitionReader
from gossamer.frontier.disk.seen import Seen
from gossamer.frontier.disk.tables import (
    Meta,
    depth_of,
    entry_of,
    host_key,
    is_position,
    is_short,
    octave_of,
    url_hash,
)
from gossamer.frontier.front import Front
from gossamer.frontier.leases import Leases
from gossamer.frontier.patterns import Patterns
from gossamer.frontier.revisits import Revisits
from gossamer.frontier.rules.limits import BY_LINK_FILTER
from gossamer.frontier.rules.policy import Policies
from gossamer.interfaces import BATCH_MAX, Filter, Planner
from gossamer.outlinks import OwnLinks, batches
from gossamer.records import SITEMAP, Host, Link, Reason, State, Url, UrlRecord
from gossamer.url.site import clock_name, host_of, site_of

# Refusals that another time or another way may lift: such a URL is let in when it is found again and may come.
LIFTED = BY_LINK_FILTER | {
    Reason.BLOCKED,
    Reason.HOST_BUDGET,
    Reason.SITE_BUDGET,
    Reason.QUEUE_FULL,
    Reason.HOST_DOWN,
    Reason.CRAWL_DELAY_TOO_LONG,
    Reason.TRAP_PATTERN,
    Reason.TRAP_HOST,
}
# Refusals by the link filter that are recorded, and not only counted: the URL may be let in later, and `why` has to
# know.
RECORDED = frozenset({Reason.MAX_DEPTH, Reason.TRAP_PATTERN})
ADD_AT_ONCE = BATCH_MAX // 2  # links: a new one is an entry among the URLs and one in a queue
TRAPPED_MAX = 10_000  # URLs of a host that are recorded so; a trap has links without end
# What an operator overrules who trusts a host. They are the last thing that the link filter looks at.
TRAPS = frozenset(
    {
        Reason.TRAP_PATH_DEPTH,
        Reason.TRAP_REPEATED_PATH,
        Reason.TRAP_PARAMETERS,
        Reason.TRAP_CALENDAR,
        Reason.TRAP_PATTERN,
        Reason.TRAP_HOST,
    }
)


@dataclass(frozen=True, slots=True)
class Target:
    """Where links of a batch lead."""

    host: str
    key: bytes
    _: KW_ONLY
    has_spent: bool  # its patterns may be used up


@dataclass(slots=True)
class Candidate:
    """A link whose URL has to be looked up."""

    key: bytes
    link: Link
    host: str
    reason: Reason | None  # speaks against it
    promised: int  # credit, by this link and others before it; 0: not counted yet


class Intake:
    def __init__(
        self,
        link_filter: Filter,
        seen: Seen,
        reader: PartitionReader,
        leases: Leases,
        front: Front,
        patterns: Patterns,
        meta: Meta,
        revisits: Revisits,
        planner: Planner | None,
        queue_max: int,
    ) -> None:
        """`queue_max`: URLs that the partition may have queued."""
        self._link_filter = link_filter
        self._seen = seen
        self._reader = reader
        self._leases = leases
        self._front = front
        self._patterns = patterns
        self._meta = meta
        self._totals = meta.totals
        self._revisits = revisits
        self._planner = planner
        self._queue_max = queue_max
        self._credit = planner.credit if planner is not None else None
        self._source: Url = ""
        self._source_site = ""
        self._led: Url = ""  # the last page that led to a new one of its own host

    def add(self, change: Change, links: Iterable[Link | OwnLinks], position: int | None, *, sync: bool) -> int:
        """How many URLs are new. `position`: of the link log, behind them; kept in the same batch as the last."""
        new, rest = 0, batches(links, ADD_AT_ONCE)
        some = next(rest, [])
        while some or position is not None:
            new += self._admit(change, some)
            some = next(rest, [])
            if not some and position is not None:
                self._meta.log_position, position = position, None
                change.is_dirty = True
            change.write(sync=sync)
            change.shed(self._queue_max, sync=sync)
        return new

    def _admit(self, change: Change, links: Iterable[Link | OwnLinks]) -> int:
        """How many of the links brought something new. The store is asked once for all of them."""
        candidates = self._candidates(change, links)
        may_know = self._seen.may_know([each.key for each in candidates])
        found = self._reader.stored_among([each.key for each in compress(candidates, may_know)])
        wanted = [each for each in candidates if self._is_wanted(each, found.get(each.key))]
        records = self._reader.read_many({each.key: found[each.key] for each in wanted if each.key in found})
        new = 0
        for each in wanted:
            new += self._decide(change, each, found.get(each.key), records.get(each.key))
        return new

    def _candidates(self, change: Change, links: Iterable[Link | OwnLinks]) -> list[Candidate]:
        """Those that may bring something new, as far as memory and the link filter know: a few of those of a page."""
        candidates: list[Candidate] = []
        targets: dict[str, Target] = {}
        origin, target = "?", Target("", b"", has_spent=False)
        for link in links:
            if not link.url.startswith(origin):  # most links lead to where the one before led
                url = link.url
                origin = url[: url.index("/", url.index("//") + 2) + 1]
                target = targets.get(origin) or targets.setdefault(origin, self._target(url))
            if isinstance(link, OwnLinks):
                for number, promised in self._news_among(link):
                    self._consider(change, link.link(number), target, promised, candidates)
                continue
            source, worth = link.source, link.worth
            if source is not None and not link.chain and not source.startswith(origin):
                self._count_in_link(change, source, target, worth)
            bits = self._seen.hot(link.url, link.depth) if link.lastmod is None else None
            promised = 0
            if bits is not None:
                promised = self._credit.promise(link.url, worth) if self._credit is not None and worth else 0
                if promised.bit_length() <= bits:
                    continue
            self._consider(change, link, target, promised, candidates)
        return candidates

    def _news_among(self, own: OwnLinks) -> list[tuple[int, int]]:
        """Those that memory does not answer, by their number, each with the credit that it is promised by now."""
        known = self._seen.hot_among(own.urls, own.depth)
        news = [(number, 0) for number, bits in enumerate(known) if bits is None]
        if self._credit is None or not own.worth:
            return news
        hot = [(number, bits) for number, bits in enumerate(known) if bits is not None]
        promises = self._credit.promise_each([own.urls[number] for number, _ in hot], own.worth)
        news += [
            (number, promised) for (number, bits), promised in zip(hot, promises, strict=True) if promised >> bits
        ]
        return sorted(news)

    def _consider(
        self, change: Change, link: Link, target: Target, promised: int, candidates: list[Candidate]
    ) -> None:
        """A link that memory does not answer. `promised`: it was let in before, and is worth a look by now."""
        url, reason = link.url, None
        if promised:
            self._seen.expect(url, promised.bit_length())  # the next ones of this batch
        else:
            reason = self._link_filter(link)
        if reason in TRAPS and is_trusted(self._front.policies, target.host):
            reason = None
        elif reason is None and target.has_spent and link.depth and self._patterns.refusal(target.key, url):
            reason = Reason.TRAP_PATTERN
        if reason is not None and reason not in RECORDED:
            self._turn_away(change, reason)
            return
        if reason is None and link.max_depth is None and not promised:  # else another link may allow more
            self._seen.warm_up(url, link.depth)
        candidates.append(Candidate(target.key + url_hash(url), link, target.host, reason, promised))

    def _target(self, url: Url) -> Target:
        host = host_of(url)
        key = host_key(host)
        return Target(host, key, has_spent=self._has_spent(key))

    def _is_wanted(self, each: Candidate, stored: bytes | None) -> bool:
        """False: it is queued, this way to it is no shorter, and it is worth about as much as before."""
        if stored is None:
            return True
        link = each.link
        if self._credit is not None and link.worth and not each.promised:
            each.promised = self._credit.promise(link.url, link.worth)
        if not is_position(stored) or link.depth < depth_of(stored) or each.promised.bit_length() > octave_of(stored):
            return True
        self._seen.expect(link.url, octave_of(stored))
        return False

    def _decide(self, change: Change, each: Candidate, stored: bytes | None, before: UrlRecord | None) -> bool:
        """Whether it brought something new. `before`: what was known of its URL before this batch."""
        key, link, planner = each.key, each.link, self._planner
        known = change.known.get(key) or before
        if planner is not None and link.worth and not each.promised and known is not None:
            each.promised = planner.credit.promise(link.url, link.worth)
        is_new = self._take(change, key, link, each.host, each.reason, known)
        if planner is None:
            return is_new
        if known is not None and (each.promised or link.lastmod is not None):
            entry = entry_of(key, stored) if stored is not None and is_position(stored) else None
            self._reconsider(change, planner, key, change.known.get(key) or known, link.lastmod, each.host, entry)
        if (now := change.known.get(key) or known) is not None:
            self._seen.expect(link.url, planner.credit.bits_without_effect(now))
        return is_new

    def _take(
        self, change: Change, key: bytes, link: Link, host: str, reason: Reason | None, known: UrlRecord | None
    ) -> bool:
        """Whether the link brought something new, now that all is known of its URL; `reason` speaks against it."""
        if known is not None and (known.reason not in LIFTED or known.state is not State.REFUSED or reason):
            if (link.depth < known.depth or known.max_depth is not None) and (
                (known.state in (State.QUEUED, State.WAITING) or known.reason is Reason.MAX_DEPTH)
                and (nearer := with_shorter_path(known, link)) is not known
            ):
                change.renew(key, nearer)
            return False
        if reason is Reason.TRAP_PATTERN and change.host(key, host).trapped >= TRAPPED_MAX:
            self._turn_away(change, reason)
            return False
        fresh = UrlRecord(
            url=link.url,
            state=State.QUEUED,
            depth=link.depth,
            chain=link.chain,
            source=link.source,
            found_at=change.now,
            context=round(link.context * 100),
            is_sitemap=link.rel == SITEMAP,
            credit=self._start(link),
        )
        if link.max_depth is not None or link.priority is not None:
            fresh = msgspec.structs.replace(fresh, max_depth=link.max_depth, priority=link.priority)
        if known is None:
            change.meet(key)
        else:
            change.uncount(known)
            fresh = queued_again(known, fresh)
        if reason is Reason.TRAP_PATTERN:
            change.host(key, host).trapped += 1
            change.refuse(key, fresh, reason, self._patterns.refusal(key[:8], link.url) or "")
        elif reason is not None:
            change.refuse(key, fresh, reason)
        else:
            change.enqueue(key, fresh, host)
            if known is None and link.source is not None and link.source != self._led:
                self._count_leading(change, key, host, link.source)
        return known is None or reason is None

    def _start(self, link: Link) -> int:
        """What a new page starts with."""
        if self._credit is None:
            return 0
        return self._credit.for_seed() if link.source is None else self._credit.for_new_page(link.worth)

    def _reconsider(
        self,
        change: Change,
        planner: Planner,
        key: bytes,
        known: UrlRecord,
        lastmod: str | None,
        host: str,
        entry: bytes | None,
    ) -> None:
        """A page that is known was linked to once more, or its sitemap says when it changed.

        `entry`: where it stood in its queue when this began."""
        if known.state is State.QUEUED:
            may_rise = is_short(known) and key not in self._leases
            if may_rise and (richer := planner.credit.pay_promises(known)) is not None:
                change.raise_up(key, richer, host, entry)
            return
        if known.state is not State.DONE:
            return
        if (richer := planner.credit.count_promises(known)) is not None:
            known = richer
            change.put_url_record(key, known)
        if lastmod is not None and known.due_at is not None:
            dated = planner.dates.apply_lastmod(known, change.host(key, host), lastmod, change.now)
            if dated is not None and dated.due_at is not None:
                self._revisits.remove(change.batch, known.due_at, key)
                self._revisits.put(change.batch, dated.due_at, key)
                change.put_url_record(key, dated)

    def _has_spent(self, key: bytes) -> bool:
        """Looked at for hosts being crawled now: a trap's links come from itself. Others are told at their turn."""
        back = self._front.active.get(key)
        if back is None or not self._patterns.has_spent(key, back.host):
            return False
        return not self._front.policies.of(back.host).trusted

    def _count_leading(self, change: Change, key: bytes, host: str, source: Url) -> None:
        """A page led to a URL of its own host that was not known: a site that ends has most pages that do not."""
        if host_of(source) == host:
            self._led = source  # the links of a page come one after the other
            change.host(key, host).led += 1

    def _turn_away(self, change: Change, reason: Reason) -> None:
        self._totals.turned_away[reason] = self._totals.turned_away.get(reason, 0) + 1
        change.is_dirty = True

    def _count_in_link(self, change: Change, source: Url, target: Target, worth: int) -> None:
        """A link from another site is evidence for the host, whether its URL is new or not."""
        if source != self._source:  # the links of a page come one after the other
            self._source, self._source_site = source, site_of(host_of(source))
        if site_of(target.host) != self._source_site and self._front.host(target.key) is not None:
            linked = change.host(target.key, target.host)
            linked.in_links += 1
            linked.earned += worth


def queued_again(known: UrlRecord, fresh: UrlRecord) -> UrlRecord:
    """A URL that was refused and may come now; what an earlier visit left of it is kept."""
    if known.history is None:
        return fresh
    depth, credit = min(known.depth, fresh.depth), fresh.credit
    return msgspec.structs.replace(
        known, state=State.QUEUED, reason=None, detail="", depth=depth, credit=credit, attempts=0
    )


def with_shorter_path(known: UrlRecord, link: Link) -> UrlRecord:
    """What is known of a URL after one more way to it: the nearest, and as far onwards as any of them allows."""
    depth, reach = min(link.depth, known.depth), None
    if known.max_depth is not None and link.max_depth is not None:
        reach = depth + max(known.max_depth - known.depth, link.max_depth - link.depth)
    if (depth, reach) == (known.depth, known.max_depth):
        return known
    source = link.source if link.depth < known.depth else known.source  # so that `why` shows the way of this length
    return msgspec.structs.replace(known, depth=depth, max_depth=reach, source=source)


def is_trusted(policies: Policies, host: str) -> bool:
    """Whether the operator says that there are no traps on a host."""
    return bool(policies) and policies.of(Host(name=clock_name(host), site=site_of(host))).trusted
