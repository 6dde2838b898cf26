from __future__ import annotations

from pathlib import Path

import pytest

from gossamer.synthetic_web import Web, WebOptions, serve
from tests.crawl.command import gossamer, quick_settings
from tests.shared_crawl import once


async def small_crawl(folder: Path) -> Path:
    async with serve(Web(WebOptions(hosts=4, pages_per_host=8, page_bytes=1500, duplicates=0.2))) as server:
        ran = await gossamer(
            "crawl", server.url(0), "--dir", folder, "--scope", "any", "--allow-private", *quick_settings()
        )
    assert ran.code == 0, ran.err
    return folder


@pytest.fixture(scope="session")
def crawl(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    """The folder of a crawl that is over. To be copied, not changed."""
    return once(tmp_path_factory, worker_id, "crawl-of-the-documents", small_crawl)
