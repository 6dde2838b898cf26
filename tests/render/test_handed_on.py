"""Whoever is handed the pages of a crawl is told which of them a browser showed, and what that took."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet  # type: ignore[import-untyped]

from gossamer.synthetic_web import WebOptions
from tests.crawl.command import gossamer
from tests.debian import program
from tests.export.sinks.following import crawl_of, messages, new_database, new_topic, pages_of, query, small_web
from tests.servers.kafka import kafka
from tests.servers.postgres import ENVIRONMENT

OPTIONS = replace(
    WebOptions(hosts=2, pages_per_host=3, page_bytes=1000),
    scripted_hosts=1,
    scripted_kinds=("requested",),
    scripted_pages=4,
)
FIELDS = ("rendered", "render_requests", "render_bytes", "render_seconds")


def told(rows: list[dict[str, Any]]) -> dict[str, tuple[Any, ...]]:
    return {row["url"]: tuple(row[name] for name in FIELDS) for row in rows}


async def test_exports_and_sinks_tell_what_a_browser_showed_and_what_it_took(folder: Path) -> None:
    program("chromium", "chromium")
    crawl, topic, database = folder / "crawl", new_topic(), new_database()
    sinks = {"sinks__kafka": kafka().bootstrap, "sinks__topic": topic, "sinks__postgres": database}
    async with small_web(OPTIONS) as web:
        ran = await gossamer(*crawl_of(web, crawl, **sinks), environment=ENVIRONMENT, timeout_s=200)
        assert ran.code == 0, ran.err
    pages = await pages_of(crawl)
    costs = {url: page["rendered"] for url, page in pages.items()}
    figures = {
        url: (True, cost["requests"], cost["bytes"], cost["seconds"]) if cost else (False, None, None, None)
        for url, cost in costs.items()
    }
    assert sum(each[0] for each in figures.values()) == OPTIONS.scripted_pages < len(figures)

    for form in ("jsonl", "parquet"):
        assert (await gossamer("export", crawl, "--to", form, "--out", folder / form)).code == 0
    lines = (folder / "jsonl").read_text().splitlines()
    assert told([json.loads(line) for line in lines]) == figures
    assert told(pyarrow.parquet.read_table(folder / "parquet" / "pages").to_pylist()) == figures
    assert told(messages(topic)) == figures
    assert told(await query(database, "SELECT * FROM pages")) == figures
