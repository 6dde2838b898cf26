"""The memory of pages in flight: bounded by bytes, whatever is on its way, and held up by nobody."""

from __future__ import annotations

import mmap
from random import Random

import pytest

from gossamer.bounds.page_memory import FIRST_GUESS_BYTES, SLOW_S, PageMemory, size_of
from gossamer.clock import VirtualClock
from gossamer.records import Body, Exchange, Failed, Fetched, Link, Page, Reason

KIB, MIB = 1 << 10, 1 << 20


def fetched(body: Body) -> Fetched:
    return Fetched(Exchange(b"", b"", 200, "127.0.0.1", 0.0, 1.0, 1.0), body)


def come(memory: PageMemory, name: bytes, body: bytes) -> None:
    memory.answered(name, fetched(body))
    memory.read(name, Page("http://a.test/"))


def test_what_is_asked_for_before_the_first_page_came_is_guessed() -> None:
    memory = PageMemory(64 * MIB, VirtualClock())
    assert memory.room(512) == 64 * MIB // FIRST_GUESS_BYTES
    memory.leased(b"1")
    assert memory.room(512) == 64 * MIB // FIRST_GUESS_BYTES - 1
    assert memory.next_at() is not None
    assert memory.room(100) == 100 and memory.next_at() is None  # there is room


def test_with_small_pages_the_number_of_requests_is_the_bound() -> None:
    memory = PageMemory(64 * MIB, VirtualClock())
    for number in range(200):
        come(memory, b"%d" % number, b"x" * 20_000)
        memory.ended(b"%d" % number)
    assert memory.held_bytes == 0 and memory.room(2000) == 2000


def test_what_is_held_and_what_is_on_its_way_stay_within_the_bound() -> None:
    memory, chance = PageMemory(10 * MIB, VirtualClock()), Random(1)
    out: list[bytes] = []
    held: list[bytes] = []
    most, number = 0, 0
    for _ in range(2000):
        for _ in range(memory.room(512)):
            memory.leased(name := b"%d" % (number := number + 1))
            out.append(name)
        if out:
            come(memory, name := out.pop(0), b"x" * chance.randrange(200 * KIB))
            held.append(name)
        most = max(most, memory.held_bytes)
        if not out or chance.random() < 0.01:  # a commit
            for name in held:
                memory.ended(name)
            held.clear()
    assert 8 * MIB < most < 12 * MIB  # what is on its way may be larger than the mean
    assert number > 1000


def test_a_little_room_is_none_until_there_is_more_of_it() -> None:
    memory = PageMemory(100 * FIRST_GUESS_BYTES, VirtualClock())
    for number in range(95):
        memory.leased(b"%d" % number)
    assert memory.room(5) == 5 and memory.room(6) == 0  # five of a hundred
    memory.ended(b"0")
    memory.ended(b"1")
    assert memory.room(512) == 7


def test_a_page_that_is_larger_than_the_bound_comes_by_itself() -> None:
    memory = PageMemory(MIB, VirtualClock())
    for number in range(100):
        assert memory.room(512) >= 1
        memory.leased(b"%d" % number)
        come(memory, b"%d" % number, b"x" * 3 * MIB)
        assert memory.room(512) == 0 and memory.next_at() is None
        memory.ended(b"%d" % number)
    assert memory.room(512) == 1


def test_slow_answers_hold_up_nobody() -> None:
    clock = VirtualClock()
    memory = PageMemory(2 * FIRST_GUESS_BYTES, clock)
    memory.leased(b"1")
    clock.advance(SLOW_S / 2)
    memory.leased(b"2")
    assert memory.room(512) == 0 and memory.next_at() == pytest.approx(clock.now() + SLOW_S / 2)
    clock.advance(SLOW_S / 2)
    assert memory.room(512) == 1
    come(memory, b"1", b"x" * MIB)  # it counts when it comes
    assert memory.room(512) == 0 and memory.next_at() == pytest.approx(clock.now() + SLOW_S / 2)


def test_what_failed_or_lies_in_a_file_holds_nothing_and_what_was_made_of_it_does() -> None:
    memory = PageMemory(MIB, VirtualClock())
    memory.leased(b"1")
    memory.answered(b"1", Failed(Reason.CONNECT))
    memory.answered(b"2", fetched(mmap.mmap(-1, 4 * MIB)))
    assert memory.held_bytes == 0
    page = Page("http://a.test/", text="\u4e00" * 1000, main_text="x" * 1000, links=[Link("http://a.test/1")])
    memory.read(b"2", page)
    assert memory.held_bytes == memory.of(b"2") == size_of(page) > 3000
    memory.ended(b"2")
    memory.ended(b"2")
    assert memory.held_bytes == memory.of(b"2") == 0
