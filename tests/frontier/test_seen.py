"""The seen set: a filter before the exact set, which it may never contradict."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from gossamer.clock import VirtualClock
from gossamer.frontier.disk.seen import mistakes
from gossamer.frontier.disk.tables import url_key
from gossamer.frontier.frontier import Frontier
from gossamer.settings import FrontierSettings
from tests.frontier.stories import link


def urls(count: int, start: int = 0) -> list[str]:
    return [f"http://h{n % 50}.test/{n}" for n in range(start, start + count)]


def is_complete(frontier: Frontier) -> bool:
    return frontier.seen.is_complete


def test_no_new_url_is_skipped_however_bad_the_filter(reopen: Callable[..., Frontier]) -> None:
    frontier = reopen(seen_urls=1000, seen_mistakes=0.1)
    assert frontier.add([link(url) for url in urls(20_000)]) == 20_000
    assert frontier.add([link(url) for url in urls(20_000)]) == 0


def test_the_share_of_mistakes_is_what_the_filter_makes(reopen: Callable[..., Frontier]) -> None:
    settings = FrontierSettings(seen_urls=1000, seen_mistakes=0.1)
    frontier = reopen(seen_urls=1000, seen_mistakes=0.1)
    for known in (500, 1000, 2500):
        frontier.add([link(url) for url in urls(known)])
        tried = 20_000
        wrong = sum(frontier.seen.may_know([url_key(url) for url in urls(tried, start=10_000)]))
        assert wrong / tried == pytest.approx(mistakes(known, settings), rel=0.25)


def test_the_filter_is_there_again_after_a_clean_end(reopen: Callable[..., Frontier]) -> None:
    frontier = reopen()
    frontier.add([link(url) for url in urls(5000)])
    frontier.close()
    frontier = reopen()
    assert frontier.seen.is_complete
    assert frontier.add([link(url) for url in urls(6000)]) == 1000


def test_after_a_crash_the_disk_answers_until_the_filter_is_made_anew(
    reopen: Callable[..., Frontier], clock: VirtualClock
) -> None:
    frontier = reopen()
    frontier.add([link(url) for url in urls(5000)])
    frontier = reopen()
    assert is_complete(frontier) is False
    assert frontier.add([link(url) for url in urls(6000)]) == 1000
    while not is_complete(frontier):
        frontier.lease(1)
        clock.advance(1)
    assert frontier.add([link(url) for url in urls(7000)]) == 1000


def test_a_filter_of_another_state_is_not_believed(reopen: Callable[..., Frontier]) -> None:
    frontier = reopen()
    frontier.add([link(url) for url in urls(100)])
    frontier.close()
    frontier = reopen()  # takes the saved filter away
    frontier.add([link(url) for url in urls(100, start=100)])
    frontier = reopen()  # a crash: there must be no filter from before
    assert not frontier.seen.is_complete
    assert frontier.add([link(url) for url in urls(200)]) == 0


@pytest.mark.parametrize(
    "damage",
    [
        lambda whole: whole[:-1],
        lambda whole: whole + b"\0",
        lambda whole: whole[:32],
        lambda whole: whole[:32] + bytes(len(whole) - 36) + whole[-4:],  # its bits are lost
        lambda whole: b"",
    ],
)
def test_a_filter_that_is_damaged_is_made_anew(
    reopen: Callable[..., Frontier], tmp_path: Path, damage: Callable[[bytes], bytes]
) -> None:
    """It was cut off, an earlier version wrote it, or the disk has lost some of it."""
    frontier = reopen(seen_urls=1000)
    frontier.add([link(url) for url in urls(2500)])
    frontier.close()
    (saved,) = tmp_path.rglob("seen.bloom")
    saved.write_bytes(damage(saved.read_bytes()))
    frontier = reopen(seen_urls=1000)
    assert not frontier.seen.is_complete
    assert frontier.seen.filter_bytes < 2000  # nothing of it was kept
    assert frontier.add([link(url) for url in urls(3000)]) == 500
