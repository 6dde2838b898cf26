"""How a crawl went over time: a line a minute in `history.jsonl`, and the last ten minutes by the second in memory.

A line is a `Point`: what was done so far, and how much there is to do. There is one at the start and one at the end
of each run. The file is for pictures and for "today", and worth no crawl: where it cannot be written, it is not; a
line that broke off is passed over, and the next one starts on a line of its own.

The file is never read whole, however long it gets (150 MB a year): lines are in the order of time, so a moment is
found by halving, and a picture of 500 points reads 500 lines.
"""

from __future__ import annotations

import mmap
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import pairwise
from pathlib import Path

import msgspec

from gossamer.folder import CrawlFolder
from gossamer.messages.control_messages import Point

EVERY_S = 60.0
RECENT_S = 600
DAY_S = 86_400.0

decode = msgspec.json.Decoder(Point).decode


class History:
    """A running crawl's; `note` is called as often as there is news."""

    def __init__(self, file: Path, first: Point) -> None:
        self.recent: deque[Point] = deque(maxlen=RECENT_S)
        self._file = file
        self._day = first.at // DAY_S
        self.write(first)
        before = pages_at(file, self._day * DAY_S)
        self._pages_at_midnight = first.pages if before is None else min(before, first.pages)
        self.note(first)

    def note(self, point: Point) -> bool:
        """Returns whether a minute was over, and a line was written."""
        if point.at // DAY_S != self._day:
            self._day, self._pages_at_midnight = point.at // DAY_S, point.pages
        if not self.recent or point.at - self.recent[-1].at >= 1.0:
            self.recent.append(point)
        if point.at - self._written_at < EVERY_S:
            return False
        self.write(point)
        return True

    def write(self, point: Point) -> None:
        self._written_at = point.at
        with suppress(OSError), self._file.open("a+b") as file:
            torn = b""
            if file.seek(0, 2):
                file.seek(-1, 2)
                torn = b"" if file.read(1) == b"\n" else b"\n"
            file.write(torn + msgspec.json.encode(point) + b"\n")

    def pages_today(self, pages: int) -> int:
        """Since midnight UTC, in all runs; what a killed run did in its last minute counts where it was seen."""
        return pages - self._pages_at_midnight


def points(folder: CrawlFolder, since: float = 0.0, most: int = 500) -> list[Point]:
    """At most so many points of a crawl's life, evenly among its lines, the last one always; and where a run began
    between two of them, the end of the one before and its own begin: nothing ran in between."""
    with _mapped(folder.history) as content:
        return list(_with_gaps(content, _some(content, _first_since(content, since), most)))


def last(folder: CrawlFolder) -> Point | None:
    return next(iter(points(folder, most=1)), None)


def pages_at(file: Path, moment: float) -> int | None:
    """How many pages there were at a moment; None: nobody knows."""
    with _mapped(file) as content:
        after = _next(content, at := _first_since(content, moment))
        before = _last_before(content, at)
    if before is None or after is None:
        return after[1].pages if after else before.pages if before else None
    # Lines farther apart: nobody crawled in between, and what a run did after its last line, it did soon.
    span_s = min(EVERY_S, after[1].at - before.at)
    share = min(1.0, (moment - before.at) / span_s) if span_s > 0 else 1.0
    return before.pages + round(share * (after[1].pages - before.pages))


@contextmanager
def _mapped(path: Path) -> Iterator[mmap.mmap | bytes]:
    try:
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            yield content
    except (OSError, ValueError):  # not there, or empty
        yield b""


def _next(content: mmap.mmap | bytes, offset: int) -> tuple[int, Point] | None:
    """The first whole line that starts at an offset or later, and where."""
    start = content.find(b"\n", offset - 1) + 1 if offset else 0
    while start or not offset:
        end = content.find(b"\n", start)
        if end < 0:
            return None
        with suppress(msgspec.MsgspecError, UnicodeDecodeError):
            return start, decode(content[start:end])
        start = offset = end + 1
    return None


def _last_before(content: mmap.mmap | bytes, offset: int) -> Point | None:
    while offset > 0:
        start = content.rfind(b"\n", 0, offset - 1) + 1
        with suppress(msgspec.MsgspecError, UnicodeDecodeError):
            return decode(content[start : offset - 1])
        offset = start
    return None


def _first_since(content: mmap.mmap | bytes, moment: float) -> int:
    """Where the first line of that moment or later starts; the end, if there is none."""
    low, high = 0, len(content)
    while low < high:
        middle = (low + high) // 2
        found = _next(content, middle)
        if found is None or found[1].at >= moment:
            high = middle
        else:
            low = found[0] + 1
    found = _next(content, low)
    return found[0] if found else len(content)


def _with_gaps(content: mmap.mmap | bytes, some: list[Point]) -> Iterator[Point]:
    for before, point in pairwise([None, *some]):
        assert point is not None
        if before is not None and before.started_at != point.started_at > before.at:
            at = _first_since(content, point.started_at)
            first = _next(content, at)
            ends = [_last_before(content, at), first[1] if first else None]
            yield from (each for each in ends if each is not None and before.at < each.at < point.at)
        yield point


def _some(content: mmap.mmap | bytes, start: int, most: int) -> list[Point]:
    taken: dict[int, Point] = {}
    span = len(content) - start
    final = _last_before(content, content.rfind(b"\n") + 1)
    for number in range(max(0, most - 1)):
        found = _next(content, start + number * span // most)
        if found is None:
            break
        taken[found[0]] = found[1]
    found_last = [final] if final is not None and span else []
    return [*(point for point in taken.values() if point != final), *found_last]
