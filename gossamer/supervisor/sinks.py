"""The sinks of a crawl, as its supervisor sees them: one process that feeds them all (export/sinks/), and its word.

The crawl never waits for a sink, but twice. At the start it hears from each whether it can be reached: one that
refuses us (a wrong password, no such database) is a wrong setting and stops the start; one that is away is said, and
the crawl begins. At the end the process catches up once more, for as long as the sinks take what it has.

A trouble is said once, and its end. The process is started again where it ends by itself. On a node of a cluster it
is told which partitions are ours to feed, and what it tells of how far they came goes to the board.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Protocol, Self

import msgspec

from gossamer.clock import Clock
from gossamer.config import UsageError
from gossamer.export.sinks.sink import wanted
from gossamer.folder import CrawlFolder
from gossamer.messages.control_messages import SinkNow, SinksOwned, SinkTold
from gossamer.records import Place
from gossamer.settings import SinksSettings
from gossamer.text import COMMAND

FIRST_WORD_S = 60.0  # a process starts on a busy machine, and a server may take 5 s to be found away
AGAIN_S = 5.0
LINE_BYTES_MAX = 1 << 20  # positions of some thousand partitions
LAST_WORD_S = 5.0  # for the last notes on the board: Kafka may be away, and then something is handed on twice


class PositionBoard(Protocol):
    """Where the nodes of a cluster note how far each sink came: by target and partition."""

    def sink_positions(self) -> dict[str, dict[int, Place]]: ...
    def note_sink(self, target: str, positions: Mapping[int, Place]) -> Awaitable[object]: ...


class Sinks:
    def __init__(
        self,
        folder: CrawlFolder,
        settings: SinksSettings,
        clock: Clock,
        warn: Callable[[str], None],
        board: PositionBoard | None = None,
    ) -> None:
        """`board`: of a cluster."""
        self.now: dict[str, SinkNow] = {}
        self._wanted = wanted(settings)
        self._folder = folder
        self._clock = clock
        self._warn = warn
        self._heard = asyncio.Event()
        self._process: asyncio.subprocess.Process | None = None
        self._running: asyncio.Task[None] | None = None
        self._is_starting = True
        self._is_ending = False
        self._board = board
        self._owned: dict[int, int] = {}  # partitions that are ours to feed, and in which epoch
        self._is_told = False  # that they are
        self._noting: set[asyncio.Future[object]] = set()

    async def __aenter__(self) -> Self:
        if self._wanted:
            self._running = asyncio.create_task(self._run())
            try:
                await self._first_word()
            except BaseException:
                await self.__aexit__()
                raise
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._running is not None:
            self._running.cancel()
            with suppress(asyncio.CancelledError):
                await self._running

    def own(self, epochs: dict[int, int]) -> None:
        """Partitions of ours that are open, of a node."""
        if epochs != self._owned or not self._is_told:
            self._owned = epochs
            self._tell_owned()

    def _tell_owned(self) -> None:
        process = self._process
        if self._board is None or process is None or process.stdin is None or self._is_ending:
            return
        if not process.stdin.is_closing():  # it has ended: the next one is told
            owned = SinksOwned(self._owned, self._board.sink_positions())
            process.stdin.write(msgspec.json.encode(owned) + b"\n")
            self._is_told = True

    async def _first_word(self) -> None:
        until = self._clock.now() + FIRST_WORD_S
        while len(self.now) < len(self._wanted) and self._clock.now() < until:
            await self._clock.wait(self._heard, until)
            self._heard.clear()
            for sink in self.now.values():
                if sink.is_refused:
                    raise UsageError(f"{sink.trouble} (sinks.{sink.to})")
        self._is_starting = False

    async def finish(self) -> None:
        """The crawl has ended: wait until all of it is handed on, or the sinks are away."""
        if self._running is None:
            return
        self._is_ending = True
        if self._process is not None and self._process.stdin is not None:
            with suppress(ConnectionError):
                self._process.stdin.write(b"finish\n")
        await self._running
        if self._noting:
            await asyncio.wait(self._noting, timeout=LAST_WORD_S)
        for sink in self.now.values():
            if sink.trouble:
                crawl = self._folder.path if self._board is None else "CLUSTER.toml"
                self._warn(
                    f"{sink.title} has not got all records: the next start of the crawl hands them on, "
                    f"and so does `{COMMAND} export {crawl} --to {sink.to}`"
                )

    async def _run(self) -> None:
        while not self._is_ending:
            process = self._process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-P",
                "-m",
                "gossamer.export.sinks",
                str(self._folder.path),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                limit=LINE_BYTES_MAX,
                start_new_session=True,  # Ctrl-C is for the crawl
            )
            assert process.stdout is not None
            self._tell_owned()
            try:
                while line := await process.stdout.readline():
                    told = msgspec.json.decode(line, type=SinkTold)
                    self._note(told.target, told.positions)
                    if told.now is not None:
                        self._take(told.now)
                await process.wait()
            finally:
                self._process = None
                if process.returncode is None:
                    process.kill()
                    await process.wait()
            if not self._is_ending:
                self._warn(f"the process that feeds the sinks has ended by itself (code {process.returncode})")
                await self._clock.sleep(AGAIN_S)

    def _note(self, target: str, positions: Mapping[int, Place]) -> None:
        if self._board is not None and positions:
            noting = asyncio.ensure_future(self._board.note_sink(target, positions))
            self._noting.add(noting)
            noting.add_done_callback(self._noting.discard)

    def _take(self, sink: SinkNow) -> None:
        before = self.now.get(sink.to)
        self.now[sink.to] = sink
        self._heard.set()
        stops_the_start = self._is_starting and sink.is_refused
        if sink.trouble and not (before and before.trouble) and not stops_the_start:
            self._warn(f"{sink.trouble}: records wait, nothing is lost")
        elif not sink.trouble and before is not None and before.trouble:
            self._warn(f"{sink.title} answers again: what waited is handed on")
