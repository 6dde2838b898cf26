"""The view of nodes and partitions, over a cluster of two nodes at work."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect

from tests.browser.browser import DESKTOP, PHONE, WIDE, Tab
from tests.browser.stage import until
from tests.browser.test_dashboard import DARK_RULES, LIGHT_RULES, SCHEMES
from tests.crawl.command import start
from tests.node.cluster import PARTITIONS, Cluster, cluster
from tests.s3.server import ENVIRONMENT
from tests.s3.server import server as s3
from tests.servers.kafka import kafka


class ClusterStage:
    """A cluster in an event loop of its own: that of the browser counts as running in this thread."""

    def __init__(self, folder: Path) -> None:
        self.cluster: Cluster
        self._folder = folder
        self._url: Future[str] = Future()
        self._over = threading.Event()

    def run(self) -> None:
        try:
            asyncio.run(self._run())
        except BaseException as fault:
            if self._url.done():
                raise
            self._url.set_exception(fault)

    async def _run(self) -> None:
        async with cluster(
            self._folder, hosts=6, pages=400, politeness__delay_s=0.2, cluster__session_s=20
        ) as self.cluster:
            async with asyncio.timeout(90):
                await self.cluster.crawl()
                await self.cluster.start("n1", "n2")
                server = await start("serve", self.cluster.file, "--port", 0, environment=ENVIRONMENT)
                assert server.stdout is not None
                self._url.set_result((await server.stdout.readline()).decode().split()[-1])
            await asyncio.to_thread(self._over.wait)
            server.send_signal(signal.SIGTERM)
            await server.communicate()

    @property
    def url(self) -> str:
        """Once the cluster is there: others may have the one that this machine has at a time."""
        return self._url.result()

    def end(self) -> None:
        self._over.set()


@contextmanager
def staged(folder: Path) -> Iterator[ClusterStage]:
    kafka(), s3()  # in this thread: they end with the one that started them
    stage = ClusterStage(folder)
    thread = threading.Thread(target=stage.run)
    thread.start()
    try:
        assert stage.url
        yield stage
    finally:
        stage.end()
        thread.join()


@pytest.fixture(scope="module")
def cluster_stage(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ClusterStage]:
    with staged(tmp_path_factory.mktemp("cluster")) as stage:
        yield stage


def test_the_nodes_of_a_cluster_fit_every_screen_and_axe_finds_nothing(
    window: Page, cluster_stage: ClusterStage, tmp_path: Path
) -> None:
    """To be looked at: the pictures are in pytest's temporary folder."""
    page, tab = window, Tab(window)
    page.set_viewport_size(DESKTOP)
    page.goto(cluster_stage.url)
    expect(page.locator("#state")).to_have_text("Running")
    page.get_by_role("link", name="Nodes").click()
    rows, partitions = page.locator("#nodes-rows tr"), page.locator("#partitions-rows tr")
    expect(rows).to_have_count(2)
    expect(rows.nth(0).locator(".pill")).to_have_text("working")
    expect(rows.nth(1).locator(".pill")).to_have_text("working")
    expect(partitions).to_have_count(PARTITIONS)
    expect(page.locator("#partitions-note")).to_have_text(f"{PARTITIONS} of {PARTITIONS} partitions have an owner")
    expect(page.locator("#nodes-note")).to_contain_text("coordinated by n")
    expect(page.locator("#nodes-alarms")).to_be_hidden()
    axe = Axe()
    for scheme in SCHEMES:
        page.emulate_media(color_scheme=scheme)
        found = axe.run(page, options=LIGHT_RULES if scheme == "light" else DARK_RULES)
        assert found.violations_count == 0, f"{scheme}: {found.generate_report()}"
    page.emulate_media(color_scheme="light")
    for size in (PHONE, DESKTOP, WIDE):
        page.set_viewport_size(size)
        page.screenshot(path=tmp_path / f"nodes-{size['width']}.png", full_page=True)
        assert page.evaluate("document.documentElement.scrollWidth") == size["width"], size

    # The whole is steered from here, and a node that is gone is missed.
    page.set_viewport_size(DESKTOP)
    page.locator("#pause").click()
    expect(page.locator("#state")).to_have_text("Paused")
    expect(page.locator("#nodes-alarms")).to_contain_text("n2: as asked")
    asked = len(cluster_stage.cluster.log)
    page.wait_for_timeout(1500)
    assert len(cluster_stage.cluster.log) - asked <= 2  # those that were under way
    page.locator("#pause").click()
    expect(page.locator("#state")).to_have_text("Running")
    cluster_stage.cluster.signal("n1", signal.SIGKILL)
    expect(page.locator("#nodes-alarms")).to_contain_text("n1 was not heard of for")
    page.screenshot(path=tmp_path / "nodes-missing.png", full_page=True)
    expect(page.locator("#nodes-rows tr")).to_have_count(1)  # the other one has all
    until(lambda: len(cluster_stage.cluster.log) > asked + 20)
    page.goto(f"{cluster_stage.url}#/hosts")
    expect(page.locator("#hosts tr")).to_have_count(6)
    assert tab.complaints == []
    tab.close()
