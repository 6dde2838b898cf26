"""Who gets a place: levels, shares, rests, budgets, policies, full queues."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest

from gossamer.clock import VirtualClock
from gossamer.frontier.disk.tables import host_key
from gossamer.frontier.front import REST_S
from gossamer.frontier.frontier import Frontier
from gossamer.frontier.rules.policy import Policies, Policy
from gossamer.frontier.rules.priority import DAY_S, level, order, priority
from gossamer.records import Host, Link, Reason, State
from gossamer.settings import FrontierSettings
from tests.frontier.stories import failed, fetched, finish, link, one_lease, robots_read

WEIGHTS = FrontierSettings()
NOW = 1_700_000_000.0


def drain(frontier: Frontier, clock: VirtualClock, most: int = 10_000) -> list[str]:
    """Fetch everything there is; the hosts in the order they were asked."""
    order: list[str] = []
    while not frontier.is_empty and len(order) < most:
        leases = frontier.lease(100)
        for lease in leases:
            order.append(lease.host)
            finish(frontier, lease, fetched(clock))
        if not leases and not frontier.is_empty:
            moment = frontier.next_at()
            assert moment is not None
            clock.advance(max(0.0, moment - clock.now()))
    return order


# ---- priority --------------------------------------------------------------------------------------------


def test_a_priority_can_be_taken_apart() -> None:
    host = Host("a.test", "a.test", in_links=99)
    parts = priority(host, depth=1, link=100, waited_s=10 * DAY_S)
    assert parts.authority == pytest.approx(0.4, abs=0.01)
    assert (parts.freshness, parts.context) == (1.0, 0.5)
    assert parts.waiting == pytest.approx(0.1)
    assert parts.score == pytest.approx(0.4 * parts.authority + 0.3 + 0.15 + 0.1)


def test_a_rank_orders_as_scores_do_at_any_later_time() -> None:
    seed_later, deep_earlier = order(0, 100, NOW + 20 * DAY_S), order(4, 100, NOW)
    assert seed_later < deep_earlier  # 0.24 points better, and only 0.2 behind by waiting
    assert order(0, 100, NOW + 30 * DAY_S) > deep_earlier


def test_of_two_links_at_the_same_depth_the_one_that_is_worth_more_goes_first(frontier: Frontier) -> None:
    footer, main = Link("http://a.test/footer", source="http://a.test/", depth=1, context=0.2), "http://a.test/main"
    frontier.add([footer, Link(main, source="http://a.test/", depth=1, context=0.9)])
    assert frontier.lease(1)[0].url == main


def test_a_host_with_in_links_stands_at_a_better_level() -> None:
    known, unknown = Host("a.test", "a.test", in_links=10_000), Host("b.test", "b.test")
    best = order(1, 100, NOW)
    assert level(known, best) < level(unknown, best)
    assert level(unknown, best, fixed=1.0) <= level(known, best)


def test_links_from_other_sites_are_counted_and_those_from_the_same_site_are_not(frontier: Frontier) -> None:
    frontier.add([link("http://www.a.test/")])
    sources = ["http://b.test/", "http://c.test/", "http://blog.a.test/", "http://www.a.test/x"]
    frontier.add([Link("http://www.a.test/", source=source, depth=1) for source in sources])
    host = frontier.host("www.a.test")
    assert host is not None and host.in_links == 2


# ---- places ----------------------------------------------------------------------------------------------


def test_better_levels_are_drawn_more_often_and_the_lowest_is_not_forgotten(
    reopen: Callable[..., Frontier], clock: VirtualClock
) -> None:
    frontier = reopen(active_hosts_max=1)
    good = {f"good{n}.test" for n in range(100)}
    poor = {f"poor{n}.test" for n in range(100)}
    frontier.apply_policies(Policies(hosts={name: Policy(priority=1.0) for name in good}))
    frontier.add([link(f"http://{name}/") for name in sorted(good | poor)])
    first = drain(frontier, clock, most=100)
    assert 70 <= len(good & set(first)) <= 95  # 85 expected: one draw in ten, and one in 17 of the others, goes low
    assert set(drain(frontier, clock)) >= poor - set(first)


def test_a_host_gives_way_after_its_share_when_others_wait(
    reopen: Callable[..., Frontier], clock: VirtualClock
) -> None:
    frontier = reopen(active_hosts_max=1, host_share=3)
    frontier.add([link(f"http://big.test/{n}") for n in range(9)] + [link("http://small.test/")])
    order = drain(frontier, clock)
    assert order == ["big.test"] * 3 + ["small.test"] + ["big.test"] * 6


def test_a_host_keeps_its_place_while_nobody_waits(reopen: Callable[..., Frontier], clock: VirtualClock) -> None:
    frontier = reopen(active_hosts_max=1, host_share=3)
    frontier.add([link(f"http://big.test/{n}") for n in range(9)])
    assert drain(frontier, clock) == ["big.test"] * 9


def test_a_host_that_has_to_rest_leaves_its_place_and_comes_back(
    reopen: Callable[..., Frontier], clock: VirtualClock
) -> None:
    frontier = reopen(active_hosts_max=1)
    frontier.add([link("http://tired.test/")])
    lease = one_lease(frontier)
    frontier.add([link("http://fresh.test/")])
    assert frontier.lease(1) == []
    finish(frontier, lease, robots_read(clock, wait_s=REST_S + 1))
    assert one_lease(frontier).host == "fresh.test"
    clock.advance(REST_S + 2)
    assert frontier.lease(1) == []  # fresh.test is still being asked, and has the only place


def test_a_resting_host_survives_a_restart(reopen: Callable[..., Frontier], clock: VirtualClock) -> None:
    frontier = reopen(active_hosts_max=1)
    frontier.add([link("http://tired.test/")])
    lease = one_lease(frontier)
    frontier.add([link("http://fresh.test/")])
    frontier.lease(1)
    finish(frontier, lease, robots_read(clock, wait_s=600))
    frontier = reopen(active_hosts_max=1)
    assert drain(frontier, clock) == ["fresh.test", "tired.test"]


# ---- budgets and full queues -----------------------------------------------------------------------------


def test_a_hosts_budget_of_pages_is_kept_and_the_rest_refused(
    reopen: Callable[..., Frontier], clock: VirtualClock
) -> None:
    frontier = reopen(host_pages_max=3)
    frontier.add([link(f"http://a.test/{n}") for n in range(10)] + [link("http://b.test/")])
    assert Counter(drain(frontier, clock)) == {"a.test": 3, "b.test": 1}
    assert frontier.totals.reasons == {"host_budget": 7}


def test_the_hosts_of_a_site_share_its_budget(reopen: Callable[..., Frontier], clock: VirtualClock) -> None:
    frontier = reopen(site_pages_max=4)
    frontier.add([link(f"http://h{n % 3}.a.test/{n}") for n in range(12)])
    assert len(drain(frontier, clock)) == 4
    assert frontier.totals.reasons == {"site_budget": 8}


def test_a_failure_does_not_use_up_a_budget(reopen: Callable[..., Frontier], clock: VirtualClock) -> None:
    frontier = reopen(host_pages_max=1)
    frontier.add([link("http://a.test/1"), link("http://a.test/2")])
    finish(frontier, one_lease(frontier), failed(clock, Reason.GONE, 404))
    clock.advance(1)
    finish(frontier, one_lease(frontier), fetched(clock))
    assert frontier.is_empty


def test_a_full_queue_drops_its_least_and_says_so(reopen: Callable[..., Frontier]) -> None:
    frontier = reopen(host_queue_max=3)
    frontier.add([link(f"http://a.test/deep{n}", depth=4) for n in range(3)])
    frontier.add([link("http://a.test/deeper", depth=5)])
    frontier.add([link("http://a.test/near", depth=1)])
    assert frontier.totals.queued == 3
    assert frontier.totals.reasons == {"queue_full": 2}
    states = {name: frontier.state(f"http://a.test/{name}") for name in ("deeper", "near", "deep2")}
    assert {name: known.state for name, known in states.items() if known} == {
        "deeper": State.REFUSED,
        "near": State.QUEUED,
        "deep2": State.REFUSED,
    }
    assert one_lease(frontier).url == "http://a.test/near"


def test_a_full_queue_keeps_the_better_urls_of_one_batch_whatever_their_order(
    reopen: Callable[..., Frontier], clock: VirtualClock
) -> None:
    """Room for 50: of 100 links of the navigation, then 40 of the main text, all of the latter are kept."""
    frontier = reopen(host_queue_max=50)
    navigation = [Link(f"http://a.test/nav/{n}", source="http://a.test/", depth=1, context=0.1) for n in range(100)]
    main = [Link(f"http://a.test/main/{n}", source="http://a.test/", depth=1, context=0.9) for n in range(40)]
    frontier.add([*navigation, *main])
    states = {each.url: known.state for each in [*navigation, *main] if (known := frontier.state(each.url))}
    assert Counter(states.values()) == {State.QUEUED: 50, State.REFUSED: 90}
    assert {states[each.url] for each in main} == {State.QUEUED}
    assert frontier.totals.queued == 50 and frontier.totals.reasons == {"queue_full": 90}
    frontier = reopen(host_queue_max=50)  # what is on disk gives way to a batch as well, one after the other
    frontier.add([link(f"http://a.test/seed/{n}") for n in range(5)] + [link("http://b.test/")])
    kept = [known.url for known in frontier._parts.reader.queued(host_key("a.test"))]
    assert (
        len(kept) == 50 and sum("/seed/" in url for url in kept) == 5 and sum("/main/" in url for url in kept) == 40
    )
    assert len(drain(frontier, clock)) == 51


def test_a_full_crawl_keeps_the_better_urls_of_all_hosts(
    reopen: Callable[..., Frontier], clock: VirtualClock
) -> None:
    frontier = reopen(queue_max=100)
    frontier.add([link(f"http://deep.test/{n}", depth=5 if n % 2 else 4) for n in range(80)])
    frontier.add([link(f"http://good.test/{n}") for n in range(60)])
    assert frontier.totals.queued == 100 and frontier.totals.reasons == {"queue_full": 40}
    dropped = [n for n in range(80) if (known := frontier.state(f"http://deep.test/{n}")) and known.reason]
    assert dropped == [n for n in range(80) if n % 2], "the worst of the worse host"
    known = frontier.state("http://deep.test/1")
    assert known is not None and known.state is State.REFUSED and "frontier.queue_max" in known.detail
    frontier.add([link(f"http://deep.test/more/{n}", depth=5) for n in range(30)])
    assert frontier.totals.queued == 100
    assert Counter(drain(frontier, clock)) == {"good.test": 60, "deep.test": 40}


def states(frontier: Frontier, host: str) -> Counter[State]:
    found = [frontier.state(f"http://{host}/{n}") for n in range(100)]
    return Counter(known.state for known in found if known is not None)


def test_a_full_crawl_drops_the_urls_of_a_host_that_is_away_before_those_of_one_that_answers(
    reopen: Callable[..., Frontier], clock: VirtualClock
) -> None:
    limits = {"queue_max": 100, "host_failures_max": 6}
    frontier = reopen(**limits)
    frontier.add([link(f"http://away.test/{n}") for n in range(100)])
    while (host := frontier.host("away.test")) is None or not host.is_resting:
        for lease in frontier.lease(1):
            finish(frontier, lease, failed(clock, Reason.CONNECT))
        clock.advance(max(0.0, (frontier.next_at() or 0.0) - clock.now()))
    frontier = reopen(**limits)
    frontier.add([link(f"http://good.test/{n}") for n in range(60)])
    assert states(frontier, "good.test") == {State.QUEUED: 60}
    assert frontier.totals.queued == 100 and frontier.totals.reasons == {"queue_full": 54}
    assert frontier.levels == dict.fromkeys(frontier.levels, 1), "only one of them wants a slot"
    kept = states(frontier, "away.test")[State.QUEUED]
    host = frontier.host("away.test")
    assert host is not None and host.queued == kept == 40 and host.resting == frontier.totals.resting == 40
    frontier.add([link(f"http://away.test/new/{n}", depth=1) for n in range(30)])
    assert frontier.totals.queued == 100 and host.queued == 40
    drain(frontier, clock)
    clock.advance(2 * 3600)
    assert "away.test" in drain(frontier, clock), "its rest is over"
    while frontier.next_at() is not None:
        clock.advance(max(0.0, (frontier.next_at() or 0.0) - clock.now()))
        drain(frontier, clock)
    assert frontier.levels == {} and states(frontier, "away.test")[State.DONE] == 46


def test_a_full_crawl_drops_worse_urls_before_those_of_a_host_that_has_to_wait(
    reopen: Callable[..., Frontier], clock: VirtualClock
) -> None:
    frontier = reopen(queue_max=100, active_hosts_max=1)
    frontier.add([link(f"http://slow.test/{n}") for n in range(41)])
    finish(frontier, one_lease(frontier), robots_read(clock, wait_s=2 * REST_S))
    frontier.add([link(f"http://deep.test/{n}", depth=5) for n in range(60)])
    assert one_lease(frontier).host == "deep.test", "the other one has left its slot"
    frontier.add([link(f"http://good.test/{n}") for n in range(20)])
    assert states(frontier, "slow.test") == {State.QUEUED: 41} and states(frontier, "good.test") == {State.QUEUED: 20}
    assert states(frontier, "deep.test")[State.REFUSED] == 21


def test_what_was_dropped_is_let_in_when_it_is_found_again_and_there_is_room(
    reopen: Callable[..., Frontier], clock: VirtualClock
) -> None:
    frontier = reopen(host_queue_max=1)
    frontier.add([link("http://a.test/1"), link("http://a.test/2")])
    frontier = reopen(host_queue_max=1)
    drain(frontier, clock)
    assert frontier.add([link("http://a.test/2")]) == 1
    assert frontier.totals.reasons == {}


# ---- policies --------------------------------------------------------------------------------------------


def test_a_paused_host_waits_and_goes_on(frontier: Frontier, clock: VirtualClock) -> None:
    frontier.add([link("http://a.test/1")])
    frontier.apply_policies(Policies(hosts={"a.test": Policy(paused=True)}))
    assert frontier.lease(1) == []
    clock.advance(3600)
    assert frontier.lease(1) == []
    frontier.apply_policies(Policies())
    clock.advance(1)
    assert one_lease(frontier).host == "a.test"


def test_a_blocked_site_is_refused_with_its_reason(frontier: Frontier) -> None:
    frontier.add([link(f"http://www.a.test/{n}") for n in range(5)])
    frontier.apply_policies(Policies(sites={"a.test": Policy(blocked=True)}))
    assert frontier.lease(1) == []
    assert frontier.is_empty
    assert frontier.totals.reasons == {"blocked": 5}


def test_a_policys_delay_holds_and_crawl_delay_still_counts(frontier: Frontier, clock: VirtualClock) -> None:
    frontier.apply_policies(Policies(hosts={"a.test": Policy(delay_s=0.25)}))
    frontier.add([link(f"http://a.test/{n}") for n in range(3)])
    finish(frontier, one_lease(frontier), fetched(clock))
    host = frontier.host("a.test")
    assert host is not None and (host.delay_s, host.delay_reason) == (0.25, Reason.POLICY)
    clock.advance(0.25)
    finish(frontier, one_lease(frontier), robots_read(clock, crawl_delay_s=5.0))
    assert (host.delay_s, host.delay_reason) == (5.0, Reason.CRAWL_DELAY)


def test_a_hosts_policy_goes_before_its_sites() -> None:
    policies = Policies(
        hosts={"www.a.test": Policy(delay_s=1.0)}, sites={"a.test": Policy(delay_s=9.0, priority=0.7)}
    )
    assert policies.of(Host("www.a.test", "a.test")) == Policy(delay_s=1.0, priority=0.7)
    assert policies.of(Host("blog.a.test", "a.test")) == Policy(delay_s=9.0, priority=0.7)
    assert policies.of(Host("b.test", "b.test")) == Policy()
