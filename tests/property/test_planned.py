"""Two partitions with their planners through any story: credit is conserved, and every page is where its record says.

Links are sent before their page is finished, crashes come in between, plans are late or told twice. After every
step all credit there is equals all that was minted; the census counts the pages as their histories do; what is
queued, and what waits for its next visit, is where the records and the counters say.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as some

from gossamer.clock import VirtualClock
from gossamer.frontier.disk.partition_reader import PartitionReader
from gossamer.frontier.disk.tables import decode_meta, due_key, key_in, url_key
from gossamer.frontier.frontier import Frontier
from gossamer.frontier.rules.policy import Policies, Policy
from gossamer.records import Claim, Exchange, Failed, Fetched, Lease, Link, Outcome, Page, Reason, State, UrlRecord
from gossamer.schedule.credit import share_out
from gossamer.schedule.importance import total
from gossamer.schedule.planner import Planner
from gossamer.schedule.plans import Plans
from gossamer.schedule.recrawl_plan import RecrawlPlan, make_plan
from gossamer.settings import FrontierSettings, PolitenessSettings, ProcessSettings, ScheduleSettings
from tests.property.memory_store import MemoryStore

HOUR_S = 3600.0
HOSTS = ("a.test", "b.test", "c.test", "d.test")
LIMITS = FrontierSettings(retries_s=(60.0,), host_queue_max=6, active_hosts_max=2)
SCHEDULE = ScheduleSettings(shortest_s=HOUR_S, visits_a_day=50, interval_share_min=0.001)


def link_filter(link: Link) -> Reason | None:
    return Reason.MAX_DEPTH if link.depth > 4 else None


@dataclass
class Part:
    number: int
    store: MemoryStore
    folder: Path
    clock: VirtualClock
    recrawl_plan: RecrawlPlan = field(default_factory=RecrawlPlan)

    def open(self) -> None:
        """Also what is left of it after a crash."""
        self.planner = Planner(SCHEDULE, ProcessSettings(), self.recrawl_plan)
        self.frontier = Frontier.open(
            self.store,
            self.folder,
            self.clock,
            link_filter,
            LIMITS,
            PolitenessSettings(),
            planner=self.planner,
            revisit_share=0.3,
        )

    def records(self) -> dict[bytes, UrlRecord]:
        return dict(PartitionReader(self.store).all_url_records())

    def planner_state(self) -> Plans:
        stored = self.store.get("meta", b"plans")
        return msgspec.msgpack.decode(stored, type=Plans) if stored is not None else Plans()


class Story:
    def __init__(self, folder: Path) -> None:
        self.clock = VirtualClock(start=1_700_000_000.0)
        self.parts = [Part(number, MemoryStore(), folder, self.clock) for number in range(2)]
        for part in self.parts:
            part.open()
        self.texts: Counter[str] = Counter()  # how often a page has changed
        self.send([Link("http://a.test/"), Link("http://b.test/")])

    def part_of(self, url: str) -> Part:
        return self.parts[HOSTS.index(url.split("/")[2]) % 2]

    def send(self, links: list[Link]) -> None:
        for part in self.parts:
            part.frontier.add([link for link in links if self.part_of(link.url) is part])

    def fetch(self, number: int, targets: list[int], how: str) -> None:
        part = self.parts[number]
        for lease in part.frontier.lease(1):
            outcome = self.answer(lease, targets, how)
            if how == "crash at once":
                part.open()
                return
            part.frontier.answered(lease, outcome.result)
            links = outcome.page.links if outcome.page else []
            _, worths = share_out(lease, links, 0)
            self.send([msgspec.structs.replace(link, worth=worth) for link, worth in zip(links, worths, strict=True)])
            if how == "crash before finish":
                part.open()
                return
            part.frontier.finish([outcome], [None])

    def answer(self, lease: Lease, targets: list[int], how: str) -> Outcome:
        now = self.clock.now()
        if how == "gone":
            return Outcome(lease, Failed(Reason.GONE, exchange(now, 404)))
        if how == "silence":
            return Outcome(lease, Failed(Reason.TIMEOUT, ended_at=now))
        if how == "changed":
            self.texts[lease.url] += 1
        text = f"{lease.url} {self.texts[lease.url]}"
        links = [
            Link(
                f"http://{HOSTS[target % len(HOSTS)]}/{target}",
                source=lease.url,
                depth=lease.link.depth + 1,
                lastmod="2030-01-01" if how == "changed" else None,
            )
            for target in targets
        ]
        page = Page(lease.url, "text/html", text=text, links=links)
        claim = Claim(f"{hash(text) & 0xFFFFFFFF:064x}", lease.url, now)
        return Outcome(lease, Fetched(exchange(now, 200), text.encode()), page, claim=claim)

    def settle(self, late: bool) -> None:
        """A round of the supervisor; late: what it says is of the round before."""
        statistics = {
            part.number: part.planner.statistics(part.frontier.totals.known, part.frontier.overdue())
            for part in self.parts
        }
        for part in self.parts:
            before, part.recrawl_plan = (
                part.recrawl_plan,
                make_plan(part.recrawl_plan, statistics, 1.0, 10.0, SCHEDULE),
            )
            part.planner.apply_plan(before if late else part.recrawl_plan, part.number)
            part.frontier.save_plans()

    def block(self, blocked: bool) -> None:
        for part in self.parts:
            part.frontier.apply_policies(Policies(hosts={"c.test": Policy(blocked=blocked)}))

    # ---- what must be true ---------------------------------------------------------------------------------

    def check(self) -> None:
        treasuries = {part.number: part.planner._plans.treasury for part in self.parts}  # as memory has them
        held = [known.credit for part in self.parts for known in part.records().values()]
        assert total(treasuries, held) == sum(each.minted for each in treasuries.values())
        for part in self.parts:
            self.check_places(part)

    def check_places(self, part: Part) -> None:
        tables, records = part.store.tables, part.records()
        queued = {key: known for key, known in records.items() if known.state is State.QUEUED}
        entries = [key_in(entry, value) for entry, value in tables["queue"].items()]
        assert sorted(entries) == sorted(queued)
        totals = decode_meta(tables["meta"][b"meta"]).totals if b"meta" in tables["meta"] else part.frontier.totals
        assert totals.queued == len(queued)
        assert totals.revisits == sum(known.history is not None for known in queued.values())
        to_come = {
            due_key(known.due_at, key)
            for key, known in records.items()
            if known.due_at is not None and (known.history is not None or known.state is not State.WAITING)
        }
        assert set(tables["again"]) == to_come
        assert totals.again == len(to_come)
        histories = [known.history for known in records.values() if known.history is not None]
        census = Counter(history.cell for history in histories if history.cell >= 0)
        assert dict(census) == part.planner_state().census
        counted = [known for known in records.values() if known.history is not None and known.history.cell >= 0]
        assert sum(known.earned for known in counted) == part.planner_state().earned


def exchange(now: float, status: int) -> Exchange:
    return Exchange(b"", f"HTTP/1.1 {status} X\r\n\r\n".encode(), status, "192.0.2.1", now, now, 0.0)


parts = some.integers(0, 1)
outcomes = some.sampled_from(
    ["page", "page", "page", "changed", "changed", "gone", "silence", "crash at once", "crash before finish"]
)
steps: some.SearchStrategy[Callable[[Story], None]] = some.one_of(
    some.builds(
        lambda number, targets, how: lambda story: story.fetch(number, targets, how),
        parts,
        some.lists(some.integers(0, 30), max_size=8),
        outcomes,
    ),
    some.builds(
        lambda seconds: lambda story: story.clock.advance(seconds), some.sampled_from([1.0, 70.0, HOUR_S, 86_400.0])
    ),
    some.builds(lambda late: lambda story: story.settle(late), some.booleans()),
    some.builds(lambda number: lambda story: story.parts[number].open(), parts),
    some.builds(lambda blocked: lambda story: story.block(blocked), some.booleans()),
    some.builds(lambda page: lambda story: story.send([Link(f"http://d.test/{page}")]), some.integers(0, 5)),
)


@settings(max_examples=60, deadline=None)
@given(story=some.lists(steps, min_size=10, max_size=80))
def test_credit_is_conserved_and_every_page_is_where_its_record_says(story: list[Callable[[Story], None]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        told = Story(Path(folder))
        for step in story:
            step(told)
            told.check()


def test_what_a_partition_gave_to_another_is_not_forgotten_in_a_crash() -> None:
    with tempfile.TemporaryDirectory() as folder:
        story = Story(Path(folder))
        story.send([Link(f"http://d.test/{page}") for page in range(5)])
        for _ in range(4):
            story.settle(late=False)
            story.parts[1].open()  # the rich one
            story.check()
        assert story.parts[0].planner.statistics(0, 0).cash > 2 * story.parts[0].planner.statistics(0, 0).minted


def test_a_page_comes_again_and_again_through_crashes() -> None:
    with tempfile.TemporaryDirectory() as folder:
        story = Story(Path(folder))
        for day in range(30):
            for how in ("changed", "crash before finish", "page", "page"):
                story.fetch(0, [4, 8], how)
                story.fetch(1, [5, 9], how)
                story.clock.advance(HOUR_S)
                story.check()
            story.settle(late=day % 3 == 0)
        known = story.parts[0].frontier.state("http://a.test/")
        assert known is not None and known.history is not None and known.history.visits >= 5
        assert url_key(known.url) in story.parts[0].records()
