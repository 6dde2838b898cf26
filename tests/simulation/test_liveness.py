"""Once all faults are cured, and time passes, everything comes to its end: nothing waits for ever, nothing is lost.

Several partitions in one loop, fewer slots than hosts, and fewer places in memory; hosts that are away for days,
never there, or overloaded, pages that begin to fail, deaths of the process. Pages are visited again all the while.
At the end, for every URL that was ever accepted:

    it was asked for, unless robots.txt forbids it;
    if it waited for another try, it had it: nothing waits any more;
    if there is a page, it is stored, it was visited since the faults were cured, and its next visit is not late.

Only a page that failed by itself at every try, while its host was well, may have been given up.

A failure prints its seed; `pytest tests/simulation -k 'seed17'` runs that world again, step for step.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from gossamer.clock import VirtualClock
from gossamer.records import Link, Reason, State, UrlRecord
from gossamer.settings import FrontierSettings, PolitenessSettings, ScheduleSettings
from tests.simulation.driver import drive
from tests.simulation.web import DAY_S, HOUR_S, troubled
from tests.simulation.world import World

POLITENESS = PolitenessSettings(delay_s=30.0)
SCHEDULE = ScheduleSettings(visits_a_day=60, shortest_s=6 * HOUR_S, longest_s=6 * DAY_S)
FAULTY_DAYS = 8.0
RESTS_S = (2 * HOUR_S, 6 * HOUR_S, DAY_S, 2 * DAY_S)
LATE_S = DAY_S  # a visit may wait for its host and for others that are due


def live_through(folder: Path, seed: int, *, hosts: int, deaths: int, days: float = FAULTY_DAYS) -> None:
    clock = VirtualClock(seed)
    web = troubled(seed, clock, POLITENESS, hosts, days)
    world = World(
        folder,
        clock,
        web,
        [Link(web.hosts[f"h{number}.test"].url(0)) for number in range(0, hosts, 4)],
        limits=FrontierSettings(active_hosts_max=3, host_share=5, seen_urls=1000, rests_s=RESTS_S),
        politeness=POLITENESS,
        in_flight_max=4,
        in_flight_bytes_max=4000,  # of two pages with their links
        partitions=4,
        deaths_wanted=deaths,
        commit_s=300.0,
        schedule=SCHEDULE,
        # After the cure: the longest rest, a visit to every page, and some time to catch up with what is late.
        stop_at=web.cured_at + RESTS_S[-1] + SCHEDULE.longest_s + 3 * DAY_S,
    )
    try:
        drive(clock, world.crawl())
        assert not web.objections, f"I2, I3: {len(web.objections)} objections, the first: {web.objections[0]}"
        complaints = [each for known in world.known.values() for each in unfinished(known, world)]
        assert not complaints, f"{len(complaints)} of {len(world.known)}: " + "\n".join(complaints[:10])
        assert len(world.known) > 5 * hosts
    except Exception as fault:
        fault.add_note(f"seed {seed}, life {world.life}, {clock}")
        raise


def unfinished(known: UrlRecord, world: World) -> list[str]:
    """What has not come to its end of a URL."""
    web, now, url = world.web, world.clock.now(), known.url
    if known.state is State.REFUSED and known.reason is Reason.ROBOTS:
        return []
    complaints = []
    if url not in web.asked_at:
        complaints.append("was never asked for")
    is_again = known.history is not None
    if known.state in (State.WAITING, State.IN_FLIGHT) or (known.state is State.QUEUED and not is_again):
        complaints.append("still waits")
    if known.due_at is not None and known.due_at < now - LATE_S:
        complaints.append(f"its visit is {(now - known.due_at) / DAY_S:.1f} days late")
    if web.is_page(url) and not (known.state is State.FAILED and web.may_fail(url)):
        if known.state not in (State.DONE, State.QUEUED):
            complaints.append(f"there is a page, and it is {known.state} ({known.reason})")
        elif known.state is State.DONE and known.due_at is None:
            complaints.append("will never be visited again")
        if world.saved_at.get(url, 0.0) < web.cured_at:
            complaints.append("was not fetched since all faults are cured")
    return [f"{url} {complaint}: {known}" for complaint in complaints]


@pytest.mark.parametrize("seed", [1, 2], ids="seed{}".format)
def test_once_all_faults_are_cured_everything_comes_to_its_end(folder: Path, seed: int) -> None:
    live_through(folder, seed, hosts=16, deaths=6)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(200, 230), ids="seed{}".format)
def test_in_many_worlds_everything_comes_to_its_end(folder: Path, seed: int) -> None:
    live_through(folder, seed, hosts=32, deaths=30, days=3 * FAULTY_DAYS)
