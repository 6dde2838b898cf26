from __future__ import annotations

import pytest

from tests.render.scripted_crawl import Crawled, crawl_scripted
from tests.shared_crawl import once


@pytest.fixture(scope="session")
def crawled(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Crawled:
    return once(tmp_path_factory, worker_id, "scripted", crawl_scripted)
