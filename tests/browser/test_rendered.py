"""The dashboard of a crawl of pages that scripts make: what a browser took for them, and its picture."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect

from gossamer.synthetic_web import WebOptions
from tests.browser.browser import DESKTOP, PHONE, Tab
from tests.browser.stage import answers, free_port, gossamer, start, until
from tests.crawl.command import quick_settings

PAGES = 8
HOST = WebOptions.scripted(hosts=1, pages_per_host=2).first_scripted + 1  # its data is requested


@pytest.fixture(scope="module")
def shown(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The dashboard of a crawl with pictures."""
    folder, port, web_port = tmp_path_factory.mktemp("rendered") / "crawl", free_port(), free_port()
    page = f"http://127.1.0.{HOST + 1}:{web_port}/"
    web = start("web", "--kind", "scripted", "--hosts", 1, "--pages", 2, "--port", web_port)
    server = None
    try:
        until(lambda: answers(page))
        settings = quick_settings(render__screenshot="true")
        gossamer("crawl", page, "--dir", folder, "--allow-private", "--max-pages", PAGES, "--workers", 1, *settings)
        server = start("serve", folder, "--port", port)
        until(lambda: answers(f"http://127.0.0.1:{port}/health"))
        yield f"http://127.0.0.1:{port}/"
    finally:
        for process in (server, web):
            if process is not None:
                process.kill()
                process.wait()


def test_a_url_tells_what_a_browser_took_for_it_and_shows_its_picture(
    shown: str, window: Page, tmp_path: Path
) -> None:
    dashboard, tab = shown, Tab(window)
    window.set_viewport_size(DESKTOP)
    window.goto(f"{dashboard}#/pages?state=done")
    row = window.locator("#pages-rows tr").first
    expect(row).to_contain_text("shown by a browser")
    expect(row.locator("td").nth(2)).to_have_attribute("title", re.compile(r"Rendering took \d requests?, "))
    row.get_by_role("button").click()
    why = window.locator("#why-body")
    expect(why.get_by_role("heading", name="Shown by a browser")).to_be_visible()
    expect(why).to_contain_text(re.compile(r"Requests\dLoaded"))
    picture = why.get_by_role("img", name="The page as the browser showed it")
    picture.scroll_into_view_if_needed()
    window.wait_for_function("() => document.querySelector('.picture').naturalWidth === 1280")
    for name, size in (("desktop", DESKTOP), ("phone", PHONE)):
        window.set_viewport_size(size)
        picture.scroll_into_view_if_needed()
        window.screenshot(path=tmp_path / f"{name}.png")
        assert picture.evaluate("e => e.getBoundingClientRect().right <= innerWidth")
        found = Axe().run(window)
        assert found.violations_count == 0, found.generate_report()
    assert tab.complaints == [] and tab.origins() == {dashboard.rstrip("/")}
    tab.close()
