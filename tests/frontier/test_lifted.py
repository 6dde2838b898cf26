"""Refused URLs that come back: in bounded steps, whatever is cut off, and judged by what holds now."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest

from gossamer.clock import VirtualClock
from gossamer.frontier import lifted
from gossamer.frontier.disk.store import RocksStore
from gossamer.frontier.disk.tables import TABLES
from gossamer.frontier.frontier import Frontier
from gossamer.frontier.rules.limits import in_force, raised
from gossamer.frontier.rules.policy import Policies, Policy
from gossamer.records import Link, Reason, State
from gossamer.settings import CrawlSettings, FrontierSettings, PolitenessSettings, TrapsSettings, Tree
from gossamer.url.link_filter import LinkFilter

SEED = "http://a.test/"
NO_POLICIES = Policies()
Open = Callable[..., Frontier]


@pytest.fixture
def reopened(folder: Path, clock: VirtualClock) -> Iterator[Open]:
    stores: list[RocksStore] = []

    def open_again(
        policies: Policies = NO_POLICIES, limits: FrontierSettings | None = None, **crawl: object
    ) -> Frontier:
        """As after `kill -9`: nobody closes the one before."""
        if stores:
            stores.pop().close()
        stores.append(RocksStore(folder / "partition", TABLES))
        tree = Tree(crawl=CrawlSettings(**crawl), frontier=limits or FrontierSettings())  # type: ignore[arg-type]
        settings = tree.crawl
        link_filter = LinkFilter(
            [SEED],
            scope="any",
            exclude=settings.exclude,
            max_depth=settings.max_depth,
            traps=TrapsSettings(),
            clock=clock,
        )
        frontier = Frontier.open(
            stores[0],
            stores[0].folder,
            clock,
            link_filter,
            tree.frontier,
            PolitenessSettings(delay_s=0),
            tree.traps,
            link_filter.is_home,
            in_force=in_force(tree),
        )
        frontier.apply_policies(policies)
        return frontier

    yield open_again
    stores.pop().close()


def found(count: int, depth: int = 2, host: str = "a.test", start: int = 0) -> list[Link]:
    return [Link(f"http://{host}/p{number}", source=SEED, depth=depth) for number in range(start, start + count)]


def walk(frontier: Frontier) -> int:
    """In how many steps it is done."""
    steps = 0
    while not frontier.lifted.is_done:
        frontier.ready()
        steps += 1
    return steps


def test_a_raised_depth_brings_back_what_is_within_it_and_says_so(reopened: Open) -> None:
    frontier = reopened(max_depth=1)
    frontier.add([*found(10, depth=2), *found(10, depth=4, start=10)])
    assert frontier.totals.reasons == {Reason.MAX_DEPTH: 20}
    frontier = reopened(max_depth=3)
    assert not frontier.is_empty and frontier.next_at() is not None
    assert frontier.lifted.open == {"max_depth 1 -> 3": 20}
    walk(frontier)
    assert (frontier.totals.queued, frontier.totals.reasons) == (10, {Reason.MAX_DEPTH: 10})
    assert [(each.key, each.why, each.back) for each in frontier.returned()] == [
        ("crawl.max_depth", "max_depth 1 -> 3", 10)
    ]
    assert frontier.returned() == []


def test_nothing_is_looked_through_where_nothing_was_raised_or_refused(reopened: Open) -> None:
    reopened(max_depth=3).add(found(10, depth=4))
    assert reopened(max_depth=3).lifted.is_done
    assert reopened(max_depth=2).lifted.is_done
    frontier = reopened(max_depth=2, exclude=["/x"])
    assert frontier.lifted.is_done  # stricter
    frontier = reopened(max_depth=2)
    assert not frontier.lifted.is_done and walk(frontier) == 1  # nobody was refused for a pattern: not one is read
    assert frontier.totals.queued == 0


def test_what_was_refused_while_a_limit_was_lowered_comes_back_too(reopened: Open) -> None:
    frontier = reopened(max_depth=5)
    frontier.add(found(5, depth=6))
    frontier = reopened(max_depth=1)
    frontier.add(found(5, depth=3))  # known, and nearer than before
    frontier.add(found(5, depth=3, start=5))
    frontier = reopened(max_depth=5)
    walk(frontier)
    assert (frontier.totals.queued, frontier.totals.refused) == (10, 0)
    state = frontier.state("http://a.test/p0")
    assert state is not None and (state.state, state.depth) == (State.QUEUED, 3)


def test_who_is_refused_for_another_reason_now_says_that_one(reopened: Open) -> None:
    reopened(max_depth=1).add(found(4))
    frontier = reopened(max_depth=2, exclude=["/p1$"])
    walk(frontier)
    excluded = frontier.state("http://a.test/p1")
    assert excluded is not None and (excluded.state, excluded.reason) == (State.REFUSED, Reason.EXCLUDED)
    assert frontier.totals.reasons == {Reason.EXCLUDED: 1} and frontier.totals.queued == 3
    frontier = reopened(max_depth=2)
    walk(frontier)
    assert (frontier.totals.queued, frontier.totals.refused) == (4, 0)


def test_a_walk_that_is_cut_off_goes_on_where_it_was(reopened: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lifted, "BACK_AT_ONCE", 3)
    reopened(max_depth=1).add(found(20))
    frontier = reopened(max_depth=2)
    for _ in range(3):
        frontier.ready()
    assert frontier.totals.queued == 9
    frontier = reopened(max_depth=2)  # and nothing was raised since
    assert frontier.totals.queued == 9 and not frontier.lifted.is_done
    assert walk(frontier) <= 5
    assert (frontier.totals.queued, frontier.totals.refused) == (20, 0)
    assert [each.back for each in frontier.returned()] == [20]
    assert reopened(max_depth=2).lifted.is_done


def test_a_second_raise_in_the_middle_begins_anew(reopened: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lifted, "BACK_AT_ONCE", 3)
    reopened(max_depth=1).add([*found(10, depth=2), *found(10, depth=3, start=10)])
    reopened(max_depth=2).ready()
    frontier = reopened(max_depth=3)
    walk(frontier)
    assert (frontier.totals.queued, frontier.totals.refused) == (20, 0)


@pytest.mark.parametrize("is_site", [False, True])
def test_a_policy_brings_back_what_its_hosts_have_and_nothing_else(reopened: Open, is_site: bool) -> None:
    hosts = ["a.test", "www.a.test", "b.test"]
    blocked = Policy(blocked=True)
    everything = Policies(hosts=dict.fromkeys(hosts, blocked))
    if is_site:
        everything = Policies(sites={"a.test": blocked, "b.test": blocked})
    frontier = reopened(everything)
    for host in hosts:
        frontier.add(found(10, host=host))
    assert frontier.lease(10) == [] and frontier.totals.reasons == {Reason.BLOCKED: 30}
    only = {name: each for name, each in (everything.sites or everything.hosts).items() if name != "a.test"}
    frontier.apply_policies(Policies(sites=only) if is_site else Policies(hosts=only))
    walk(frontier)
    assert frontier.totals.queued == (20 if is_site else 10)
    [ended] = frontier.returned()
    assert (ended.why, ended.back) == (f"{'site' if is_site else 'host'} a.test unblocked", frontier.totals.queued)


def test_a_store_that_has_noted_no_limits_is_looked_through_once(reopened: Open) -> None:
    frontier = reopened(max_depth=1)
    frontier.add(found(10))
    store = frontier._parts.store
    batch = store.batch()
    batch.delete("meta", b"limits")  # as an earlier version left it
    store.write(batch, sync=True)
    frontier = reopened(max_depth=2)
    walk(frontier)
    assert (frontier.totals.queued, frontier.returned()) == (10, [])
    assert reopened(max_depth=2).lifted.is_done


def test_a_raised_queue_keeps_to_its_bound(reopened: Open) -> None:
    small, large = FrontierSettings(queue_max=10), FrontierSettings(queue_max=25)
    frontier = reopened(limits=small)
    frontier.add(found(100))
    assert (frontier.totals.queued, frontier.totals.refused) == (10, 90)
    frontier = reopened(limits=large)
    walk(frontier)
    assert (frontier.totals.queued, frontier.totals.refused) == (25, 75)


def test_a_store_with_many_refused_is_looked_through_in_bounded_steps(reopened: Open) -> None:
    """200,000 of them, and half are too far away still. Each step is one look of the event loop."""
    frontier = reopened(max_depth=1)
    for number in range(20):
        frontier.add(found(10_000, depth=2 + number % 2, host=f"h{number}.test"), sync=False)
    assert frontier.totals.refused == 200_000
    frontier = reopened(max_depth=2)
    took_s: list[float] = []
    while not frontier.lifted.is_done:
        began = time.perf_counter()
        frontier._parts.lifted.bring_back(change := frontier._parts.change())
        assert change.size == 0, "all of it is written"
        took_s.append(time.perf_counter() - began)
    print(f"{len(took_s)} steps in {sum(took_s):.1f} s, half of them within {1000 * sorted(took_s)[400]:.1f} ms")
    assert len(took_s) >= 200_000 / lifted.BACK_AT_ONCE
    assert (frontier.totals.queued, frontier.totals.refused) == (100_000, 100_000)


def test_what_is_more_generous() -> None:
    before = in_force(Tree())
    for key, now, expected in [
        ("crawl.max_depth", 3, False),
        ("crawl.scope", "site", True),
        ("crawl.include", ["/docs"], False),
        ("crawl.exclude", ["/docs"], False),
        ("crawl.allow_private", True, True),
        ("fetch.schemes", ["http", "https", "ftp"], True),
        ("traps.path_depth_max", 20, True),
        ("frontier.host_pages_max", 5, False),
    ]:
        after = before | {key: now}
        assert raised(before, after) == ([key] if expected else []), key  # type: ignore[arg-type]
        assert raised(after, before) == ([] if expected else [key]), key  # type: ignore[arg-type]
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(before)) == before
