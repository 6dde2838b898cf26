"""A machine whose clock was wrong: what a user sees of it."""

from __future__ import annotations

import os
from pathlib import Path

from gossamer.synthetic_web.access_log import gaps_below
from gossamer.synthetic_web.options import WebOptions
from gossamer.synthetic_web.server import serve
from gossamer.synthetic_web.web import Web
from tests.crawl.command import gossamer, quick_settings

DELAY_S = 0.1
AHEAD = """
import time
wall = time.time
time.time = lambda: wall() + 400 * 86400
"""


async def test_after_a_run_with_a_clock_a_year_ahead_the_next_run_goes_on_and_says_so(folder: Path) -> None:
    (folder / "ahead").mkdir()
    (folder / "ahead" / "sitecustomize.py").write_text(AHEAD)
    ahead = {"PYTHONPATH": os.pathsep.join([str(folder / "ahead"), os.environ.get("PYTHONPATH", "")])}
    web = Web(WebOptions(hosts=2, pages_per_host=6, links_per_page=8, page_bytes=500))
    async with serve(web) as server:
        crawl = [
            "crawl",
            server.url(0),
            "--dir",
            folder / "crawl",
            "--allow-private",
            "--scope",
            "any",
            "--workers",
            1,
        ]
        crawl += quick_settings(politeness__delay_s=DELAY_S, politeness__latency_factor=0, fetch__timeout_s=20)
        first = await gossamer(*crawl, "--max-pages", 4, environment=ahead)
        assert first.code == 0, first.err
        before = len(server.log.entries)
        second = await gossamer(*crawl, "--set", "crawl.max_pages=null")
        entries = server.log.entries
    assert second.code == 0 and "Complete" in second.out, second.err
    assert "400.0 days ahead" in second.err, second.err
    assert len({entry.url for entry in entries[before:] if entry.path != "/robots.txt"}) >= 8
    assert {entry.host for entry in entries[before:] if entry.path == "/robots.txt"}, (
        "the old copies are in the future"
    )
    assert gaps_below(entries, lambda _: DELAY_S) == []
