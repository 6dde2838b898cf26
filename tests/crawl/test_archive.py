"""The archive of a real crawl, read by tools that know nothing of us."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import fastwarc.warc as fastwarc
import pytest
from warcio.archiveiterator import ArchiveIterator as Warcio

from gossamer.archive import reader
from gossamer.records import Place
from tests.archive.outside import Seen, seen_by_all
from tests.crawl.everything import Crawled


@pytest.fixture(scope="module")
def records(crawled: Crawled) -> list[Seen]:
    """Every record of every file, once warcio, fastwarc and our reader agree on it and on its digests."""
    files = sorted((crawled.folder / "archive").glob("*.warc.gz"))
    return [record for path in files for record in seen_by_all(path)]


def stored(crawled: Crawled) -> Iterator[tuple[str, dict[str, Any]]]:
    for url, page in crawled.pages.items():
        if page["archive"]:
            yield url, page


def test_everything_fetched_is_in_the_archive(crawled: Crawled) -> None:
    done = {url for url, page in crawled.pages.items() if page["state"] == "done"}
    assert dict(stored(crawled)).keys() == done


def test_every_pages_offset_gives_its_record_in_warcio_and_in_fastwarc(crawled: Crawled) -> None:
    for url, page in stored(crawled):
        wanted = "revisit" if page["verdict"] == "same" else "response"  # a near copy has a body of its own
        place = page["archive"]
        with (crawled.folder / "archive" / place["file"]).open("rb") as file:
            file.seek(place["offset"])
            by_warcio = next(iter(Warcio(file)))
            assert (by_warcio.rec_headers.get_header("WARC-Target-URI"), by_warcio.rec_type) == (url, wanted)
            file.seek(place["offset"])
            by_fastwarc = next(iter(fastwarc.ArchiveIterator(file)))
            assert (by_fastwarc.headers["WARC-Target-URI"], str(by_fastwarc.record_type)) == (url, wanted)


def test_the_digest_in_the_archive_is_the_one_in_the_page_record(crawled: Crawled, records: list[Seen]) -> None:
    responses = {record.fields["warc-target-uri"]: record for record in records if record.type == "response"}
    for url, page in stored(crawled):
        if page["verdict"] == "original":
            assert responses[url].fields["warc-payload-digest"] == f"sha256:{page['content_hash']}"
            assert len(responses[url].body) == page["bytes"]


def test_no_content_is_stored_twice(records: list[Seen]) -> None:
    pages = [record for record in records if record.type == "response" and record.status == "200"]
    times = Counter(record.fields["warc-payload-digest"] for record in pages)
    assert len(pages) > 1500
    assert [digest for digest, count in times.items() if count > 1] == []


def test_the_links_of_a_page_are_those_that_the_web_put_there(crawled: Crawled) -> None:
    compared = 0
    for path in (crawled.folder / "archive").glob("*.warc.gz"):
        for record in reader.records(path):
            if record.type == "metadata" and "/p/" in (record.url or ""):
                assert record.url is not None
                assert {link.url for link in reader.links_of(record)} == crawled.truth.links[record.url]
                compared += 1
    assert compared > 500


def test_our_own_reader_gives_the_body_back(crawled: Crawled) -> None:
    url, page = next((url, page) for url, page in stored(crawled) if page["verdict"] == "original")
    record = reader.read(crawled.folder / "archive", Place(**page["archive"]))
    assert (record.url, len(record.body)) == (url, page["bytes"])
