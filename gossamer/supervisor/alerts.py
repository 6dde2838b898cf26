"""Alerts: a webhook hears when a crawl stalls, ends, goes wrong more and more, or runs out of disk ([alerts]).

What is the matter is decided by `alarms`, a pure function of two moments of the crawl; a change is told once, when it
begins and when it is over. One object a message, as JSON, to the address of `alerts.webhook`:

    {"event": "stalled", "is_over": false, "text": "...", "crawl": "/data/my-crawl", "at": "2026-07-01T12:00:00.000Z",
     "pages": 1200, "queued": 34, "failed": 5}

`event` is one of stalled, errors_rising, disk_low, stopped and complete. A message is sent beside the crawl and never
holds it up; where it cannot be delivered that is said, with the host alone: the address may be a secret.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from urllib.parse import urlsplit

import msgspec

from gossamer.clock import Clock
from gossamer.folder import CrawlFolder
from gossamer.settings import AlertsSettings
from gossamer.supervisor.status import CrawlStatus
from gossamer.text import counted, moment, size, span
from gossamer.worker.progress import troubles

LOOK_S = 1.0
WINDOW_S = 300.0  # errors are counted over this long
OUTCOMES_MIN = 50  # of fewer no share is told
SEND_S = 10.0


@dataclass(frozen=True)
class Moment:
    """The crawl as alerts see it."""

    at: float
    pages: int
    troubles: int  # in this run
    answers: int  # in this run
    is_waiting: bool  # paused, ending, or with nothing to do
    disk_free_bytes: int


def alarms(then: Moment, now: Moment, quiet_since: float, settings: AlertsSettings) -> dict[str, str]:
    """What is the matter, and a sentence about each. `then`: some minutes ago; `quiet_since`: the last answer."""
    found = {}
    if not now.is_waiting and now.at - quiet_since >= settings.stalled_s:
        found["stalled"] = f"no server has answered for {span(now.at - quiet_since)}, and there is work"
    wrong = now.troubles - then.troubles
    outcomes = wrong + now.pages - then.pages
    if outcomes >= OUTCOMES_MIN and wrong >= settings.errors_share * outcomes:
        found["errors_rising"] = (
            f"{wrong:,} of {counted(outcomes, 'URL')} went wrong in the last {span(now.at - then.at)}"
        )
    if now.disk_free_bytes < settings.disk_free_bytes_min:
        found["disk_low"] = f"{size(now.disk_free_bytes)} free on the disk of the crawl's folder"
    return found


class Alerts:
    def __init__(
        self,
        settings: AlertsSettings,
        folder: CrawlFolder,
        status: CrawlStatus,
        clock: Clock,
        warn: Callable[[str], None],
    ) -> None:
        self._settings = settings
        self._folder = folder
        self._status = status
        self._clock = clock
        self._warn = warn
        self._moments: deque[Moment] = deque()
        self._quiet_since = clock.now()
        self._open: dict[str, str] = {}
        self._sending: set[asyncio.Task[None]] = set()

    def look(self) -> None:
        """As often as there is news, inside the event loop."""
        now = self._clock.now()
        if not self._settings.webhook or (self._moments and now - self._moments[-1].at < LOOK_S):
            return
        moment_ = self._moment(now)
        if moment_.is_waiting or not self._moments or moment_.answers != self._moments[-1].answers:
            self._quiet_since = now
        self._moments.append(moment_)
        while self._moments[0].at < now - WINDOW_S:
            self._moments.popleft()
        found = alarms(self._moments[0], moment_, self._quiet_since, self._settings)
        for event in found.keys() - self._open.keys():
            self._send(event, found[event])
        for event in self._open.keys() - found.keys():
            self._send(event, f"over: {self._open[event]}", is_over=True)
        self._open = {event: self._open.get(event, text) for event, text in found.items()}

    async def end(self, why: str, text: str) -> None:
        """The crawl is over, and with it whatever was the matter. Waits for a while until all is delivered."""
        if self._settings.webhook and self._moments:
            for event in self._open:
                self._send(event, f"over: {self._open[event]}", is_over=True)
            self._send("complete" if why in ("complete", "later", "resting") else "stopped", text)
            await asyncio.wait(self._sending, timeout=SEND_S)

    def _moment(self, now: float) -> Moment:
        status, totals = self._status, self._status.totals
        return Moment(
            now,
            totals.pages + totals.visits,
            troubles(status.progress.errors),
            status.progress.answers,
            bool(status.paused) or status.is_draining or totals.queued - totals.revisits - totals.resting <= 0,
            status.disk_free_bytes,
        )

    def _send(self, event: str, text: str, *, is_over: bool = False) -> None:
        totals = self._status.totals
        message = {
            "event": event,
            "is_over": is_over,
            "text": f"{self._folder.path.resolve().name}: {text}",
            "crawl": str(self._folder.path.resolve()),
            "at": moment(self._clock.now()),
            "pages": totals.pages,
            "queued": totals.queued,
            "failed": totals.failed,
        }
        task = asyncio.get_running_loop().create_task(self._deliver(msgspec.json.encode(message)))
        self._sending.add(task)
        task.add_done_callback(self._sending.discard)

    async def _deliver(self, message: bytes) -> None:
        address = address_in(self._settings.webhook)
        try:
            await asyncio.to_thread(post, address, message)
        except (OSError, HTTPException, ValueError) as fault:
            self._warn(f"an alert could not be delivered to {urlsplit(address).hostname}: {fault}")


def cause(fault: BaseException) -> BaseException:
    """What went wrong first, in a group of tasks."""
    return cause(fault.exceptions[0]) if isinstance(fault, BaseExceptionGroup) else fault


def address_in(webhook: str) -> str:
    """An address may be a secret: then the setting is the name of a file that holds it."""
    return webhook if "://" in webhook else Path(webhook).read_text(encoding="utf-8").strip()


def post(address: str, message: bytes) -> None:
    import urllib.request  # noqa: PLC0415 - 10 ms of the start of every crawl

    request = urllib.request.Request(address, message, {"Content-Type": "application/json"}, method="POST")
    with urllib.request.urlopen(request, timeout=SEND_S):
        pass
