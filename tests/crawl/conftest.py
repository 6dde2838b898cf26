from __future__ import annotations

import asyncio
import fcntl
import pickle
from pathlib import Path

import pytest

from tests.crawl.everything import Crawled, crawl_everything


@pytest.fixture(scope="session")
def crawled(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Crawled:
    """One crawl for all tests that look at its result, also where several processes run them."""
    folder = tmp_path_factory.getbasetemp()
    if worker_id != "master":
        folder = folder.parent
    with (folder / "everything.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        return crawled_once(folder)


def crawled_once(folder: Path) -> Crawled:
    result = folder / "everything.pickle"
    if not result.exists():
        result.write_bytes(pickle.dumps(asyncio.run(crawl_everything(folder / "everything"))))
    crawled: Crawled = pickle.loads(result.read_bytes())
    return crawled
