"""`python -m gossamer.export.sinks FOLDER`: feed the sinks of a running crawl, as a child of its supervisor.

It reads its settings in the folder. On standard output it tells how each sink stands, a `SinkTold` a line. A line on
standard input says that the crawl has ended (`finish`): it catches up once more, and ends. Where standard input ends
without that, the crawl was killed, and whoever starts it next begins where this left off. On a node of a cluster
other lines say what is ours to feed (`SinksOwned`), until then nothing.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Mapping
from pathlib import Path

import msgspec

from gossamer import config
from gossamer.archive.storage import ArchiveDamaged
from gossamer.clock import Clock, RealClock
from gossamer.export.positions import ExportsFault
from gossamer.export.sinks.feed import Feed, alone, sink_of
from gossamer.export.sinks.part import NodePart
from gossamer.export.sinks.sink import Sink, SinkAway, SinkRefused, wanted
from gossamer.folder import FolderError
from gossamer.frontier.disk.faults import StoreDamaged
from gossamer.messages.control_messages import SinkNow, SinksOwned, SinkTold
from gossamer.records import Place
from gossamer.runtime.event_loop import in_loop

FINISH = b"finish"
LOOK_S = 5.0
LOOKING_SHARE = 20  # of the time at most one part goes into opening stores
WAIT_S, WAIT_S_MAX = 1.0, 60.0  # after the first failure, and after many
FAULTS = (SinkAway, SinkRefused, ExportsFault, FolderError, StoreDamaged, ArchiveDamaged, OSError)


class Follower:
    """Keeps one sink up to date."""

    def __init__(self, feed: Feed, clock: Clock) -> None:
        self._feed = feed
        self._clock = clock
        self._wake = asyncio.Event()
        self._is_ending = False
        self._is_stale = False  # what is known of how far it came

    def end(self) -> None:
        """The crawl has ended: catch up with it once more."""
        self._is_ending = True
        self._wake.set()

    def open_again(self) -> None:
        """Something else is ours to feed: how far that came has to be asked for."""
        self._is_stale = True
        self._wake.set()

    async def run(self) -> None:
        feed, clock, wait_s = self._feed, self._clock, WAIT_S
        while True:
            is_last = self._is_ending
            try:
                if self._is_stale:
                    self._is_stale = False
                    await feed.close()
                await feed.open()
                tell(feed)
                await feed.catch_up()
                tell(feed)
                wait_s, pause_s = WAIT_S, max(LOOK_S, LOOKING_SHARE * feed.looking_s)
            except FAULTS as fault:
                tell(feed, str(fault), is_refused=isinstance(fault, SinkRefused))
                await feed.close()
                wait_s, pause_s = min(2 * wait_s, WAIT_S_MAX), wait_s
            if is_last:
                await feed.close()
                return
            if not self._is_ending and not self._is_stale:
                self._wake.clear()
                await clock.wait(self._wake, clock.now() + pause_s)


def tell(feed: Feed, trouble: str = "", *, is_refused: bool = False) -> None:
    write(SinkTold(SinkNow(feed.sink.to, feed.sink.title, feed.handed_on, feed.visits, trouble, is_refused)))


def tell_positions(sink: Sink, moved: Mapping[int, Place]) -> None:
    write(SinkTold(None, sink.target, dict(moved)))


def write(line: SinkTold) -> None:
    sys.stdout.buffer.write(msgspec.json.encode(line) + b"\n")
    sys.stdout.buffer.flush()


async def feed_all(crawl: Path) -> None:
    clock, loop = RealClock(), asyncio.get_running_loop()
    tree = config.load(crawl, environment={}).tree
    part = NodePart(crawl, tree, tell_positions) if tree.cluster.kafka else None
    feeds = [Feed(crawl, sink_of(name, tree, clock), clock, part) for name in wanted(tree.sinks)]
    followers = [Follower(feed, clock) for feed in feeds]
    heard_so_far = bytearray()

    def heard() -> None:
        if not (came := os.read(0, 65536)):
            os._exit(0)  # the crawl was killed: nothing of ours needs an end
        heard_so_far.extend(came)
        *lines, rest = heard_so_far.split(b"\n")
        heard_so_far[:] = rest
        for line in lines:
            if line != FINISH and part is not None:
                part.own(msgspec.json.decode(line, type=SinksOwned))
            for follower in followers:
                follower.end() if line == FINISH else follower.open_again()

    loop.add_reader(0, heard)
    async with asyncio.TaskGroup() as tasks:
        for follower in followers:
            tasks.create_task(follower.run())
    loop.remove_reader(0)


def main() -> None:
    crawl = Path(sys.argv[1])
    with alone(crawl, waits=True):
        in_loop(feed_all(crawl))


if __name__ == "__main__":
    main()
