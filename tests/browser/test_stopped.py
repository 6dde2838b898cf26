"""The dashboard of a crawl that is not running, has no pages, and is behind a key."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.browser import Tab
from tests.browser.stage import answers, free_port, gossamer, start, until


@pytest.fixture(scope="module")
def stopped(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """Its address and its folder."""
    folder, port = tmp_path_factory.mktemp("stopped") / "crawl", free_port()
    gossamer("crawl", "http://127.0.0.1:4/", "--dir", folder, "--allow-private", "--max-time", "0.1")
    server = start("serve", folder, "--port", port)
    until(lambda: answers(f"http://127.0.0.1:{port}/health"))
    yield f"http://127.0.0.1:{port}", folder
    server.kill()
    server.wait()


def test_a_stopped_crawl_without_pages_says_what_it_waits_for_and_then_asks_for_a_key(
    window: Page, stopped: tuple[str, Path]
) -> None:
    url, folder = stopped
    page, tab = window, Tab(window)
    page.goto(url)
    expect(page.locator("#state")).to_have_text("Stopped")
    page.goto(f"{url}/#/trends")  # what was written down is there, though nothing runs
    expect(page.locator(".trend .drawn").first).to_be_visible()
    page.goto(f"{url}/#/")
    expect(page.locator("#empty")).to_contain_text("No pages yet")
    expect(page.locator("#workers-none")).to_be_visible()
    expect(page.locator("#pause")).to_be_hidden()
    assert tab.complaints == []

    # A key is set while the page is open: it has to be shown from now on, and a wrong one is told so.
    key = gossamer("keys", folder, "--add", "looker").split()[-1]
    show_key(page, "gossamer_wrong")
    expect(page.locator("body")).to_contain_text("not known")
    show_key(page, key)
    expect(page.locator("#state")).to_have_text("Stopped")
    expect(page.locator("#add-seeds")).to_be_hidden()  # it may look, and not steer
    page.get_by_role("button", name="Forget the key").click()
    expect(page.locator("input[type=password]")).to_be_visible()
    tab.close()


def show_key(page: Page, key: str) -> None:
    page.locator("input[type=password]").fill(key)
    page.keyboard.press("Enter")
