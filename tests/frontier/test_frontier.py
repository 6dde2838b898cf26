from __future__ import annotations

from collections.abc import Callable

import pytest

from gossamer.clock import VirtualClock
from gossamer.frontier.frontier import Frontier
from gossamer.frontier.rules.steps import TRIES_MAX
from gossamer.records import Claim, Link, Outcome, Page, Place, Reason, Refused, State
from tests.frontier.stories import failed, fetched, finish, link, moved, one_lease, robots_read

A1, A2, B1 = "http://a.test/1", "http://a.test/2", "http://b.test/1"


def state_of(frontier: Frontier, url: str) -> tuple[State, Reason | None]:
    known = frontier.state(url)
    assert known is not None
    return known.state, known.reason


def test_a_url_is_in_one_state_from_its_seed_to_its_page(frontier: Frontier, clock: VirtualClock) -> None:
    assert frontier.state(A1) is None
    frontier.add([link(A1)])
    assert state_of(frontier, A1) == (State.QUEUED, None)
    lease = one_lease(frontier)
    assert state_of(frontier, A1) == (State.IN_FLIGHT, None)
    finish(frontier, lease, fetched(clock))
    assert state_of(frontier, A1) == (State.DONE, None)
    assert frontier.is_empty


def test_a_url_seen_before_changes_nothing(frontier: Frontier, clock: VirtualClock) -> None:
    assert frontier.add([link(A1), link(A1)]) == 1
    finish(frontier, one_lease(frontier), fetched(clock))
    assert frontier.add([link(A1)]) == 0
    assert frontier.lease(10) == []


def test_a_host_is_not_asked_while_it_is_being_asked(frontier: Frontier) -> None:
    frontier.add([link(A1), link(A2), link(B1)])
    assert [lease.host for lease in frontier.lease(10)] == ["a.test", "b.test"]
    assert frontier.lease(10) == []


def test_a_host_is_asked_again_only_after_its_delay(frontier: Frontier, clock: VirtualClock) -> None:
    frontier.add([link(A1), link(A2)])
    finish(frontier, one_lease(frontier), fetched(clock))
    clock.advance(0.999)
    assert frontier.lease(1) == []
    clock.advance(0.001)
    assert one_lease(frontier).url == A2


def test_the_delay_runs_from_the_end_of_the_answer_and_not_from_the_commit(
    frontier: Frontier, clock: VirtualClock
) -> None:
    frontier.add([link(A1), link(A2)])
    lease = one_lease(frontier)
    frontier.answered(lease, fetched(clock))
    clock.advance(1.0)
    assert one_lease(frontier).url == A2  # the first is not finished yet


def test_an_expired_lease_goes_back_to_the_head_of_its_host(frontier: Frontier, clock: VirtualClock) -> None:
    frontier.add([link(A1), link(A2)])
    first = one_lease(frontier)
    clock.advance(601)
    assert frontier.lease(1) == []  # taken back now, and the host gets its delay
    clock.advance(1)
    assert one_lease(frontier).url == first.url


def test_an_outcome_that_comes_after_its_lease_expired_is_ignored(frontier: Frontier, clock: VirtualClock) -> None:
    frontier.add([link(A1)])
    late = one_lease(frontier)
    clock.advance(601)
    frontier.lease(1)
    clock.advance(1)
    second = one_lease(frontier)
    finish(frontier, late, failed(clock, Reason.GONE, 404))
    assert state_of(frontier, A1) == (State.IN_FLIGHT, None)
    finish(frontier, second, fetched(clock))
    assert state_of(frontier, A1) == (State.DONE, None)


def test_what_was_in_flight_at_a_crash_is_queued_again_and_its_host_left_alone(
    reopen: Callable[..., Frontier], clock: VirtualClock
) -> None:
    frontier = reopen()
    frontier.add([link(A1), link(A2)])
    lease = one_lease(frontier)
    frontier = reopen()
    assert state_of(frontier, A1) == (State.QUEUED, None)
    assert frontier.lease(10) == []
    clock.advance(1.0)
    assert one_lease(frontier).url == lease.url


def test_everything_survives_reopening(reopen: Callable[..., Frontier], clock: VirtualClock) -> None:
    frontier = reopen()
    frontier.add([link(A1), link(A2), link(B1)])
    lease_a, lease_b = frontier.lease(2)
    finish(frontier, lease_a, fetched(clock))
    finish(frontier, lease_b, failed(clock, Reason.SERVER_ERROR, 500))
    before = [frontier.state(url) for url in (A1, A2, B1)], frontier.totals
    frontier = reopen()
    assert ([frontier.state(url) for url in (A1, A2, B1)], frontier.totals) == before
    clock.advance(1)
    assert [lease.url for lease in frontier.lease(5)] == [A2]


def test_retry_after_survives_a_restart(reopen: Callable[..., Frontier], clock: VirtualClock) -> None:
    frontier = reopen()
    frontier.add([link(A1), link(A2)])
    finish(frontier, one_lease(frontier), failed(clock, Reason.OVERLOADED, 429, "Retry-After: 60\r\n"))
    frontier = reopen()
    clock.advance(59.9)
    assert frontier.lease(1) == []
    clock.advance(0.1)
    assert one_lease(frontier).url == A2  # and the one that was too much has gone to the end


def test_a_fault_that_time_may_cure_is_tried_three_times_more(frontier: Frontier, clock: VirtualClock) -> None:
    frontier.add([link(A2)])
    finish(frontier, one_lease(frontier), fetched(clock))  # its host is well
    clock.advance(1)
    frontier.add([link(A1)])
    for wait_s in (600, 1800, 7200):
        finish(frontier, one_lease(frontier), failed(clock, Reason.SERVER_ERROR, 500))
        assert state_of(frontier, A1) == (State.WAITING, Reason.SERVER_ERROR)
        clock.advance(wait_s - 1)
        frontier.add([link(f"http://a.test/after{wait_s}")])
        finish(frontier, one_lease(frontier), fetched(clock))  # it is well all the time
        assert frontier.lease(1) == []
        clock.advance(1)
    finish(frontier, one_lease(frontier), failed(clock, Reason.SERVER_ERROR, 500))
    assert state_of(frontier, A1) == (State.FAILED, Reason.SERVER_ERROR)
    assert frontier.is_empty


def test_gone_is_final(frontier: Frontier, clock: VirtualClock) -> None:
    frontier.add([link(A1)])
    finish(frontier, one_lease(frontier), failed(clock, Reason.GONE, 404))
    assert state_of(frontier, A1) == (State.FAILED, Reason.GONE)


def test_an_overloaded_host_is_asked_ever_more_slowly_and_given_up_at_last(
    reopen: Callable[..., Frontier], clock: VirtualClock
) -> None:
    frontier = reopen(rests_s=())
    frontier.add([link(A2)])
    finish(frontier, one_lease(frontier), fetched(clock))
    clock.advance(1)
    frontier.add([link(A1)])
    gaps = []
    for _ in range(TRIES_MAX):
        finish(frontier, one_lease(frontier), failed(clock, Reason.OVERLOADED, 503))
        if frontier.is_empty:
            break
        moment = frontier.next_at()
        assert moment is not None
        gaps.append(moment - clock.now())
        clock.advance(moment - clock.now())
    assert gaps == pytest.approx([2, 4, 8, 16, 32, 64, 128, 256, 512])
    assert state_of(frontier, A1) == (State.FAILED, Reason.OVERLOADED)


def test_a_host_that_recovers_is_asked_faster_again(frontier: Frontier, clock: VirtualClock) -> None:
    frontier.add([link(f"http://a.test/{n}") for n in range(10)])
    for _ in range(3):
        finish(frontier, one_lease(frontier), failed(clock, Reason.OVERLOADED, 503))
        clock.advance(10)
    delays = []
    for _ in range(4):
        finish(frontier, one_lease(frontier), fetched(clock))
        host = frontier.host("a.test")
        assert host is not None
        delays.append(host.delay_s)
        clock.advance(host.delay_s)
    assert delays == pytest.approx([4, 2, 1, 1])


def test_reading_robots_uses_the_hosts_turn_and_leaves_the_url_at_its_head(
    frontier: Frontier, clock: VirtualClock
) -> None:
    frontier.add([link(A1), link(A2)])
    finish(frontier, one_lease(frontier), robots_read(clock, crawl_delay_s=5.0))
    assert state_of(frontier, A1) == (State.QUEUED, None)
    clock.advance(4.9)
    assert frontier.lease(1) == []
    clock.advance(0.1)
    lease = one_lease(frontier)
    assert (lease.url, lease.attempt) == (A1, 1)


def test_a_host_whose_robots_txt_is_unreachable_rests(frontier: Frontier, clock: VirtualClock) -> None:
    frontier.add([link(A1)])
    finish(frontier, one_lease(frontier), robots_read(clock, wait_s=600))
    clock.advance(599)
    assert frontier.lease(1) == []
    clock.advance(1)
    assert one_lease(frontier).url == A1


def test_a_refusal_is_recorded_and_costs_the_host_no_time(frontier: Frontier) -> None:
    frontier.add([link(A1), link(A2)])
    finish(frontier, one_lease(frontier), Refused(Reason.ROBOTS))
    assert state_of(frontier, A1) == (State.REFUSED, Reason.ROBOTS)
    assert one_lease(frontier).url == A2


def test_the_link_filter_rejects_links_and_counts_them(frontier: Frontier) -> None:
    assert frontier.add([link("http://a.test/forbidden"), link(A1)]) == 1
    assert frontier.state("http://a.test/forbidden") is None
    assert frontier.totals.turned_away == {"excluded": 1}


def test_who_led_to_a_url_is_the_page_by_which_it_is_nearest(frontier: Frontier) -> None:
    far, near = Link(A1, depth=3, source="http://a.test/far"), Link(A1, depth=2, source="http://a.test/near")
    frontier.add([far])
    frontier.add([near])
    frontier.add([far])
    known = frontier.state(A1)
    assert known is not None and (known.depth, known.source) == (2, "http://a.test/near")
    assert one_lease(frontier).link.source == "http://a.test/near"


def test_a_url_found_too_deep_is_let_in_when_it_is_found_nearer(frontier: Frontier) -> None:
    frontier.add([link(A1, depth=6)])
    assert state_of(frontier, A1) == (State.REFUSED, Reason.MAX_DEPTH)
    frontier.add([link(A1, depth=6)])
    assert frontier.totals.refused == 1
    frontier.add([link(A1, depth=2)])
    assert state_of(frontier, A1) == (State.QUEUED, None)
    assert frontier.totals.refused == 0
    assert one_lease(frontier).link.depth == 2


def test_a_hosts_urls_come_nearest_first(frontier: Frontier, clock: VirtualClock) -> None:
    frontier.add([link("http://a.test/deep", depth=3), link("http://a.test/near", depth=1)])
    finish(frontier, one_lease(frontier), fetched(clock))
    frontier.add([link("http://a.test/middle", depth=2)])
    order = []
    for _ in range(2):
        clock.advance(1)
        lease = one_lease(frontier)
        order.append(lease.url)
        finish(frontier, lease, fetched(clock))
    assert order == ["http://a.test/middle", "http://a.test/deep"]


def test_a_redirect_is_done_and_says_where_it_leads(frontier: Frontier, clock: VirtualClock) -> None:
    frontier.add([link(A1)])
    finish(frontier, one_lease(frontier), moved(clock, A2))
    known = frontier.state(A1)
    assert known is not None and known.state is State.DONE and known.moved_to == A2


def test_hosts_wait_for_a_place_and_get_it_when_one_is_free(
    reopen: Callable[..., Frontier], clock: VirtualClock
) -> None:
    frontier = reopen(active_hosts_max=2)
    frontier.add([link(f"http://h{n}.test/") for n in range(5)])
    order = []
    while not frontier.is_empty:
        leases = frontier.lease(10)
        assert len(leases) <= 2
        for lease in leases:
            order.append(lease.host)
            finish(frontier, lease, fetched(clock))
    assert order == [f"h{n}.test" for n in range(5)]


def test_thousands_of_links_in_one_call_all_arrive(frontier: Frontier) -> None:
    urls = [f"http://h{n % 700}.test/{n}" for n in range(7000)]
    assert frontier.add([link(url) for url in urls]) == 7000
    assert frontier.totals.queued == 7000
    assert frontier.totals.hosts == 700
    assert len(frontier.lease(1000)) == 700


async def test_a_booked_turn_comes_when_the_host_may_be_asked(frontier: Frontier, clock: VirtualClock) -> None:
    frontier.add([link(A1), link(A2)])
    lease = one_lease(frontier)
    booking = frontier.book("a.test")
    frontier.lease(1)
    assert not booking.done()
    finish(frontier, lease, fetched(clock))
    clock.advance(1)
    assert frontier.lease(1) == []  # the turn is the booking's
    assert booking.done()
    clock.advance(5)
    assert frontier.lease(1) == []  # and it has not ended
    frontier.release("a.test")
    assert frontier.lease(1) == []
    clock.advance(1)
    assert one_lease(frontier).url == A2


async def test_a_turn_can_be_booked_of_a_host_without_work(frontier: Frontier, clock: VirtualClock) -> None:
    booking = frontier.book("new.test")
    frontier.lease(1)
    assert booking.done()
    frontier.release("new.test")
    frontier.add([link("http://new.test/")])
    assert frontier.lease(1) == []
    clock.advance(1)
    assert one_lease(frontier).host == "new.test"


def test_where_content_lies_and_the_end_of_the_archive_are_stored_together(
    reopen: Callable[..., Frontier], clock: VirtualClock
) -> None:
    frontier = reopen()
    frontier.add([link(A1)])
    lease = one_lease(frontier)
    result = fetched(clock)
    frontier.answered(lease, result)
    place, end = Place("000-00000.warc.gz", 10, 20), Place("000-00000.warc.gz", 40, 0)
    frontier.finish([Outcome(lease, result, Page(A1), claim=Claim("ab" * 32, A1, clock.now()))], [place], end)
    frontier = reopen()
    known = frontier.state(A1)
    assert known is not None and known.place == place
    assert frontier.archive_end == end
    assert [claim.url for claim in frontier.claims] == [A1]


def test_claims_as_an_earlier_version_kept_them_stay_until_the_next_finish(
    reopen: Callable[..., Frontier], clock: VirtualClock
) -> None:
    claim = Claim("ab" * 32, A1, clock.now())
    frontier = reopen()
    frontier.add([link(A1), link(A2)])
    frontier._parts.meta.claims = [claim]  # in one value with the counters
    frontier.save_plans()
    frontier = reopen()
    one_lease(frontier)  # another batch
    frontier = reopen()
    assert frontier.claims == [claim]
    clock.advance(60.0)
    lease = one_lease(frontier)
    finish(frontier, lease, fetched(clock))
    assert [each.content_hash for each in reopen().claims] == ["00" * 32]
