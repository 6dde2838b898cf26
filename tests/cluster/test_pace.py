"""Limits of the whole crawl: how fast it asks and receives, whoever asks."""

from __future__ import annotations

from random import Random

import pytest

from gossamer.clock import VirtualClock
from gossamer.cluster.pace import HOLD_S_MAX, CrawlPace
from gossamer.records import Reason


def asked(pace: CrawlPace, clock: VirtualClock, requests: int) -> list[float]:
    """When each of many that ask at once may go."""
    return [clock.now() + pause.hold_s for _ in range(requests) if (pause := pace.pause()).wait_s == 0]


def test_those_who_ask_at_once_go_one_after_the_other(clock: VirtualClock) -> None:
    pace = CrawlPace(clock, requests_per_s=10.0)
    moments = asked(pace, clock, 100)
    seconds = [sum(0 <= at - clock.now() - n < 1 for at in moments) for n in range(3)]
    assert 11 <= seconds[0] <= 13 and seconds[1:] == [10, 10], seconds
    pause = next(pause for _ in range(1000) if (pause := pace.pause()).wait_s)
    assert pause.reason is Reason.CRAWL_PACE and 0 < pause.wait_s <= HOLD_S_MAX
    pace.limit(None, None)
    assert pace.pause().hold_s == 0


@pytest.mark.parametrize("mean_bytes", [2_000, 50_000, 400_000])
def test_bytes_are_counted_as_they_come(clock: VirtualClock, mean_bytes: int) -> None:
    """Fifty at a time ask, wait for their moment, and bring more or less than was thought."""
    rate, chance = 1_000_000.0, Random(1)
    pace = CrawlPace(clock, bytes_per_s=rate)
    start, received, surplus = clock.now(), 0, 0
    under_way: list[tuple[float, int]] = []  # when it ends, and what it was charged with
    while clock.now() - start < 120:
        while len(under_way) < 50:
            pace.settle(surplus)
            surplus, pause = 0, pace.pause()
            if pause.wait_s:
                break
            under_way.append((clock.now() + pause.hold_s + 0.1, pause.charged_bytes))
        ended, charged = min(under_way, default=(clock.now() + 1, 0))
        clock.advance(max(0.001, ended - clock.now()))
        if under_way:
            under_way.remove((ended, charged))
            size = int(chance.expovariate(1 / mean_bytes))
            received, surplus = received + size, surplus + size - charged
    assert 0.75 * rate < received / (clock.now() - start) < 1.15 * rate
