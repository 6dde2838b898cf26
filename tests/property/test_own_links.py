"""Links of a page to its own origin that come together lead to the very state that they lead to one by one.

Two frontiers are told the same story: pages are leased, link to one another, and are finished; one hears of every
link by itself, the other as the native reader tells links apart. After each step all their tables are equal.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as some

from gossamer.clock import VirtualClock
from gossamer.outlinks import OWN_MAX, OwnLinks, batches, links_of, one_by_one
from gossamer.records import Claim, Fetched, Lease, Link, Outcome, Page
from gossamer.schedule.credit import share_out
from gossamer.url.site import origin_of
from tests.property.memory_store import MemoryStore
from tests.property.pages_apart import PageApart
from tests.property.test_planned import Part, exchange

HOSTS = ("a.test", "a.test", "a.test", "b.test", "a.test:8080")


def outcome_of(lease: Lease, targets: list[int], rel: str, now: float) -> Outcome:
    links = {f"http://{HOSTS[target % len(HOSTS)]}/{target}": target for target in targets}
    # Others first, as they are added: which of two links of one host comes first shows in its queue.
    home = origin_of(lease.url) + "/"
    ordered = sorted(links.items(), key=lambda link: link[0].startswith(home))
    found = [Link(url, rel=rel if target % 7 == 0 else "", context=target % 10 / 10) for url, target in ordered]
    claim = Claim(f"{abs(hash(lease.url)):064x}", lease.url, now)
    return Outcome(lease, Fetched(exchange(now, 200), b"page"), PageApart(lease.url, links=found), claim=claim)


visits = some.tuples(
    some.lists(some.integers(0, 60), max_size=30, unique=True), some.sampled_from(["", "nofollow", "ugc"])
)


@settings(max_examples=100, deadline=None)
@given(story=some.lists(visits, min_size=1, max_size=25))
def test_own_links_lead_to_the_state_that_each_by_itself_leads_to(story: list[tuple[list[int], str]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        clocks = [VirtualClock(start=1_700_000_000.0, seed=1) for _ in range(2)]  # each draws as the other
        parts = [Part(0, MemoryStore(), Path(folder) / f"{number}", clock) for number, clock in enumerate(clocks)]
        for part in parts:
            part.open()
            part.frontier.add([Link("http://a.test/"), Link("http://b.test/")])
        for targets, rel in story:
            for clock in clocks:
                clock.advance(2.0)
            leases = [part.frontier.lease(1) for part in parts]
            assert [lease.url for lease in leases[0]] == [lease.url for lease in leases[1]]
            for part, [lease] in zip(parts, leases, strict=True) if leases[0] else ():
                outcome = outcome_of(lease, targets, rel, part.clock.now())
                part.frontier.answered(lease, outcome.result)
                part.frontier.add(links_of(outcome, share_out, whole=part is parts[0]))
                part.frontier.finish([outcome], [None])
            whole, apart = parts
            assert whole.records() == apart.records()
            for table in whole.store.tables:
                assert whole.store.tables[table] == apart.store.tables[table], table


def some_lease() -> Lease:
    return Lease(Link("http://a.test/", depth=2, max_depth=5), "a.test", 0.0, credit=1_000_000)


def test_they_carry_all_that_the_frontier_wants_to_know() -> None:
    outcome = outcome_of(some_lease(), list(range(20)), "nofollow", 0.0)
    whole = links_of(outcome, share_out, whole=True)
    apart = links_of(outcome, share_out)
    assert any(isinstance(each, OwnLinks) for each in apart)
    assert sorted(one_by_one(apart), key=str) == sorted(one_by_one(whole), key=str)


def test_a_page_with_many_of_them_is_not_added_in_one_go() -> None:
    links = [Link(f"http://a.test/{number}") for number in range(5 * OWN_MAX)]
    outcome = Outcome(some_lease(), Fetched(exchange(0.0, 200), b""), PageApart("http://a.test/", links=links))
    apart = links_of(outcome)
    assert [len(one_by_one(batch)) for batch in batches(apart, 2 * OWN_MAX)] == [2 * OWN_MAX, 2 * OWN_MAX, OWN_MAX]
    assert len(list(batches(iter(one_by_one(apart)), 300))) == 4


def test_a_page_whose_reader_tells_nothing_apart_has_its_links_one_by_one() -> None:
    page = Page("http://a.test/", links=[Link("http://a.test/1"), Link("http://b.test/2")])
    outcome = Outcome(some_lease(), Fetched(exchange(0.0, 200), b""), page)
    assert [type(each) for each in links_of(outcome)] == [Link, Link]
