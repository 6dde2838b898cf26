"""The crawls in a folder: how each stands, and how one is started and stopped.

A crawl that is started here is nobody's child: it goes on when this server ends, as if somebody had typed the
command. What it says is in `started.log` of its folder.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path

from gossamer.api.crawl_client import ANSWER_S, state_of
from gossamer.api.many.shapes import CrawlSummary
from gossamer.api.route import NoAnswer
from gossamer.clock import Clock
from gossamer.cluster.wire import Disconnected, Peer
from gossamer.folder import CrawlFolder, FolderError
from gossamer.frontier.disk.faults import StoreDamaged
from gossamer.frontier.disk.tables import Totals
from gossamer.inspect.status_facts import is_all_done
from gossamer.inspect.view import CrawlView
from gossamer.messages.control_client import connect_to_crawl
from gossamer.messages.control_messages import AskNow, Now, Steer
from gossamer.seeds import SeedList
from gossamer.supervisor import history
from gossamer.text import moment

LOG_NAME = "started.log"
START_S = 60.0
LOOK_S = 0.2
NOW_S = 3.0  # for a crawl to say how it stands


def crawls_in(path: Path) -> list[str]:
    """The names of the folders in this one that are crawls."""
    try:
        return sorted(entry.name for entry in path.iterdir() if CrawlFolder(entry).is_crawl)
    except OSError:
        return []


class Crawls:
    def __init__(self, path: Path, clock: Clock) -> None:
        self.path = path
        self._clock = clock
        self._stopped: dict[str, tuple[int, Totals, bool]] = {}  # as of a change of its history: totals, is complete
        self._looking = asyncio.Lock()
        self._started: list[subprocess.Popen[bytes]] = []

    def folder(self, name: str) -> CrawlFolder:
        if name not in crawls_in(self.path):
            raise NoAnswer(404, "no_such_crawl", f"there is no crawl {name} in {self.path}", value=name[:255])
        return CrawlFolder(self.path / name)

    async def all(self) -> list[CrawlSummary]:
        return list(await asyncio.gather(*(self.summary(name) for name in crawls_in(self.path))))

    async def summary(self, name: str) -> CrawlSummary:
        folder = self.folder(name)
        now = await self._ask(folder)
        last = history.last(folder)
        seen_at = moment(now.at if now else last.at if last else None)
        if now is not None:
            totals, is_complete = now.totals, False
        else:
            try:
                async with self._looking:  # one store at a time: there may be many
                    totals, is_complete = await asyncio.to_thread(self._look, name, folder)
            except (FolderError, StoreDamaged, OSError) as fault:
                return CrawlSummary(name, "stopped", 0, 0.0, 0, 0, 0, seen_at, str(fault))
        state = "complete" if is_complete else state_of(now)
        rate = round(now.pages_per_s, 2) if now else 0.0
        return CrawlSummary(
            name, state, totals.pages, rate, totals.queued, totals.failed, totals.hosts, seen_at, None
        )

    def _look(self, name: str, folder: CrawlFolder) -> tuple[Totals, bool]:
        changed_at = folder.history.stat().st_mtime_ns if folder.history.exists() else 0
        known = self._stopped.get(name)
        if known is None or known[0] != changed_at or folder.is_locked:
            with CrawlView(folder.path) as view:
                totals = view.totals()
            known = self._stopped[name] = (changed_at, totals, is_all_done(totals, SeedList(folder.path)))
        return known[1], known[2]

    async def start(self, name: str) -> CrawlSummary:
        folder = self.folder(name)
        if folder.is_locked:
            raise NoAnswer(409, "running", f"{name} is running already")
        process = await asyncio.to_thread(self._start, folder.path)
        ends_at = self._clock.now() + START_S
        while await self._ask(folder) is None and self._clock.now() < ends_at:
            if process.poll() is not None:
                if process.returncode == 0:
                    break  # there was little to do
                log = (folder.path / LOG_NAME).read_text(encoding="utf-8", errors="replace")
                said = log.strip().splitlines()
                raise NoAnswer(409, "did_not_start", said[-1] if said else f"{name} did not start")
            await self._clock.wait(asyncio.Event(), self._clock.now() + LOOK_S)
        return await self.summary(name)

    def _start(self, path: Path) -> subprocess.Popen[bytes]:
        self._started = [process for process in self._started if process.poll() is None]  # the rest have ended
        command = [sys.executable, "-m", "gossamer", "crawl", "--dir", str(path)]
        with (path / LOG_NAME).open("wb") as out:
            process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=out, stderr=out, start_new_session=True
            )
        self._started.append(process)
        return process

    async def stop(self, name: str) -> CrawlSummary:
        """What is in flight is finished first."""
        folder = self.folder(name)
        peer = await self._connected(folder)
        if peer is None:
            raise NoAnswer(409, "not_running", f"{name} is not running")
        try:
            async with asyncio.timeout(ANSWER_S):
                await peer.tell(Steer("drain"))
        except (Disconnected, TimeoutError):
            pass  # it has ended, or will
        finally:
            peer.close()
        return await self.summary(name)

    async def _ask(self, folder: CrawlFolder) -> Now | None:
        peer = await self._connected(folder)
        if peer is None:
            return None
        try:
            async with asyncio.timeout(NOW_S):
                return await peer.call(AskNow(), Now)
        except (Disconnected, TimeoutError):
            return None
        finally:
            peer.close()

    async def _connected(self, folder: CrawlFolder) -> Peer | None:
        return await connect_to_crawl(folder, asyncio.get_running_loop().create_task)
