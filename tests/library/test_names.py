"""What there is can be found: by `dir`, by a type checker, and without waiting for it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from mypy import api

import gossamer
from tests.crawl.command import ROOT

PROGRAM = """
from __future__ import annotations

import asyncio

import gossamer
from gossamer import ConfigError, Crawled, FolderError, Link, Page, Reason, Report, Verdict


@gossamer.processes("text/x-recipe")
def recipe(body: bytes, url: str, content_type: str | None) -> Page:
    return Page(url, title="A recipe", links=[Link("/next")])


def wanted(link: Link) -> bool:
    return link.depth < 3


def told(page: Crawled) -> str | None:
    if page.reason is Reason.ROBOTS:
        return page.detail
    verdict: Verdict | None = page.verdict
    return page.main_text if verdict and verdict.is_original else None


async def main() -> Report:
    async with gossamer.crawl("https://example.org/", scope="site", delay="2s", filters=[wanted]) as pages:
        async for page in pages:
            told(page)
            pages.set_policy("example.org", delay=3, paused=False)
            new: int = pages.add("https://example.org/more")
    return pages.report


try:
    report = asyncio.run(main())
    for page in gossamer.crawl_sync(revisit=["https://example.org/"], every="1h", dir="D", max_time=60.0):
        title: str = page.title
    count: int = report.reasons.get(Reason.GONE, 0)
except (ConfigError, FolderError) as fault:
    print(fault)
"""
MISTAKES = """
import gossamer

gossamer.crawl("https://example.org/", scope="page")
gossamer.crawl_sync("https://example.org/", max_page=3)
gossamer.crawl_sync("https://example.org/").set_policy("example.org", pause=True)
for page in gossamer.crawl_sync("https://example.org/"):
    page.titel
"""


def test_dir_has_all_that_programs_use_and_each_is_there() -> None:
    names = dir(gossamer)
    wanted = (
        "crawl crawl_sync processes Crawl Crawled Report Page Link Reason Verdict ConfigError FolderError NotASeed"
    )
    assert {*wanted.split(), "__version__"} <= set(names) == set(vars(gossamer)["__all__"])
    for name in names:
        assert getattr(gossamer, name) is not None
    stub = (ROOT / "gossamer" / "__init__.pyi").read_text(encoding="utf-8")
    assert all(f" as {name}\n" in stub or name == "__version__" for name in names)
    assert gossamer.crawl_sync.__doc__ == gossamer.crawl.__doc__
    with pytest.raises(AttributeError, match="has no attribute 'crawls'"):
        gossamer.crawls  # type: ignore[attr-defined]  # noqa: B018


def test_the_package_is_imported_without_the_crawler() -> None:
    code = "import sys, gossamer, gossamer.records; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert not {"asyncio", "numpy", "pycurl", "rocksdict", "selectolax", "gossamer.library"} & set(loaded.split())


def test_a_strict_type_checker_knows_what_programs_use(folder: Path) -> None:
    (folder / "program.py").write_text(PROGRAM)
    (folder / "mistakes.py").write_text(MISTAKES)
    config = ["--strict", "--config-file", str(ROOT / "pyproject.toml"), "--cache-dir", str(ROOT / ".mypy_cache")]
    said, faults, _ = api.run(
        [*config, "--explicit-package-bases", str(folder / "program.py"), str(folder / "mistakes.py")]
    )
    lines = [line for line in said.splitlines() if ": error: " in line]
    assert not faults and [line.split(":")[0].endswith("mistakes.py") for line in lines] == [True] * 4, said
    assert [line.split(":")[1] for line in lines] == ["4", "5", "6", "8"]
