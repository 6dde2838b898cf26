"""How fast is the machine meanwhile? It is shared, and may take twice as long for the same work a minute later.

A fixed piece of work in Python, of the kind that a crawler does (numbers to texts, texts into a table), four times
a second beside whatever is measured; it takes half a percent of one processor. A benchmark that compares stretches
which are minutes apart also says what this work took in each of them.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from statistics import mean

ENTRIES = 5000
EVERY_S = 0.25


class Reference:
    def __init__(self) -> None:
        self._taken: list[tuple[float, float]] = []  # when, and milliseconds of CPU time

    def mean_ms(self, since: float) -> float:
        """`since` by the monotonic clock."""
        return mean([took_ms for at, took_ms in self._taken if at >= since] or [took_once_ms()])

    def take(self) -> None:
        self._taken.append((time.monotonic(), took_once_ms()))


def took_once_ms() -> float:
    started = time.thread_time()
    table = {str(number): number for number in range(ENTRIES)}
    assert sum(table.values()) == ENTRIES * (ENTRIES - 1) // 2
    return (time.thread_time() - started) * 1000


@contextmanager
def measured_meanwhile() -> Iterator[Reference]:
    reference, ended = Reference(), threading.Event()

    def work() -> None:
        while not ended.wait(EVERY_S):
            reference.take()

    worker = threading.Thread(target=work)
    worker.start()
    try:
        yield reference
    finally:
        ended.set()
        worker.join()
