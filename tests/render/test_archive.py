"""The archive of a crawl with a browser, read by tools that know nothing of us."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from gossamer.synthetic_web.answer import Request
from tests.archive.outside import Seen, seen_by_all
from tests.crawl.command import gossamer
from tests.export.pywb import environment, replayed, wayback
from tests.render.scripted_crawl import SHOWN, Crawled


@pytest.fixture(scope="module")
def seen(crawled: Crawled) -> list[Seen]:
    """Every record of every file, once warcio, fastwarc and our reader agree on it and on its digests."""
    files = sorted((crawled.folder / "archive").glob("*.warc.gz"))
    return [record for path in files for record in seen_by_all(path)]


def sent(crawled: Crawled, url: str) -> bytes:
    place = crawled.web.locate(url)
    assert place is not None
    return crawled.web.answer(Request(*place, now=crawled.options.born_at)).body


def test_what_the_server_sent_is_kept_as_it_was(crawled: Crawled, seen: list[Seen]) -> None:
    responses = {one.fields["warc-target-uri"]: one for one in seen if one.type == "response"}
    for url in crawled.truth.built:
        if url in responses:
            assert responses[url].body == sent(crawled, url)
    assert len(responses.keys() & crawled.truth.built.keys()) > len(crawled.truth.built) / 2


def test_a_rendered_document_is_a_conversion_of_the_answer(crawled: Crawled, seen: list[Seen]) -> None:
    by_id = {one.fields["warc-record-id"]: one for one in seen}
    conversions = [one for one in seen if one.type == "conversion"]
    rendered = {
        url for url, page in crawled.pages.items() if page.get("rendered") and not page["rendered"].get("fault")
    }
    assert {one.fields["warc-refers-to-target-uri"] for one in conversions} <= rendered
    assert {one.fields["warc-refers-to-target-uri"] for one in conversions} >= crawled.truth.built.keys()
    for one in conversions:
        assert one.fields["content-type"].startswith("text/html")
        source = by_id[one.fields["warc-refers-to"]]
        assert source.fields["warc-target-uri"] == one.fields["warc-refers-to-target-uri"]
        assert one.fields["warc-target-uri"] == SHOWN + source.fields["warc-target-uri"]
        assert source.type in ("response", "revisit")


def test_pywb_replays_what_the_server_sent(crawled: Crawled, tmp_path: Path) -> None:
    programs = environment()
    index = tmp_path / "collections" / "theirs" / "indexes" / "index.cdxj"
    index.parent.mkdir(parents=True)
    (index.parent.parent / "archive").symlink_to(crawled.folder / "archive")
    with index.open("wb") as file:
        subprocess.run([programs / "cdx-indexer", "-j", "-s", crawled.folder / "archive"], stdout=file, check=True)
    urls = sorted(url for url in crawled.truth.built if crawled.kind_of(url) in ("inline", "requested", "hydrated"))
    with wayback(programs, tmp_path) as port:
        for url in urls:
            assert replayed(port, "theirs", url) == (200, None, sent(crawled, url)), url


async def test_exports_have_the_rendered_text(crawled: Crawled, tmp_path: Path) -> None:
    file = tmp_path / "pages.jsonl"
    ran = await gossamer("export", crawled.folder, "--to", "jsonl", "--text", "--out", file)
    assert ran.code == 0, ran.err
    rows = {row["url"]: row for row in map(json.loads, file.read_text(encoding="utf-8").splitlines())}
    for url in crawled.truth.built:
        assert rows[url]["rendered"], url
        assert crawled.truth.built[url] in rows[url]["text"], url
