"""Crawls with sinks, run as users run them, and what the sinks have got."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import count
from pathlib import Path
from typing import Any

import asyncpg  # type: ignore[import-untyped]
import msgspec
from confluent_kafka import Consumer, TopicPartition

from gossamer.synthetic_web.options import RobotsKind, WebOptions
from gossamer.synthetic_web.server import Server, serve
from gossamer.synthetic_web.web import Web
from tests.crawl.command import gossamer, quick_settings
from tests.servers.kafka import kafka
from tests.servers.postgres import PASSWORD, server

OPTIONS = WebOptions(
    seed=5,
    hosts=4,
    pages_per_host=12,
    redirects=1 / 12,
    duplicates=1 / 12,
    near_duplicates=1 / 16,
    robots_kinds=(RobotsKind.OPEN, RobotsKind.MISSING),
    noindex=1 / 12,
    not_found=1 / 24,
)
numbers = count()


@asynccontextmanager
async def small_web(options: WebOptions = OPTIONS) -> AsyncIterator[Server]:
    async with serve(Web(options)) as web:
        yield web


def crawl_of(web: Server, folder: Path, *flags: object, **settings: object) -> list[object]:
    """All its pages; with `delay_s`, 48 of them at 4 hosts take 12 times that."""
    told = quick_settings(**{"politeness__delay_s": 0.01, "crawl__partitions": 3, "fetch__timeout_s": 20, **settings})
    return ["crawl", web.url(0), "--dir", folder, "--allow-private", "--scope", "any", "--workers", 1, *told, *flags]


def has_asked(web: Server, requests: int) -> bool:
    return len(web.log.entries) >= requests


async def pages_of(folder: Path) -> dict[str, dict[str, Any]]:
    """What the crawl says of each page that its archive has."""
    pages = (await gossamer("pages", folder, "--json")).lines()
    return {page["url"]: page for page in pages if page["archive"]}


# ---- PostgreSQL ----------------------------------------------------------------------------------------------


def new_database() -> str:
    """Its URL; the password is in ENVIRONMENT."""
    return server().database(f"crawl_{next(numbers)}")


async def execute(url: str, text: str) -> None:
    """Several statements, too."""
    connection = await asyncpg.connect(url, password=PASSWORD)
    try:
        await connection.execute(text)
    finally:
        connection.terminate()


async def query(url: str, text: str, *values: object) -> list[dict[str, Any]]:
    connection = await asyncpg.connect(url, password=PASSWORD)
    try:
        return [dict(row) for row in await connection.fetch(text, *values)]
    finally:
        connection.terminate()


async def rows(url: str, crawl: str = "crawl") -> dict[str, dict[str, Any]]:
    found = await query(url, "SELECT * FROM pages WHERE crawl = $1", crawl)
    return {row["url"]: row for row in found}


async def must_be_equal(folder: Path, url: str, *, is_visited_again: bool = False) -> None:
    """The tables say what `gossamer pages` and `gossamer hosts` say.

    `is_visited_again`: a row is as of its visit, and a shorter way to its page, or a copy, may have come since."""
    pages, found = await pages_of(folder), await rows(url, folder.name)
    assert found.keys() == pages.keys()
    for page in pages.values():
        row, place = found[page["url"]], page["archive"]
        said = (row["url_hash"], row["status_code"], row["content_hash"], row["title"], row["language"])
        told = (page["url_hash"], page["status"], page["content_hash"], page["title"], page["language"])
        assert said == told, (said, told)
        assert row["media_type"] == page["media_type"]
        if not is_visited_again:
            assert (row["depth"], row["content_dedup"]) == (page["depth"], page["is_duplicate"]), (row, page)
        assert (row["content_offset"], row["content_length"]) == (place["offset"], place["length"])
        assert row["content_path"] == (folder / "archive" / place["file"]).resolve().as_uri()
        assert row["fetched_at"].strftime("%Y-%m-%dT%H:%M:%SZ")[:16] == page["fetched_at"][:16].replace(" ", "T")
    hosts = (await gossamer("hosts", folder, "--json")).lines()
    domains = await query(url, "SELECT domain, page_count FROM domains WHERE crawl = $1", folder.name)
    assert {row["domain"]: row["page_count"] for row in domains} == {
        host["host"]: host["pages"] for host in hosts if host["pages"]
    }


# ---- Kafka ---------------------------------------------------------------------------------------------------


def new_topic() -> str:
    return f"crawled-{next(numbers)}"


def messages(topic: str, servers: str = "") -> list[dict[str, Any]]:
    """All that a topic has."""
    consumer = Consumer(
        {"bootstrap.servers": servers or kafka().bootstrap, "group.id": "test", "enable.auto.commit": False}
    )
    try:
        found = consumer.list_topics(topic, timeout=10).topics[topic].partitions
        ends = {number: consumer.get_watermark_offsets(TopicPartition(topic, number), timeout=10) for number in found}
        consumer.assign([TopicPartition(topic, number, low) for number, (low, _) in ends.items()])
        wanted = sum(high - low for low, high in ends.values())
        values: list[dict[str, Any]] = []
        while len(values) < wanted:
            for message in consumer.consume(wanted, timeout=1):
                assert not message.error()
                value = msgspec.json.decode(message.value() or b"")
                assert message.key() == value["url"].encode()
                values.append(value)
        return values
    finally:
        consumer.close()
