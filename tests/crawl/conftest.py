from __future__ import annotations

import pytest

from tests.crawl.everything import Crawled, crawl_everything
from tests.shared_crawl import once


@pytest.fixture(scope="session")
def crawled(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Crawled:
    return once(tmp_path_factory, worker_id, "everything", crawl_everything)
