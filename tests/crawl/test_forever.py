"""A crawl that goes on: pages of a web that drifts are visited again, as often as they are worth it and no oftener.

Time is sped up by making it short: pages change every few seconds, and the schedule is told to expect that.
"""

from __future__ import annotations

import signal
from collections import Counter
from pathlib import Path
from statistics import mean
from typing import Any

from gossamer.archive.reader import records
from gossamer.synthetic_web.options import WebOptions
from gossamer.synthetic_web.server import serve
from gossamer.synthetic_web.web import Web
from tests.crawl.command import gossamer, quick_settings, start, until
from tests.crawl.judge import broken_delays, requests_at_once

VISITS_PER_S = 8
SHORT = {
    "fetch__timeout_s": 20,
    "schedule__shortest_s": 1,
    "schedule__longest_s": 60,
    "schedule__first_guess_s": 10,
    "schedule__visits_a_day": VISITS_PER_S * 86_400,
}
REQUESTS = 220  # about 25 seconds' worth


async def test_a_drifting_web_is_visited_again_where_it_changes(folder: Path) -> None:
    web = Web(
        WebOptions(hosts=6, pages_per_host=6, seed=3, validators=True, changing=0.5, change_interval_s=(1.5, 3))
    )
    async with serve(web) as server:
        seeds = folder / "seeds.txt"
        urls = [server.url(host) + (f"p/{page}" if page else "") for host in range(6) for page in range(6)]
        seeds.write_text("\n".join(urls))
        flags = ["--dir", folder / "crawl", "--allow-private", "--forever", *quick_settings(**SHORT)]
        crawl = await start("crawl", "--file", seeds, *flags)
        try:
            await until(lambda: len(server.log.entries) >= REQUESTS, 150)
            status = (await gossamer("status", folder / "crawl", "--json")).lines()[0]
            shown = (await gossamer("status", folder / "crawl")).out
        finally:
            crawl.send_signal(signal.SIGINT)
            out, err = await crawl.communicate()
        entries = list(server.log.entries)
    assert crawl.returncode == 0, err.decode()
    assert "Stopped as asked" in out.decode()

    pages = [entry for entry in entries if "robots" not in entry.path]
    assert {entry.url for entry in pages} == set(urls)
    assert requests_at_once(entries) == [] and broken_delays(entries, web) == []

    # It goes where things change.
    visits = Counter(entry.url for entry in pages)
    changing, still = (
        [visits[url] for url in urls if bool(web.change_interval_s(url)) is changes] for changes in (True, False)
    )
    assert min(changing + still) >= 2
    assert mean(changing) > 1.3 * mean(still), (changing, still)

    # The budget is kept, and what is shown is what was done.
    span_s = entries[-1].time_out - entries[0].time_in
    assert len(pages) - len(urls) <= 1.3 * VISITS_PER_S * span_s
    facts = status["recrawl"]
    assert facts["pages"] == len(urls) and facts["budget_per_day"] == VISITS_PER_S * 86_400
    assert 0 < facts["visits"] <= len(pages) and 0 < facts["freshness"] < 1
    assert status["pages"] == len(urls)
    assert "freshness" in shown and "in the budget" in shown

    # A page that has not changed answers 304 if it can, and is not stored again in any case.
    for entry in pages:
        if not web.change_interval_s(entry.url) and entry is not first_of(pages, entry.url):
            assert entry.status == (304 if has_validators(web, entry.url) else 200)
    files = (folder / "crawl" / "archive").glob("*.warc.gz")
    stored = [record for file in files for record in records(file)]
    kinds = Counter((record.type, record.headers.get("WARC-Target-URI")) for record in stored)
    for url in urls:
        if not web.change_interval_s(url):
            assert kinds["response", url] == 1
        assert kinds["response", url] + kinds["revisit", url] == visits[url]

    # Why, and when again.
    busiest = max(urls, key=lambda url: visits[url])
    why = (await gossamer("why", folder / "crawl", busiest, "--json")).lines()[0]
    assert why["next_visit"]["visits"] == visits[busiest] and why["next_visit"]["changes_seen"] > 0
    assert "next visit in" in (await gossamer("why", folder / "crawl", busiest)).out


def first_of(entries: list[Any], url: str) -> Any:
    return next(entry for entry in entries if entry.url == url)


def has_validators(web: Web, url: str) -> bool:
    place = web.locate(url)
    assert place is not None
    page = int(place[1].removeprefix("/p/")) if place[1] != "/" else 0
    return web.atlas.hash(f"validators/{place[0]}/{page}") % 4 != 0


async def test_without_it_a_crawl_ends_and_the_next_one_goes_on_with_what_is_due(folder: Path) -> None:
    web = Web(WebOptions(hosts=2, pages_per_host=4, seed=1, changing=1.0, change_interval_s=(1, 2)))
    async with serve(web) as server:
        flags = ["--dir", folder, "--allow-private", "--scope", "any", *quick_settings(**SHORT)]
        ran = await gossamer("crawl", server.url(0), *flags)
        assert ran.code == 0 and "Complete" in ran.out
        assert len({entry.url for entry in server.log.entries}) == 8 + 2
        asked = len(server.log.entries)
        crawl = await start("crawl", *flags, "--forever")
        try:
            await until(lambda: len(server.log.entries) >= asked + 8)
        finally:
            crawl.send_signal(signal.SIGINT)
            await crawl.communicate()
        assert {entry.url for entry in server.log.entries[asked:]} <= {
            entry.url for entry in server.log.entries[:asked]
        }
