from __future__ import annotations

import asyncio

import pytest

from tests.crawl.everything import Crawled, crawl_everything


@pytest.fixture(scope="session")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Crawled:
    return asyncio.run(crawl_everything(tmp_path_factory.mktemp("everything") / "crawl"))
