"""Weeks of crawling in seconds: nothing is lost, nobody is asked too soon, whatever dies on the way.

A failure prints its seed; `pytest tests/simulation -k 'seed17'` runs that world again, step for step.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from gossamer.clock import VirtualClock
from gossamer.records import Link, State
from gossamer.settings import FrontierSettings, PolitenessSettings
from tests.simulation.driver import drive
from tests.simulation.web import DAY_S, heavy_tailed
from tests.simulation.world import World

POLITENESS = PolitenessSettings(delay_s=30.0)


def live_through(folder: Path, seed: int, *, hosts: int, pages: int, deaths: int) -> None:
    clock = VirtualClock(seed)
    web = heavy_tailed(seed, clock, POLITENESS, hosts, pages)
    world = World(
        folder,
        clock,
        web,
        [Link(web.hosts[name].url(0)) for name in ("h0.test", "h1.test", "h2.test")],
        limits=FrontierSettings(active_hosts_max=max(4, hosts // 4), host_share=20, seen_urls=1000),
        politeness=POLITENESS,
        in_flight_max=8,
        partitions=3,
        deaths_wanted=deaths,
    )
    born_at = clock.now()
    try:
        drive(clock, world.crawl())
        check_the_end(world, (clock.now() - born_at) / DAY_S)
    except Exception as fault:
        fault.add_note(f"seed {seed}, life {world.life}, {clock}")
        raise


def check_the_end(world: World, days: float) -> None:
    """Nobody objected, everything that a stored page links to is known, and it took weeks and deaths to get there."""
    objections = world.web.objections
    assert not objections, f"I2, I3: {len(objections)} objections, the first: {objections[0]}"
    for url in world.saved:
        missing = {link.url for link in world.web.links(url)} - world.accepted
        assert not missing, f"I4: {url} is stored, its links are lost: {missing}"
    assert world.end[State.DONE] >= len(world.saved)
    failed = [url for url in world.accepted - world.saved.keys() if world.web.is_always_there(url)]
    assert not failed, f"I1: {len(failed)} pages could be fetched, and were not: {failed[0]}"
    assert days >= 14 and world.life >= 3, f"only {days:.1f} days and {world.life} lives"


@pytest.mark.parametrize("seed", [1, 2], ids="seed{}".format)
def test_weeks_of_crawling_keep_every_promise(folder: Path, seed: int) -> None:
    live_through(folder, seed, hosts=40, pages=2000, deaths=10)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(100, 112), ids="seed{}".format)
def test_weeks_of_crawling_a_larger_web_with_many_deaths(folder: Path, seed: int) -> None:
    live_through(folder, seed, hosts=100, pages=6000, deaths=60)
