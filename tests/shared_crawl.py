"""One crawl for all tests that look at its result, also where several processes run them."""

from __future__ import annotations

import asyncio
import fcntl
import pickle
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, TypeVar

import pytest

T = TypeVar("T")


def once(
    temporary: pytest.TempPathFactory, worker_id: str, name: str, crawl: Callable[[Path], Coroutine[Any, Any, T]]
) -> T:
    """The result of a crawl into a folder of this name; whoever comes first makes it, the others wait and read."""
    folder = temporary.getbasetemp() if worker_id == "master" else temporary.getbasetemp().parent
    with (folder / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        result = folder / f"{name}.pickle"
        if not result.exists():
            result.write_bytes(pickle.dumps(asyncio.run(crawl(folder / name))))
        crawled: T = pickle.loads(result.read_bytes())
    return crawled
