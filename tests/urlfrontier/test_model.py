"""The frontier against a naive model, on a clock that is moved, with restarts in between. A failure has a seed."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from gossamer.clock import VirtualClock
from gossamer.settings import FrontierSettings
from gossamer.urlfrontier.frontier import Frontier
from gossamer.urlfrontier.hand_out import NO_BOUND, Wanted
from gossamer.urlfrontier.intake import Put
from gossamer.urlfrontier.urlfrontier_pb2 import URLInfo
from tests.urlfrontier.serving import OK, SKIPPED

START = 1_700_000_000
QUEUES = ["a", "b", "c"]
STEPS = 800


class Naive:
    """What is known of a URL: its queue, its date and its turn, and the end of its lease."""

    def __init__(self) -> None:
        self.urls: dict[str, tuple[str, int, int]] = {}
        self.leases: dict[str, float] = {}
        self.clocks: dict[str, float] = {}
        self.delays: dict[str, int] = {}
        self.limits: dict[str, int] = {}
        self.blocks: dict[str, int] = {}
        self.living: set[str] = set()
        self.turn = 0

    def put(self, url: str, queue: str, date: int | None, now: float) -> int:
        if date is None and url in self.urls:
            return SKIPPED
        self.turn += 1
        self.living.add(queue)
        self.urls[url] = (queue, int(now) if date is None else date, self.turn)
        self.leases.pop(url, None)
        return OK

    def due(self, queue: str, most: int, now: float) -> list[str]:
        if self.blocks.get(queue, 0) > now or now < self.clocks.get(queue, 0) + self.delays.get(queue, 1):
            return []
        own = {url: place for url, place in self.urls.items() if place[0] == queue}
        in_process = sum(url in self.leases for url in own)
        completed = sum(date == 0 for _, date, _ in own.values())
        room = most - in_process
        if limit := self.limits.get(queue):
            room = min(room, limit - in_process - completed)
        waiting = [
            (date, turn, url) for url, (_, date, turn) in own.items() if url not in self.leases and 0 < date <= now
        ]
        return [url for _, _, url in sorted(waiting)[: max(0, room)]]


class Model:
    def __init__(self, folder: Path, chance: Random) -> None:
        self.folder = folder
        self.chance = chance
        self.clock = VirtualClock(start=START)
        self.naive = Naive()
        self.open()

    def open(self) -> None:
        self.frontier = Frontier(self.folder, FrontierSettings(seen_urls=1000), self.clock)

    def step(self) -> None:
        steps = [self.put] * 6 + [self.get] * 8 + [self.wait] * 5 + [self.tell] * 2 + [self.sweep] * 2
        self.chance.choice([*steps, self.delete, self.restart, self.kill])()
        self.check_figures()

    def put(self) -> None:
        now, chance = self.clock.now(), self.chance
        given = []
        for _ in range(chance.randrange(6)):
            date = chance.choice([None, None, 0, int(now) - 50, int(now) - 50, int(now) + 3, int(now) + 40])
            given.append((f"http://x/{chance.randrange(16)}", chance.choice(QUEUES), date))
        expected = [self.naive.put(url, queue, date, now) for url, queue, date in given]
        assert self.frontier.put([Put(URLInfo(url=url, key=queue), date) for url, queue, date in given]) == expected

    def get(self) -> None:
        now, chance = self.clock.now(), self.chance
        key, most = chance.choice(["", "", *QUEUES]), chance.choice([1, 2, NO_BOUND, NO_BOUND])
        wanted = Wanted("DEFAULT" if key else "", key, urls_max=most, lease_s=chance.choice([1, 5, 60]))
        expected = {
            queue: due for queue in QUEUES if key in ("", queue) and (due := self.naive.due(queue, most, now))
        }
        got: dict[str, list[str]] = {}
        for some in self.frontier.get(wanted):
            for info in map(URLInfo.FromString, some):
                got.setdefault(info.key, []).append(info.url)
        assert got == expected
        for queue, urls in got.items():
            self.naive.clocks[queue] = now
            self.naive.leases |= dict.fromkeys(urls, now + wanted.lease_s)

    def tell(self) -> None:
        chance, naive, queue = self.chance, self.naive, self.chance.choice(QUEUES)
        delay_s, limit = chance.choice([0, 1, 7]), chance.choice([0, 0, 1, 3])
        until = chance.choice([0, 0, int(self.clock.now()) + 9])
        self.frontier.tell("DEFAULT", queue, delay_s=delay_s, limit=limit, blocked_until=until)
        if queue in naive.living:
            naive.delays[queue], naive.limits[queue], naive.blocks[queue] = delay_s, limit, until

    def wait(self) -> None:
        self.clock.advance(self.chance.choice([0.5, 1, 1, 3, 10, 70]))
        now = self.clock.now()
        self.naive.leases = {url: end for url, end in self.naive.leases.items() if end > now}

    def delete(self) -> None:
        naive, queue = self.naive, self.chance.choice(QUEUES)
        found = self.frontier.queues.find("", queue)
        own = [url for url, place in naive.urls.items() if place[0] == queue]
        assert (self.frontier.delete([found]) if found else 0) == len(own)
        for url in own:
            del naive.urls[url]
            naive.leases.pop(url, None)
        naive.living.discard(queue)
        for said in (naive.clocks, naive.delays, naive.limits, naive.blocks):
            said.pop(queue, None)

    def sweep(self) -> None:
        self.frontier.sweep()

    def restart(self) -> None:
        self.frontier.close()
        self.open()

    def kill(self) -> None:
        self.frontier.store.close()  # nothing is done at the end: there is no filter
        self.open()

    def check_figures(self) -> None:
        self.frontier.end_leases()
        crawl = self.frontier.queues.crawls.get("DEFAULT")
        dates = [date for _, date, _ in self.naive.urls.values()]
        done = dates.count(0)
        found = (crawl.active, crawl.completed, crawl.in_process) if crawl else (0, 0, 0)
        assert found == (len(dates) - done, done, len(self.naive.leases))


@pytest.mark.parametrize("seed", range(4))
def test_the_frontier_does_what_a_naive_one_does(tmp_path: Path, seed: int) -> None:
    model = Model(tmp_path, Random(seed))
    try:
        for _ in range(STEPS):
            model.step()
    finally:
        model.frontier.close()
