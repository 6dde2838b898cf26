"""The documentation site: complete, generated where the code knows best, and readable without a network."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from gossamer import config
from gossamer.commands.parser import VERBS
from tests.browser.browser import Tab, chromium
from tests.docs.blocks import ROOT
from tests.shared_crawl import once


async def built(place: Path) -> Path:
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    command = [sys.executable, str(ROOT / "docs" / "build.py"), str(place)]
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=False)  # noqa: ASYNC221
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return place


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    return once(tmp_path_factory, worker_id, "site", built)


def test_every_page_has_a_place_in_the_navigation() -> None:
    named = re.findall(r'"([\w/-]+\.md)"', (ROOT / "docs" / "zensical.toml").read_text(encoding="utf-8"))
    assert len(named) == len(set(named))
    assert {page.name for page in (ROOT / "docs").glob("*.md")} <= set(named)


def test_settings_and_commands_are_those_of_the_code(site: Path) -> None:
    text = (site / "settings.html").read_text(encoding="utf-8")
    assert [key for key in config.SETTINGS if f"<code>{key}</code>" not in text] == []
    text = (site / "commands.html").read_text(encoding="utf-8")
    assert [verb for verb in VERBS if f"usage: gossamer {verb} " not in text] == []


def test_every_link_leads_to_a_file_and_nothing_is_loaded_from_elsewhere(site: Path) -> None:
    pages = list(site.rglob("*.html"))
    assert len(pages) > 50
    for page in pages:
        text = page.read_text(encoding="utf-8")
        assert not re.findall(r"<(?:script|img|link|iframe)[^>]+(?:src|href)=.?https?:[^ >]+", text), page
        for target in re.findall(r'(?:href|src)="?([^"#? >]+)', text):
            if not re.match(r"\w+:", target) and page.name != "404.html":
                assert (page.parent / target).exists(), f"{page.relative_to(site)}: {target}"


def test_the_claims_name_tests_that_exist(site: Path) -> None:
    """The build stops at a file that is not there; here it is what the file holds."""
    named = re.findall(r"\.\./(tests/[\w/]+\.py)\)", (ROOT / "docs" / "claims.md").read_text(encoding="utf-8"))
    assert len(named) > 60
    for name in named:
        assert re.search(
            r"^(async )?def test_|^class Test", (ROOT / name).read_text(encoding="utf-8"), re.MULTILINE
        ), name
        assert (site / "source" / f"{name}.txt").is_file()


def test_it_is_read_and_searched_from_disk(site: Path) -> None:
    with chromium() as browser:
        tab = Tab(browser.new_page())
        tab.page.goto((site / "index.html").as_uri())
        tab.page.get_by_role("link", name="for owners of sites").first.click()
        tab.page.wait_for_url("**/site-owners.html")
        tab.page.get_by_role("button", name="Search").first.click()
        tab.page.get_by_placeholder("Search").fill("Crawl-delay")
        tab.page.get_by_role("link", name=re.compile("owners", re.IGNORECASE)).first.wait_for()
        assert not tab.complaints
        assert {url.partition(":")[0] for url in tab.asked} <= {"file", "data", "blob"}
