"""`pages` and `hosts`: filters, order, limit, and a heading for people; programs get one object a line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.export.crawls import Crawls, command, crawl_twice
from tests.shared_crawl import once


@pytest.fixture(scope="module")
def crawl(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    crawls: Crawls = once(tmp_path_factory, worker_id, "exports", crawl_twice)
    return crawls.whole


def rows(verb: str, crawl: Path, *flags: object) -> list[dict[str, Any]]:
    ran = command(verb, crawl, "--json", *flags)
    assert ran.code == 0, ran.err
    return ran.lines()


def host_of(row: dict[str, Any]) -> str:
    return str(row["url"]).split("/")[2].partition(":")[0]


def test_pages_are_chosen_by_each_of_their_fields(crawl: Path) -> None:
    every = rows("pages", crawl)
    host, at = host_of(every[0]), sorted(row["fetched_at"] for row in every)[len(every) // 2]
    for flags, wanted in (
        (["--host", host], lambda row: host_of(row) == host),
        (["--status", "404"], lambda row: row["status"] == 404),
        (["--status", "3xx"], lambda row: row["status"] and row["status"] // 100 == 3),
        (["--state", "done"], lambda row: row["state"] == "done"),
        (["--reason", "gone"], lambda row: row["reason"] == "gone"),
        (["--verdict", "same"], lambda row: row["verdict"] == "same"),
        (["--since", at], lambda row: row["fetched_at"] >= at),
        (
            ["--host", host, "--verdict", "original"],
            lambda row: host_of(row) == host and row["verdict"] == "original",
        ),
    ):
        chosen = {row["url"] for row in every if wanted(row)}
        assert {row["url"] for row in rows("pages", crawl, *flags)} == chosen, flags
        assert 0 < len(chosen) < len(every) or flags[1] == "done", flags
    assert rows("pages", crawl, "--since", "0s") == []
    assert len(rows("pages", crawl, "--since", "1d")) == len(every)


def test_pages_of_a_state_include_those_that_were_never_requested(crawl: Path) -> None:
    refused = rows("pages", crawl, "--state", "refused", "--reason", "robots")
    assert {(row["state"], row["reason"]) for row in refused} <= {("refused", "robots")}
    asked = {row["url"] for row in rows("pages", crawl)}
    known = [row for state in STATES for row in rows("pages", crawl, "--state", state)]
    assert asked <= {row["url"] for row in known} and len(known) == len({row["url"] for row in known})


STATES = ("queued", "in_flight", "waiting", "done", "failed", "refused", "quarantined")


def test_lists_are_sorted_and_cut(crawl: Path) -> None:
    every = rows("pages", crawl)
    by_size = rows("pages", crawl, "--sort", "bytes", "--reverse")
    assert [row["bytes"] for row in by_size] == sorted((row["bytes"] for row in every), reverse=True)
    assert [row["bytes"] for row in rows("pages", crawl, "--sort", "bytes", "--reverse", "--limit", 3)] == [
        row["bytes"] for row in by_size[:3]
    ]
    assert [row["url"] for row in rows("pages", crawl, "--sort", "url", "--limit", 4)] == sorted(
        row["url"] for row in every
    )[:4]
    hosts = rows("hosts", crawl)
    assert [row["host"] for row in rows("hosts", crawl, "--sort", "pages", "--reverse", "--limit", 1)] == [
        max(hosts, key=lambda row: row["pages"])["host"]
    ]
    assert rows("pages", crawl, "--limit", 0) == []


def test_hosts_are_chosen_by_name_state_reason_and_time(crawl: Path) -> None:
    every = rows("hosts", crawl)
    name = every[0]["host"]
    assert [row["host"] for row in rows("hosts", crawl, "--host", name)] == [name]
    states = {
        row["host"]: state
        for state in ("queued", "resting", "done")
        for row in rows("hosts", crawl, "--state", state)
    }
    assert set(states) == {row["host"] for row in every}
    assert {row["host"] for row in rows("hosts", crawl, "--reason", "gone")} == {
        row["host"] for row in every if "gone" in (row["last_error"], row["delay_reason"])
    }
    assert rows("hosts", crawl, "--since", "0s") == []


def test_people_get_a_heading_and_programs_do_not(crawl: Path) -> None:
    for verb, heading in (("pages", "status reason or verdict"), ("hosts", "host  ")):
        lines = command(verb, crawl, "--limit", 2).out.splitlines()
        assert lines[0].startswith(heading) and len(lines) == 3
