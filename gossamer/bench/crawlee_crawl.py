"""Crawlee with its Parsel crawler. Runs in an environment of its own, and needs nothing of ours.

    python crawlee_crawl.py SEEDS

What could be chosen is chosen in its favour: its queue lives in memory, where it is some ten times faster than on
disk, and pages are not stored.
"""
# mypy: ignore-errors

import asyncio
import logging
import sys
from pathlib import Path

from crawlee import ConcurrencySettings
from crawlee.crawlers import ParselCrawler
from crawlee.http_clients import ImpitHttpClient
from crawlee.storage_clients import MemoryStorageClient


async def main():
    crawler = ParselCrawler(
        # settings
        concurrency_settings=ConcurrencySettings(min_concurrency=50, desired_concurrency=50, max_concurrency=50),
        storage_client=MemoryStorageClient(),
        respect_robots_txt_file=True,
        use_session_pool=False,
        retry_on_blocked=False,
        max_request_retries=0,
        http_client=ImpitHttpClient(verify=False),
        # end of settings
        configure_logging=False,
    )

    @crawler.router.default_handler
    async def read(context):
        await context.enqueue_links(strategy="all")

    await crawler.run(Path(sys.argv[1]).read_text().split())


if __name__ == "__main__":
    logging.basicConfig(level=logging.WARNING)
    asyncio.run(main())
