"""`report` and `changes`: what they count is what `pages` lists and what a server has done meanwhile."""

from __future__ import annotations

import signal
import time
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.crawl.command import gossamer, quick_settings, start, until
from tests.export.crawls import PLAIN, Crawls, command, crawl_twice, page
from tests.fetch.raw_server import raw_server
from tests.shared_crawl import once

LINES = [f"Line {number} of a page that says enough to be told from all the others here." for number in range(30)]

OTHER = "What once stood in paragraph {} was written anew by somebody else."


@pytest.fixture(scope="module")
def crawl(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    crawls: Crawls = once(tmp_path_factory, worker_id, "exports", crawl_twice)
    return crawls.whole


def report(crawl: Path, *flags: object) -> dict[str, Any]:
    ran = command("report", crawl, "--json", *flags)
    assert ran.code == 0, ran.err
    (facts,) = ran.lines()
    return facts


def test_a_report_counts_what_pages_lists(crawl: Path) -> None:
    rows = command("pages", crawl, "--json").lines()
    facts = report(crawl, "--limit", 1000)
    assert facts["urls"] == len(rows) == sum(row["urls"] for row in facts["hosts"])
    assert facts["statuses"] == Counter(str(row["status"]) if row["status"] else "no answer" for row in rows)
    assert facts["reasons"] == Counter(row["reason"] for row in rows if row["reason"])
    pages = [row for row in rows if row["state"] == "done" and not row["moved_to"]]
    assert facts["pages"] == len(pages) and facts["failed"] == sum(row["state"] != "done" for row in rows)
    assert facts["media_types"] == Counter(row["media_type"] for row in pages)
    assert facts["languages"] == Counter(row["language"] for row in pages if row["language"])
    assert facts["verdicts"] == Counter(row["verdict"] for row in pages if row["verdict"])
    assert facts["bytes"] == sum(row["bytes"] for row in rows)
    assert sum(hour["urls"] for hour in facts["over_time"]) == len(rows)
    assert sum(hour["failed"] for hour in facts["over_time"]) == facts["failed"]


def test_a_report_of_one_host_of_a_time_and_of_few_rows(crawl: Path) -> None:
    facts = report(crawl, "--limit", 1)
    assert len(facts["hosts"]) == len(facts["media_types"]) == 1 < len(facts["statuses"])
    [largest] = facts["hosts"]
    of_host = report(crawl, "--host", largest["host"])
    assert of_host["hosts"] == [largest] and of_host["urls"] == largest["urls"]
    assert report(crawl, "--since", "0s")["urls"] == 0
    assert command("report", crawl, "--since", "0s").out == "nothing was asked for\n"


def test_a_report_for_people(crawl: Path) -> None:
    shown = command("report", crawl).out
    for words in ("URLs asked for", "status", "media type", "text/html", "not there (404 or 410)", "hour (UTC)", "#"):
        assert words in shown, words
    assert max(map(len, shown.splitlines())) < 120


def written(lines: list[str], *links: str) -> list[bytes | float]:
    text = "".join(f"<p>{line}</p>" for line in lines) + "".join(f"<a href='{link}'>x</a>" for link in links)
    return page(f"<title>{lines[0]}</title><main>{text}</main>".encode())


async def test_what_is_new_changed_and_gone_since_a_moment(folder: Path) -> None:
    other = [OTHER.format(number) if 3 <= number < 20 else line for number, line in enumerate(LINES)]
    before = {"/": written(["home"], "/kept", "/changed", "/gone"), "/kept": written(["kept", *LINES])}
    before |= {"/changed": written(LINES), "/gone": written(["gone", *LINES[:9]])}
    after = before | {"/changed": written(other), "/gone": [PLAIN], "/new": written(["new", *LINES[20:]])}
    after["/"] = written(["home"], "/kept", "/changed", "/new")
    site = dict(before)
    flags = ["--dir", folder / "crawl", "--allow-private"]
    often = {"schedule__shortest_s": 1, "schedule__longest_s": 2, "schedule__first_guess_s": 1}
    flags += quick_settings(**often, fetch__timeout_s=20, schedule__visits_a_day=10 * 86_400)
    async with raw_server() as server:
        asked = Counter[str]()

        def answer(request: bytes) -> list[bytes | float]:
            path = request.split()[1].decode()
            asked[path] += 1
            return site.get(path, [PLAIN])

        server.answer = answer
        assert (await gossamer("crawl", server.url("/"), *flags)).code == 0
        url = server.url
        moment = time.time()
        site, asked = after, Counter()
        crawl = await start("crawl", *flags, "--forever")
        try:
            await until(lambda: all(asked[path] > 1 for path in ("/", "/kept", "/changed", "/new")), 90)
            await until(lambda: asked["/gone"] > 0, 90)
        finally:
            crawl.send_signal(signal.SIGINT)
            await crawl.communicate()

    since = ["--since", datetime.fromtimestamp(moment, UTC).isoformat()]
    found = (await gossamer("changes", folder / "crawl", *since, "--json")).lines()
    assert {row["url"]: row["change"] for row in found} == {
        url("/changed"): "changed",
        url("/gone"): "gone",
        url("/new"): "new",
    }
    ran = await gossamer("changes", folder / "crawl", *since, "--only", "changed", "--diff")
    assert ran.out.startswith("changed ") and url("/new") not in ran.out
    assert f"-{LINES[3]}" in ran.out and f"+{OTHER.format(3)}" in ran.out and f"-{LINES[2]}" not in ran.out
    assert "1 page since then: 1 changed" in ran.err
    assert (await gossamer("changes", folder / "crawl", "--since", "0s", "--json")).out == ""


def test_changes_needs_to_know_since_when(crawl: Path) -> None:
    ran = command("changes", crawl)
    assert ran.code == 2 and "--since" in ran.err
