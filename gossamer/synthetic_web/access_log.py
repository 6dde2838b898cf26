"""The access log of the synthetic web, and the judge that reads it.

An entry is written when the last byte of an answer has been handed to the socket, or when the connection was
found closed. The log lives in memory, and in a file of JSON lines if wanted, where each line is flushed at once:
the file can be read while the server runs, and survives it.

The judge is a few pure functions over entries: were two requests in flight to one host, was a host asked again too
soon, what was asked for at all. They judge a crawler by what the servers saw and not by what it says of itself.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple, TextIO


class Entry(NamedTuple):
    time_in: float  # the head of the request was complete
    time_out: float  # the last byte was handed to the socket, or the connection found closed
    host: str  # as the client asked for it: name or address, without the port
    port: int
    path: str  # with the query
    status: int | None  # None: none was meant to be given
    aborted: bool = False  # the client went away first
    user_agent: str = ""
    method: str = "GET"
    client: str = ""  # the address of who asked

    @property
    def url(self) -> str:
        port = "" if self.port == 80 else f":{self.port}"
        return f"http://{self.host}{port}{self.path}"


class AccessLog:
    def __init__(self, file: Path | None = None, *, keep: bool = True) -> None:
        """`keep=False` leaves memory alone: for webs that serve millions of pages to a benchmark."""
        self.entries: list[Entry] = []
        self._keep = keep
        self._file: TextIO | None = file.open("a", buffering=1, encoding="utf-8") if file else None

    def __repr__(self) -> str:
        return f"AccessLog({len(self.entries)} entries)"

    def add(self, entry: Entry) -> None:
        if self._keep:
            self.entries.append(entry)
        if self._file:
            self._file.write(json.dumps(entry._asdict()) + "\n")

    def close(self) -> None:
        if self._file:
            self._file.close()
            self._file = None

    @classmethod
    def load(cls, path: Path) -> AccessLog:
        """Read a log file, also one that is still being written: half a line at its end is not there yet."""
        log = cls()
        with path.open(encoding="utf-8") as lines:
            log.entries = [Entry(**json.loads(line)) for line in lines if line.endswith("\n")]
        return log


class Gap(NamedTuple):
    """Two requests in a row that came closer than the host's delay."""

    before: Entry
    after: Entry
    gap_s: float  # negative where they overlapped
    delay_s: float


def overlapping(entries: Iterable[Entry], tolerance_s: float = 0.0) -> list[tuple[Entry, Entry]]:
    """Pairs of requests to one host that were in flight at the same time."""
    pairs: list[tuple[Entry, Entry]] = []
    for visits in _by_host(entries).values():
        in_flight: list[Entry] = []
        for entry in visits:
            in_flight = [other for other in in_flight if other.time_out - tolerance_s > entry.time_in]
            pairs += ((other, entry) for other in in_flight)
            in_flight.append(entry)
    return pairs


def gaps_below(entries: Iterable[Entry], delay_of: Callable[[str], float], tolerance_s: float = 0.002) -> list[Gap]:
    """Requests that came sooner than their host's delay after the last answer of the host had ended."""
    gaps: list[Gap] = []
    for host, visits in _by_host(entries).items():
        delay_s = delay_of(host)
        last = visits[0]
        for entry in visits[1:]:
            gap_s = entry.time_in - last.time_out
            if gap_s < delay_s - tolerance_s:
                gaps.append(Gap(last, entry, gap_s, delay_s))
            if entry.time_out > last.time_out:
                last = entry
    return gaps


def asked(entries: Iterable[Entry]) -> set[str]:
    """The URLs that were asked for."""
    return {entry.url for entry in entries}


def _by_host(entries: Iterable[Entry]) -> dict[str, list[Entry]]:
    hosts: dict[str, list[Entry]] = defaultdict(list)
    for entry in sorted(entries):
        hosts[entry.host].append(entry)
    return hosts
