"""The limit of pages of one process: exact, and held up by nobody."""

from __future__ import annotations

from gossamer.bounds.page_limit import FEW, REPLACED_MAX, SLOW_S, PageLimit
from gossamer.clock import VirtualClock
from gossamer.records import Exchange, Failed, Fetched, Lease, Link, Outcome, Reason


def lease(number: int, content_hash: str = "") -> Lease:
    url = f"http://a.test/{number}"
    return Lease(Link(url), "a.test", 600.0, id=str(number).encode(), content_hash=content_hash)


def page(number: int, content_hash: str = "") -> Outcome:
    exchange = Exchange(b"", b"", 200, "127.0.0.1", 0.0, 1.0, 1.0)
    return Outcome(lease(number, content_hash), Fetched(exchange, b"x"))


def failure(number: int) -> Outcome:
    return Outcome(lease(number), Failed(Reason.CONNECT, None, "", 1.0))


def test_as_many_leases_are_out_as_pages_are_left() -> None:
    limit = PageLimit(10, VirtualClock())
    assert limit.room(512, 0) == 10
    for number in range(10):
        limit.leased(str(number).encode())
    assert (limit.room(512, 10), limit.spare, limit.held) == (0, 0, 10)
    assert limit.take(failure(0))
    assert (limit.room(512, 9), limit.spare, limit.held) == (1, 1, 10)


def test_slow_answers_are_replaced_and_what_is_too_many_is_refused() -> None:
    clock = VirtualClock()
    limit = PageLimit(2, clock)
    limit.leased(b"1")
    limit.leased(b"2")
    assert limit.room(512, 2) == 0 and limit.next_at() == clock.now() + SLOW_S
    clock.advance(SLOW_S + 0.1)
    assert limit.room(512, 2) == 2 and limit.next_at() is None
    limit.leased(b"3")
    limit.leased(b"4")
    assert [limit.take(page(number)) for number in (3, 1, 4)] == [True, True, False]
    assert (limit.left, limit.taken, limit.held) == (0, 2, 2) and not limit.is_used_up
    assert limit.take(page(9, "a visit again")) and limit.take(failure(2))  # neither is a page
    limit.finished([page(3), page(1), page(9, "a visit again"), failure(2)], 2)
    assert limit.is_used_up


def test_leases_in_vain_are_bounded() -> None:
    clock = VirtualClock()
    limit = PageLimit(3, clock)
    out = 0
    for _ in range(100):
        for number in range(room := limit.room(512, out)):
            limit.leased(f"{out + number}".encode())
        out += room
        clock.advance(SLOW_S + 0.1)
    assert out == 3 * (1 + REPLACED_MAX) + FEW


def test_what_is_being_finished_is_still_held_and_comes_back_if_it_is_no_page_after_all() -> None:
    limit = PageLimit(5, VirtualClock())
    outcomes = [page(number) for number in range(3)]
    assert all(map(limit.take, outcomes))
    limit.give_back()  # what is taken is not to be given back
    assert (limit.left, limit.held) == (0, 3)
    limit.put_back(outcomes[2])  # it waits for somebody else's page
    limit.finished(outcomes[:2], 1)
    assert (limit.left, limit.taken) == (2, 0)


def test_without_a_limit_there_is_always_room() -> None:
    limit = PageLimit(None, VirtualClock())
    limit.leased(b"1")
    assert limit.room(512, 10_000) == 512 and limit.take(page(1)) and limit.next_at() is None
    assert (limit.spare, limit.held, limit.is_used_up) == (0, 0, False)


def test_what_is_slow_asks_for_no_other_look() -> None:
    """Else a paused crawl, which never asks for room, would look again and again."""
    clock = VirtualClock()
    limit = PageLimit(2, clock)
    limit.leased(b"1")
    clock.advance(SLOW_S)
    assert limit.next_at() is None
