"""The dashboard of a crawl that ends: the page keeps its last figures, and several crawls stand on one page."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect

from gossamer.folder import CrawlFolder
from tests.browser.browser import DESKTOP, PHONE, WIDE, Tab
from tests.browser.stage import answers, free_port, gossamer, start, until
from tests.crawl.command import quick_settings

PAGES = 12


@pytest.fixture(scope="module")
def web(browser: Browser) -> Iterator[str]:
    port = free_port()
    server = start("web", "--kind", "plain", "--hosts", 1, "--pages", PAGES, "--port", port)
    until(lambda: answers(f"http://127.1.0.1:{port}/"))
    yield f"http://127.1.0.1:{port}/"
    server.kill()
    server.wait()


def begun(web: str, folder: Path, delay_s: float) -> None:
    """A crawl that has two pages, and would fetch the others with such a delay."""
    settings = quick_settings(crawl__partitions=1)
    gossamer("crawl", web, "--dir", folder, "--allow-private", "--workers", 1, "--max-pages", 2, *settings)
    file = folder / "gossamer.toml"
    text = file.read_text().replace("\nmax_pages = 2\n", "\nmax_pages = 1000\n")
    file.write_text(text.replace("\ndelay_s = 0.05\n", f"\ndelay_s = {delay_s}\n"))


def test_a_page_keeps_the_last_figures_of_a_crawl_that_ends_with_its_server(
    window: Page, web: str, tmp_path: Path
) -> None:
    tab, port, folder = Tab(window), free_port(), tmp_path / "crawl"
    begun(web, folder, delay_s=0.05)
    CrawlFolder(folder).set_paused("for the test")
    ending = start("crawl", "--dir", folder, "--serve", f"127.0.0.1:{port}")
    try:
        until(lambda: answers(f"http://127.0.0.1:{port}/health"))
        window.goto(f"http://127.0.0.1:{port}/")
        expect(window.locator("#state")).to_have_text("Paused")
        window.click("#pause")
        expect(window.locator("#banner")).to_contain_text("The crawl is complete: these are its last figures")
        expect(window.locator("#state")).to_have_text("Complete")
        expect(window.locator("#pages")).to_have_text(str(PAGES))
        assert ending.wait(60) == 0
        assert float(window.locator(".figures").evaluate("e => getComputedStyle(e).opacity")) == 1
    finally:
        ending.kill()
        ending.wait()
        tab.close()


def test_several_crawls_are_shown_started_and_stopped_on_one_page(window: Page, web: str, tmp_path: Path) -> None:
    folder, port, tab = tmp_path / "crawls", free_port(), Tab(window)
    for name in ("first", "second"):
        begun(web, folder / name, delay_s=3.0)
    server = start("serve", folder, "--port", port)
    try:
        until(lambda: answers(f"http://127.0.0.1:{port}/health"))
        window.goto(f"http://127.0.0.1:{port}/")
        rows = window.locator("#crawls tr")
        expect(rows).to_have_count(2)
        expect(rows.first).to_contain_text("firststopped2")
        for name, size in (("crawls", DESKTOP), ("phone", PHONE), ("wide", WIDE)):
            window.set_viewport_size(size)
            window.screenshot(path=tmp_path / f"{name}.png")
            found = Axe().run(window)
            assert found.violations_count == 0, found.generate_report()
        window.get_by_label("Start second").click()
        expect(window.locator("#toast")).to_contain_text("second is")
        window.get_by_role("link", name="second").click()
        expect(window.locator("#state")).to_have_text("Running")
        tab.figure_above("#pages", 2)
        assert "/crawls/second/" in window.url
        window.get_by_role("link", name="All crawls").click()
        window.get_by_label("Stop second").click()
        expect(rows.last).to_contain_text("stopped")
        assert tab.complaints == []
    finally:
        server.terminate()
        assert server.wait(30) == 0
        tab.close()
