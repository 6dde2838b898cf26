"""Crawlee with a browser. Runs in an environment of its own, and needs nothing of ours.

    python crawlee_browser.py always|adaptive SEEDS BROWSER PAGES_AT_ONCE BROWSERS

What could be chosen is chosen in its favour: its queue lives in memory, pages are not stored, one context of each
browser (and so its cache) serves all pages, no browser is retired, no fingerprints are made up, and pictures and
fonts are blocked as its documents advise. It does not wait for a quiet network, which takes half a second a page, but
for the list that every page of this web ends with.
"""
# mypy: ignore-errors

import asyncio
import logging
import sys
from datetime import timedelta
from pathlib import Path

from crawlee import ConcurrencySettings
from crawlee.browsers import BrowserPool, PlaywrightBrowserPlugin
from crawlee.crawlers import AdaptivePlaywrightCrawler, PlaywrightCrawler
from crawlee.storage_clients import MemoryStorageClient

KIND, SEEDS, BROWSER = sys.argv[1:4]
AT_ONCE, BROWSERS = map(int, sys.argv[4:6])  # pages of all browsers together
LIST = "ul"
WAIT_S = 20


def settings():
    return {
        "concurrency_settings": ConcurrencySettings(
            min_concurrency=AT_ONCE, desired_concurrency=AT_ONCE, max_concurrency=AT_ONCE
        ),
        "storage_client": MemoryStorageClient(),
        "respect_robots_txt_file": True,
        "use_session_pool": False,
        "retry_on_blocked": False,
        "max_request_retries": 0,
        "configure_logging": False,
    }


def browsers():
    arguments = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]
    plugin = PlaywrightBrowserPlugin(
        browser_launch_options={"executable_path": BROWSER, "args": arguments, "chromium_sandbox": False},
        max_open_pages_per_browser=-(-AT_ONCE // BROWSERS),
    )
    return BrowserPool([plugin], retire_browser_after_page_count=10**6)


async def always():
    crawler = PlaywrightCrawler(**settings(), browser_pool=browsers())

    @crawler.pre_navigation_hook
    async def spare(context):
        await context.block_requests()

    @crawler.router.default_handler
    async def read(context):
        await context.page.wait_for_selector(LIST, state="attached", timeout=WAIT_S * 1000)
        await context.page.content()
        await context.enqueue_links(strategy="all")

    return crawler


async def adaptive():
    crawler = AdaptivePlaywrightCrawler.with_parsel_static_parser(
        playwright_crawler_specific_kwargs={"browser_pool": browsers()}, **settings()
    )

    @crawler.pre_navigation_hook(playwright_only=True)
    async def spare(context):
        await context.block_requests()

    @crawler.router.default_handler
    async def read(context):
        await context.query_selector_one(LIST, timedelta(seconds=WAIT_S))
        await context.enqueue_links(strategy="all")

    return crawler


async def main():
    crawler = await {"always": always, "adaptive": adaptive}[KIND]()
    await crawler.run(Path(SEEDS).read_text().split())


if __name__ == "__main__":
    logging.basicConfig(level=logging.WARNING)
    asyncio.run(main())
