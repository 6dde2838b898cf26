"""Thirty days of a crawl with nothing left but visits again: they are made where they gain something.

What decides is real: the frontier on RocksDB, its planner, and the recrawl plan that is made anew every hour. Pages
are texts that change at their own pace; the judge is a log of requests on the virtual clock.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path

import msgspec

from gossamer.clock import VirtualClock
from gossamer.frontier.disk.store import RocksStore
from gossamer.frontier.disk.tables import TABLES
from gossamer.frontier.frontier import Frontier
from gossamer.process.fingerprints.shingles import words_in
from gossamer.process.fingerprints.sketch import sketch_of
from gossamer.records import Claim, Exchange, Fetched, Lease, Link, Outcome, Page, Url, Verdict
from gossamer.schedule.credit import share_out
from gossamer.schedule.planner import Planner
from gossamer.schedule.recrawl_plan import RecrawlPlan, make_plan
from gossamer.settings import FrontierSettings, PolitenessSettings, ProcessSettings, ScheduleSettings

HOUR_S, DAY_S = 3600.0, 86_400.0
FIRST = "http://site.test/"


@dataclass
class Site:
    """Every page links to every other one. `changes_s`: how long each text stays as it is; without, for ever."""

    changes_s: dict[Url, float | None]
    copies: dict[Url, Url] = field(default_factory=dict)  # of which page
    alike: str = ""  # pages whose URL holds this say all the same

    def text(self, url: Url, now: float) -> str:
        original = self.copies.get(url, url)
        period_s = self.changes_s[url]
        edition = int(now // period_s) if period_s else 0
        name = self.alike if self.alike and self.alike in url else original
        return f"this is {name} in words of its own, edition {'abcdefghij'[edition % 10]}{'ab' * (edition % 7)}"

    def outcome(self, lease: Lease, now: float) -> Outcome:
        text = self.text(lease.url, now)
        digest = sha256(text.encode()).hexdigest()
        links = [Link(url, source=lease.url, depth=1) for url in self.changes_s]
        verdict = Verdict("same", of=self.copies[lease.url], at=now) if lease.url in self.copies else Verdict()
        if digest == lease.content_hash:
            verdict = Verdict("unchanged", lease.url)
        exchange = Exchange(b"GET", b"HTTP/1.1 200 OK\r\n\r\n", 200, "192.0.2.1", now, now + 0.1, 0.1)
        page = Page(lease.url, "text/html", text=text, links=links, sketch=sketch_of(words_in(text)))
        return Outcome(lease, Fetched(exchange, text.encode()), page, verdict, Claim(digest, lease.url, now))


class Month:
    """A crawl of one partition, and the log of its requests."""

    def __init__(self, folder: Path, site: Site, schedule: ScheduleSettings) -> None:
        self.clock = VirtualClock(seed=1)
        self.site = site
        self.schedule = schedule
        self.planner = Planner(schedule, ProcessSettings(), RecrawlPlan())
        self.store = RocksStore(folder / "partition", TABLES)
        self.frontier = Frontier.open(
            self.store,
            self.store.folder,
            self.clock,
            lambda link: None,
            FrontierSettings(),
            PolitenessSettings(),
            planner=self.planner,
            revisit_share=schedule.revisit_share,
        )
        self.log: list[tuple[float, Url]] = []
        self.estimates: list[float] = []  # at each visit again: its interval, as a share of the estimated one

    def live(self, days: float = 30) -> Counter[Url]:
        self.frontier.add([Link(FIRST)])
        recrawl_plan, requests, end = RecrawlPlan(), 0, self.clock.now() + days * DAY_S
        while self.clock.now() < end:
            before = self.clock.now()
            for moment in self._until(before + HOUR_S):
                self.clock.advance(max(0.001, moment - self.clock.now()))
            each = self.planner.statistics(self.frontier.totals.known, self.frontier.overdue())
            passed_s, fetched = self.clock.now() - before, len(self.log) - requests
            recrawl_plan = make_plan(recrawl_plan, {0: each}, fetched / passed_s, passed_s, self.schedule)
            self.planner.apply_plan(recrawl_plan, 0)
            requests = len(self.log)
        self.store.close()
        return Counter(url for _, url in self.log)

    def _until(self, end: float) -> Iterator[float]:
        """Fetch all that there is; the moments to wait for."""
        while self.clock.now() < end:
            for lease in self.frontier.lease(8):
                self._fetch(lease)
            next_at = self.frontier.next_at()
            yield min(end, next_at if next_at is not None else end)

    def _fetch(self, lease: Lease) -> None:
        now = self.clock.now()
        known, host = self.frontier.state(lease.url), self.frontier.host(lease.host)
        if known is not None and known.history is not None and host is not None:
            every_s = self.planner.dates.explained(known, host)["changes_every_s"]
            self.estimates.append((now - known.history.visited_at) / every_s)
        self.log.append((now, lease.url))
        outcome = self.site.outcome(lease, now)
        self.frontier.answered(lease, outcome.result)
        assert outcome.page is not None
        links = outcome.page.links
        worths = zip(links, share_out(lease, links, 0)[1], strict=True)
        self.frontier.add([msgspec.structs.replace(link, worth=worth) for link, worth in worths], sync=False)
        self.frontier.finish([outcome], [None])


def pages(number: int, period_s: float | None, name: str = "") -> dict[Url, float | None]:
    return {f"{FIRST}{name}{word(n)}": period_s for n in range(number)}


def word(n: int) -> str:
    """No number in it: pages of a site of their own, and not of one pattern."""
    return "".join("abcdefghij"[int(digit)] for digit in str(n)) + "/" if n else ""


def test_a_page_that_never_changes_is_visited_at_most_ten_times_in_a_month(folder: Path) -> None:
    month = Month(folder, Site(pages(20, None)), ScheduleSettings())
    visits = month.live()
    assert len(visits) == 20
    assert max(visits.values()) <= 10, visits
    assert min(visits.values()) >= 3, visits  # and it is not forgotten
    # The host's pages have taught that they change more rarely since the visit was planned.
    assert min(month.estimates) > 0.05


def test_a_page_that_changes_daily_is_visited_often_and_quiet_ones_beside_it_are_not(folder: Path) -> None:
    month = Month(folder, Site(pages(5, None) | pages(5, DAY_S, "news/")), ScheduleSettings())
    visits = month.live(20)
    news = [count for url, count in visits.items() if "/news/" in url]
    quiet = [count for url, count in visits.items() if "/news/" not in url]
    assert min(news) >= 40, visits  # several times a day, once it is known
    assert max(quiet) <= 10, visits


def test_copies_and_pages_that_look_like_a_trap_are_visited_after_all_others(folder: Path) -> None:
    originals, mirror = pages(20, DAY_S), pages(20, DAY_S, "mirror/")
    calendar: dict[Url, float | None] = {f"{FIRST}calendar?day={n}": DAY_S for n in range(60)}
    copies = dict(zip(list(mirror)[1:], list(originals)[1:], strict=False))
    site = Site(originals | mirror | calendar, copies, alike="calendar")
    visits = Month(folder, site, ScheduleSettings(visits_a_day=15)).live()
    by_kind: dict[str, list[int]] = {"original": [], "copy": [], "trap": []}
    for url, count in visits.items():
        by_kind["copy" if url in copies else "trap" if "calendar" in url else "original"].append(count)
    assert len(by_kind["copy"]) == 19 and 30 <= len(by_kind["trap"]) < 60
    assert min(by_kind["original"]) >= 5, by_kind
    assert max(by_kind["copy"]) <= 3 and max(by_kind["trap"]) <= 3, by_kind
