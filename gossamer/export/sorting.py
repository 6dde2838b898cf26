"""Sorting more lines than fit in memory: sorted runs on disk, then all of them merged as they are read.

Lines are compared as bytes, which is the order that indexes of web archives are in.
"""

from __future__ import annotations

import heapq
import shutil
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

RUN_BYTES = 32 << 20
RUNS_MAX = 128  # open at once; more are merged into one


@contextmanager
def sorted_lines(lines: Iterable[bytes], folder: Path) -> Iterator[Iterator[bytes]]:
    """`folder` holds the runs meanwhile, and is removed before and after: nothing else may be in it."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    try:
        with merged(_runs(lines, folder)) as merge:
            yield merge
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _runs(lines: Iterable[bytes], folder: Path) -> list[Path]:
    runs: list[Path] = []
    count = size = 0
    run: list[bytes] = []

    def write(some: Iterable[bytes]) -> None:
        nonlocal count
        runs.append(folder / str(count))
        count += 1
        with runs[-1].open("wb") as file:
            file.writelines(some)

    for line in lines:
        run.append(line)
        size += len(line)
        if size >= RUN_BYTES:
            run.sort()
            write(run)
            run, size = [], 0
            if len(runs) == RUNS_MAX:
                old = runs.copy()
                with merged(old) as merge:
                    write(merge)
                for path in old:
                    path.unlink()
                runs = runs[-1:]
    run.sort()
    write(run)
    return runs


@contextmanager
def merged(runs: Iterable[Path]) -> Iterator[Iterator[bytes]]:
    with ExitStack() as files:
        yield heapq.merge(*(files.enter_context(path.open("rb")) for path in runs))
