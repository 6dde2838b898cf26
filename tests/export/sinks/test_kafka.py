"""A topic gets a message for every visit, at least once, with an id to tell repeats by."""

from __future__ import annotations

import json
from collections import Counter
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import jsonschema_rs

from gossamer.archive.reader import read
from gossamer.records import Place
from tests.crawl.command import ROOT, gossamer, start, until
from tests.export.sinks.following import crawl_of, has_asked, messages, new_topic, pages_of, small_web
from tests.servers.kafka import Kafka, kafka

SCHEMA = json.loads((ROOT / "docs" / "crawled-pages.schema.json").read_text())


def latest(found: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {message["url"]: message for message in sorted(found, key=lambda one: str(one["fetched_at"]))}


async def must_be_equal(folder: Path, found: list[dict[str, Any]]) -> None:
    """A message for every visit in the archive, and the latest of each URL says what `gossamer pages` says."""
    pages, told = await pages_of(folder), latest(found)
    assert told.keys() == pages.keys()
    for url, page in pages.items():
        message, place = told[url], page["archive"]
        same = ("url_hash", "status", "content_hash", "title", "language", "media_type", "depth", "noindex")
        assert {name: message[name] for name in same} == {name: page[name] for name in same}
        assert (message["content_offset"], message["content_length"]) == (place["offset"], place["length"])
        assert message["content_path"] == (folder / "archive" / place["file"]).resolve().as_uri()


async def test_the_topic_has_the_pages_of_the_crawl_and_then_what_is_new(tmp_path: Path) -> None:
    folder, topic = tmp_path / "crawl", new_topic()
    settings = {"sinks__kafka": kafka().bootstrap, "sinks__topic": topic, "sinks__links": "true"}
    async with small_web() as web:
        crawl = crawl_of(web, folder, **settings)
        half = await gossamer(*crawl, "--max-pages", 20)
        assert half.code == 0, half.err
        first = messages(topic)
        await must_be_equal(folder, first)
        assert (await gossamer(*crawl, "--max-pages", 1000)).code == 0
    found = messages(topic)
    await must_be_equal(folder, found)
    assert len({message["id"] for message in found}) == len(found) > len(first)  # nothing came twice

    schema = jsonschema_rs.validator_for(SCHEMA, validate_formats=True)
    for message in found:
        schema.validate(message)
        assert message.keys() == SCHEMA["properties"].keys()
    verdicts = Counter(message["verdict"] for message in found)
    assert verdicts.keys() >= {"original", "same", None}
    # The body lies where the message says.
    page = next(message for message in found if message["verdict"] == "original")
    file = Path(unquote(urlsplit(page["content_path"]).path))
    record = read(file.parent, Place(file.name, page["content_offset"], page["content_length"]))
    assert record.headers["WARC-Target-URI"] == page["url"] and len(record.body) == page["body_bytes"]
    assert datetime.fromisoformat(record.headers["WARC-Date"]) == datetime.fromisoformat(page["fetched_at"])
    assert len(page["links"]) == page["out_links"] > 0

    again = await gossamer("export", folder, "--to", "kafka", "--full", "--json")
    assert again.lines()[0]["visits"] == len(found)
    repeated = messages(topic)
    assert Counter(message["id"] for message in repeated) == {message["id"]: 2 for message in found}


async def test_after_a_kill_every_page_is_there_at_least_once_and_repeats_have_their_id(tmp_path: Path) -> None:
    folder, topic = tmp_path / "crawl", new_topic()
    async with small_web() as web:
        crawl = crawl_of(web, folder, sinks__kafka=kafka().bootstrap, sinks__topic=topic, politeness__delay_s=0.3)
        for requests in (20, 40):
            process = await start(*crawl)
            await until(partial(has_asked, web, requests), 60)
            process.kill()
            await process.communicate()
        last = await gossamer(*crawl)
        assert last.code == 0, last.err
    found = messages(topic)
    await must_be_equal(folder, found)
    by_id = {message["id"]: message for message in found}
    assert all(by_id[message["id"]] == message for message in found)
    visits = {(message["url"], message["fetched_at"]) for message in found}
    assert len(visits) == len(by_id)


async def test_a_broker_that_is_away_at_the_start_and_in_the_middle_gets_all_of_it_later(tmp_path: Path) -> None:
    folder, topic = tmp_path / "crawl", new_topic()
    with Kafka() as broker:
        broker.kill(1)
        async with small_web() as web:
            crawl = crawl_of(web, folder, sinks__kafka=broker.bootstrap, sinks__topic=topic, politeness__delay_s=1.5)
            process = await start(*crawl)
            await until(partial(has_asked, web, 12), 60)
            broker.start(1)
            await until(partial(has_asked, web, 24), 60)
            broker.kill(1)
            _, err = await process.communicate()
            assert process.returncode == 0, err
            broker.start(1)
            cured = await gossamer("export", folder, "--to", "kafka")
            assert cured.code == 0, cured.err
        said = err.decode()
        assert said.count("records wait, nothing is lost") == said.count("answers again") + 1
        assert f"export {folder} --to kafka" in said
        await must_be_equal(folder, messages(topic, broker.bootstrap))


async def test_what_is_not_installed_or_cannot_be_meant_is_told(tmp_path: Path) -> None:
    folder = tmp_path / "crawl"
    async with small_web() as web:
        without = {"PYTHONPATH": str(tmp_path)}
        (tmp_path / "sitecustomize.py").write_text(
            "import importlib.util as u\nfind = u.find_spec\n"
            "u.find_spec = lambda name, package=None: None if name == 'confluent_kafka' else find(name, package)\n"
        )
        ran = await gossamer(*crawl_of(web, folder, sinks__kafka="127.0.0.1:9"), environment=without)
        assert ran.code == 2 and "pip install 'gossamer[cluster]'" in ran.err
        assert not web.log.entries
        assert (await gossamer(*crawl_of(web, folder), "--max-pages", 3)).code == 0
    ran = await gossamer("export", folder, "--to", "kafka")
    assert ran.code == 2 and "say where with --out" in ran.err
    ran = await gossamer("export", folder, "--to", "kafka", "--out", "127.0.0.1:9", "--text")
    assert ran.code == 2 and "--text is not for --to kafka" in ran.err
