"""A partition carries out each instruction once, and its store remembers that for the next owner."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from gossamer.clock import RealClock
from gossamer.cluster.partitions import partition_of
from gossamer.frontier.disk.store import RocksStore
from gossamer.frontier.disk.tables import TABLES
from gossamer.frontier.frontier import Frontier
from gossamer.messages.control_messages import ReleaseUrl, Retry
from gossamer.messages.worker_messages import Instruct
from gossamer.records import Reason, State
from gossamer.settings import FrontierSettings, PolitenessSettings
from gossamer.worker.instructions import carry_out
from tests.commands.test_steering import die_processing
from tests.frontier.stories import failed, finish, link

URL = "http://127.0.0.1:4/"
NUMBER = partition_of(URL, 8)


@contextmanager
def opened(folder: Path) -> Iterator[Frontier]:
    with closing(RocksStore(folder / "partitions" / f"{NUMBER:03d}", TABLES)) as store:
        yield Frontier.open(
            store, store.folder, RealClock(), lambda link: None, FrontierSettings(), PolitenessSettings()
        )


def state_in(frontier: Frontier) -> State:
    known = frontier.state(URL)
    assert known is not None
    return known.state


async def test_a_url_is_released_once_and_the_next_owner_knows_it(folder: Path) -> None:
    (folder / "partitions").mkdir()
    die_processing(folder, URL, times=3)
    release = Instruct(NUMBER, 7, ReleaseUrl(URL))
    with opened(folder) as frontier:
        assert state_in(frontier) is State.QUARANTINED
        assert await carry_out(lambda: None, release) is None  # it is somebody else's
        assert await carry_out(lambda: frontier, release) == 1
        assert state_in(frontier) is State.QUEUED
    with opened(folder) as frontier:
        assert frontier.instructed == [(7, 1)]
        assert await carry_out(lambda: frontier, release) == 0  # told twice
        assert await carry_out(lambda: frontier, Instruct(NUMBER, 9, ReleaseUrl(URL))) == 0  # not in there any more
        assert await carry_out(lambda: frontier, Instruct(NUMBER, 12, None)) == 0
        assert await carry_out(lambda: frontier, Instruct(NUMBER, 15, Retry())) == 0
    with opened(folder) as frontier:
        assert frontier.instructed == [(7, 1), (9, 0), (12, 0), (15, 0)]


async def test_several_hosts_of_a_site_come_back_by_one_instruction_and_no_others(folder: Path) -> None:
    (folder / "partitions").mkdir()
    names = [f"{name}.example.com" for name in "abc"]
    with opened(folder) as frontier:
        frontier.add([link(f"http://{name}/") for name in names])
        for lease in frontier.lease(3):
            finish(frontier, lease, failed(RealClock(), Reason.GONE, 410))
        retry = Retry(names[0], Reason.GONE, (names[2],))
        assert await carry_out(lambda: frontier, Instruct(NUMBER, 7, retry)) == 2
        states = [frontier.state(f"http://{name}/") for name in names]
        assert [known and known.state for known in states] == [State.QUEUED, State.FAILED, State.QUEUED]
        assert frontier.instructed == [(7, 2)]
