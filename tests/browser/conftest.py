from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page

from tests.browser.browser import DESKTOP, Tab, chromium
from tests.browser.hostile import HostileSite, hostile_site
from tests.browser.stage import SITE, Stage, staged


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as browser:
        yield browser


@pytest.fixture(scope="module")
def hostile() -> Iterator[HostileSite]:
    with hostile_site() as site:
        yield site


# Of a module and no wider: while a browser is open, its event loop counts as running, and no other can.
# The browser comes first: where there is none, nothing else has to be started.
@pytest.fixture(scope="module")
def stage(browser: Browser, hostile: HostileSite, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    port = hostile.url.rstrip("/").rpartition(":")[2]
    site = [f"http://{name}.{SITE}:{port}/" for name in ("www", "shop")]
    with staged(tmp_path_factory.mktemp("stage"), hostile.url, *site) as stage:
        yield stage


@pytest.fixture(scope="module")
def window(browser: Browser) -> Page:
    """One for all tests: a new one costs more than what most of them do in it."""
    return browser.new_page()


@pytest.fixture
def tab(stage: Stage, window: Page) -> Iterator[Tab]:
    """The dashboard, newly opened on a desktop screen in daylight."""
    window.set_viewport_size(DESKTOP)
    window.emulate_media(color_scheme="light")
    tab = Tab(window)
    window.goto(stage.url)
    window.evaluate("localStorage.clear()")
    window.reload()
    window.wait_for_selector("body[data-link=good]")
    yield tab
    tab.close()
