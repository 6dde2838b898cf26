from __future__ import annotations

from pathlib import Path

import pytest

from tests.export.crawls import Crawls, copied, crawl_twice
from tests.shared_crawl import once


@pytest.fixture(scope="session")
def crawls(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Crawls:
    return once(tmp_path_factory, worker_id, "exports", crawl_twice)


@pytest.fixture
def crawl(crawls: Crawls, tmp_path: Path) -> Path:
    """The whole crawl, in a folder of the test's own: an export notes there how far it came."""
    return copied(crawls.whole, tmp_path / "crawl")
