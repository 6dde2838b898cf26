"""What the archive keeps of each outcome, as outside tools see it."""

from __future__ import annotations

import asyncio
import hashlib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from gossamer.archive.reader import read
from gossamer.archive.record import LARGE_BODY_BYTES
from gossamer.archive.warc import WarcArchive
from gossamer.records import (
    Exchange,
    Failed,
    Fetched,
    Link,
    Outcome,
    Place,
    Reason,
    Refused,
    Result,
    RobotsCopy,
    RobotsRead,
    Verdict,
)
from tests.archive.outcomes import PAGE_URL, STARTED_AT, exchange, fetched, folder_of, moved, outcome, pages
from tests.archive.outside import Seen, seen_by_all, seen_by_fastwarc, seen_by_warcio

ABOUT = {"operator": "Zoë <zoe@a.test>", "robots": "obey", "isPartOf": "crawl-7"}
SAME = Verdict("same", of="http://b.test/first", at=STARTED_AT - 86_400)


@pytest.fixture
def archive(tmp_path: Path) -> Iterator[WarcArchive]:
    archive = WarcArchive(tmp_path / "archive", 7, about=ABOUT)
    yield archive
    archive.close()


async def saved(archive: WarcArchive, *outcomes: Outcome) -> list[Seen]:
    """Save one group; what is in the file then, without the warcinfo record."""
    await archive.save(outcomes)
    assert archive.end is not None
    return seen_by_all(folder_of(archive) / archive.end.file)[1:]


async def test_outside_tools_read_every_record_and_its_digests_hold(archive: WarcArchive) -> None:
    not_modified = outcome(fetched(b"HTTP/1.1 304 Not Modified\r\n\r\n", b"", 304), "http://a.test/5")
    group = [*pages(3), outcome(moved(), "http://a.test/4"), not_modified, outcome(fetched(), verdict=SAME)]
    types = [record.type for record in await saved(archive, *group)]
    new = ["request", "response", "metadata"]
    assert types == new * 3 + ["request", "response"] + ["request", "revisit"] * 2
    [file] = folder_of(archive).iterdir()
    assert file.name == "007-00000.warc.gz"
    command = [sys.executable, "-c", "from warcio.cli import main; main()", "check", "-v", str(file)]
    check = await asyncio.to_thread(subprocess.run, command, capture_output=True, text=True, check=False)
    assert check.returncode == 0, check.stdout + check.stderr
    assert "no digest" not in check.stdout


async def test_a_place_leads_every_tool_to_the_record_of_its_url(archive: WarcArchive) -> None:
    group = [*pages(3), outcome(moved(), "http://a.test/4"), outcome(fetched(), "http://a.test/5", verdict=SAME)]
    places = [*await archive.save(group[:2]), *await archive.save(group[2:])]
    for saved_outcome, place in zip(group, places, strict=True):
        assert place is not None
        with (folder_of(archive) / place.file).open("rb") as file:
            file.seek(place.offset)
            member = file.read(place.length)
        for [record] in (seen_by_warcio(member), seen_by_fastwarc(member)):
            assert record.fields["warc-target-uri"] == saved_outcome.lease.url
            assert record.type in {"response", "revisit"}


async def test_a_new_page_is_kept_with_its_request_and_its_links(archive: WarcArchive) -> None:
    body = b"<p>Hello\r\n\r\n\x00\xff"
    link = Link("http://b.test/", anchor="Read on", rel="nofollow")
    request, response, metadata = await saved(archive, outcome(fetched(body=body), links=[link]))

    assert request.fields["content-type"] == "application/http;msgtype=request"
    assert (request.status, request.http["host"]) == ("GET", "a.test")

    assert response.fields["warc-target-uri"] == PAGE_URL
    assert response.fields["warc-date"] == "2023-11-14T22:13:20.250000Z"
    assert response.fields["warc-ip-address"] == "127.0.0.1"
    assert response.fields["warc-identified-payload-type"] == "text/html"
    assert response.fields["warc-payload-digest"] == "sha256:" + hashlib.sha256(body).hexdigest()
    assert (response.status, response.http["server"], response.body) == ("200", "nginx", body)

    assert metadata.body.decode().split("\r\n") == [
        "via: http://a.test/",
        "hopsFromSeed: 2",
        "fetchTimeMs: 500",
        'outlink: http://b.test/ L {"anchor":"Read on","rel":"nofollow"}',
        "",
    ]
    ids = [record.fields["warc-record-id"] for record in (request, response, metadata)]
    assert len(set(ids)) == 3
    assert request.fields["warc-concurrent-to"] == metadata.fields["warc-concurrent-to"] == ids[1]
    assert response.fields["warc-concurrent-to"] == ids[0]


async def test_a_given_content_hash_is_the_payload_digest(archive: WarcArchive) -> None:
    digest = hashlib.sha256(b"<p>Hello").hexdigest()
    _, response, _ = await saved(archive, outcome(fetched(), content_hash=digest))
    assert response.fields["warc-payload-digest"] == "sha256:" + digest


async def test_known_content_is_kept_as_a_revisit_without_its_body(archive: WarcArchive) -> None:
    _, revisit = await saved(archive, outcome(fetched(), verdict=SAME))
    assert revisit.fields["warc-profile"] == "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"
    assert revisit.fields["warc-refers-to-target-uri"] == "http://b.test/first"
    assert revisit.fields["warc-refers-to-date"] == "2023-11-13T22:13:20.250000Z"
    assert revisit.fields["warc-payload-digest"] == "sha256:" + hashlib.sha256(b"<p>Hello").hexdigest()
    assert (revisit.status, revisit.http["server"], revisit.http["content-length"]) == ("200", "nginx", "8")
    assert revisit.body == b""


async def test_a_near_copy_is_a_revisit_that_says_how_near(archive: WarcArchive) -> None:
    near = Verdict("near", of="http://b.test/first", at=STARTED_AT, distance=2)
    own = [Link("http://b.test/next", position="main")]
    _, revisit, metadata = await saved(archive, outcome(fetched(), links=own, verdict=near))
    assert revisit.fields["warc-profile"] == "urn:gossamer:revisit:near-duplicate"
    assert revisit.fields["gossamer-distance"] == "2"
    assert revisit.fields["warc-refers-to-target-uri"] == "http://b.test/first"
    assert revisit.body == b""
    # Its links are sent, and need not be those of the other.
    assert b'outlink: http://b.test/next L {"position":"main"}' in metadata.body
    assert metadata.fields["warc-concurrent-to"] == revisit.fields["warc-record-id"]


async def test_an_answer_304_is_kept_as_not_modified_since_the_visit_before(archive: WarcArchive) -> None:
    head = b"HTTP/1.1 304 Not Modified\r\nETag: x\r\nContent-Length: 77\r\n\r\n"
    unchanged = Verdict("unchanged", of=PAGE_URL, at=STARTED_AT - 60)
    _, revisit = await saved(archive, outcome(fetched(head, b"", 304), verdict=unchanged))
    assert revisit.fields["warc-profile"] == "http://netpreserve.org/warc/1.1/revisit/server-not-modified"
    assert revisit.fields["warc-refers-to-target-uri"] == PAGE_URL
    assert revisit.fields["warc-refers-to-date"] == "2023-11-14T22:12:20.250000Z"
    assert "warc-payload-digest" not in revisit.fields  # that of an empty body would be a lie
    assert revisit.http == {"etag": "x", "x-archive-orig-content-length": "77"}


async def test_a_redirect_is_kept_with_its_body(archive: WarcArchive) -> None:
    request, response = await saved(archive, outcome(moved("http://a.test/2")))
    assert (request.type, response.type) == ("request", "response")
    assert (response.status, response.http["location"], response.body) == ("301", "http://a.test/2", b"moved")


async def test_what_brought_no_answer_leaves_nothing_behind(archive: WarcArchive) -> None:
    nothing: list[Result] = [
        Failed(Reason.GONE, exchange(b"HTTP/1.1 404 Not Found\r\n\r\n", 404)),
        Refused(Reason.ROBOTS),
        RobotsRead(RobotsCopy("http://a.test", 0.0, 200)),
    ]
    assert await archive.save([outcome(result) for result in nothing]) == [None, None, None]
    assert await archive.save([]) == []
    assert archive.end is None
    assert not folder_of(archive).exists()


async def test_places_keep_the_order_of_the_group(archive: WarcArchive) -> None:
    places = await archive.save([outcome(Refused(Reason.ROBOTS)), *pages(1), outcome(Refused(Reason.ROBOTS))])
    assert [place is not None for place in places] == [False, True, False]


async def test_headers_that_a_decoded_body_made_untrue_are_kept_under_other_names(archive: WarcArchive) -> None:
    head = (
        b"HTTP/1.1 200 OK\r\ncontent-encoding: br\r\nTransfer-Encoding : chunked\r\nContent-Length: 5\r\n"
        b"ETag: \xe9\r\n\r\n"
    )
    _, response, _ = await saved(archive, outcome(fetched(head, b"decoded body")))
    assert response.http == {
        "x-archive-orig-content-encoding": "br",
        "x-archive-orig-transfer-encoding ": "chunked",
        "x-archive-orig-content-length": "5",
        "etag": "é",
        "content-length": "12",
    }
    assert response.body == b"decoded body"


async def test_a_head_that_is_true_stays_as_it_was_received(archive: WarcArchive) -> None:
    head = b"HTTP/1.0 200 All is well\r\nserver:x\r\nContent-Length: 4\r\nFolded: a\r\n b\r\n\r\n"
    [place] = await archive.save([outcome(fetched(head, b"body"))])
    assert place is not None
    assert read(folder_of(archive), place).head == head


async def test_http_2_is_written_for_readers_that_know_http_1(archive: WarcArchive) -> None:
    spoken = Exchange(
        b"GET /1 HTTP/2\r\nHost: a.test\r\n\r\n", b"HTTP/2 200 \r\nserver: h2\r\n\r\n", 200, "", 1.0, 2.0, 0.5
    )
    request, response, _ = await saved(archive, outcome(Fetched(spoken, b"x")))
    assert response.status == "200"
    assert response.http["x-archive-orig-status-line"] == "http/2 200 "
    assert request.http["x-archive-orig-request-line"] == "get /1 http/2"
    assert "warc-ip-address" not in response.fields


async def test_a_head_too_large_for_other_readers_is_cut(archive: WarcArchive) -> None:
    head = b"HTTP/1.1 200 OK\r\nServer: x\r\n" + b"Content-Length: 3\r\n" * 12_000 + b"\r\n"
    _, response, _ = await saved(archive, outcome(fetched(head, b"body")))
    assert response.http["server"] == "x"
    assert int(response.http["x-archive-orig-head-bytes"]) > 200_000
    assert (response.http["content-length"], response.body) == ("4", b"body")


@pytest.mark.parametrize(
    "head",
    [
        b"",
        b"\r\n",
        b"HTTP/1.1 200\r\n\r\n",
        b"HTTP/1.1 200 " + b"OK" * 20_000 + b"\r\n\r\n",
        b"ICY 200 OK\r\n\r\n",
        b"HTTP/1.1 200 OK\nServer: x\n\n",
        b"HTTP/1.1 200 OK\r\nServer: x\r\n \r\n\r\n",
        b"HTTP/1.1 200 OK\r\nServer: x\r\n\xc2\xa0\r\nWARC/1.1\r\nWARC-Type: response\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nA: b\rC: d\x00\r\r\nno colon\r\n: no name\r\n\xff\xfe: \xe9\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Encoding\t: br\r\n\r\n",
    ],
)
async def test_no_head_breaks_a_record(archive: WarcArchive, head: bytes) -> None:
    _, response, *_ = await saved(archive, outcome(fetched(head, b"body\r\n\r\nbody")), *pages(1, start=2))
    assert (response.status, response.body) == ("200", b"body\r\n\r\nbody")


@pytest.mark.parametrize(
    ("url", "kept"),
    [
        ("http://a.test/\r\nWARC-Type: warcinfo\r\n\r\n", "http://a.test/%0D%0AWARC-Type:%20warcinfo%0D%0A%0D%0A"),
        ("http://a.test/é b", "http://a.test/%C3%A9%20b"),
        ("http://a.test/\ud800?q=%41", "http://a.test/%ED%A0%80?q=%41"),
    ],
)
async def test_no_url_breaks_a_record(archive: WarcArchive, url: str, kept: str) -> None:
    hostile = outcome(fetched(), url, links=[Link(url)], verdict=Verdict(), media_type="text/html\r\nX: y")
    copy = outcome(fetched(), url, verdict=Verdict("same", of=url, at=0.0))
    _, response, metadata, _, revisit = await saved(archive, hostile, copy)
    assert response.fields["warc-target-uri"] == revisit.fields["warc-refers-to-target-uri"] == kept
    assert f"outlink: {kept} L {{}}\r\n" in metadata.body.decode()


async def test_a_large_body_is_kept_whole(archive: WarcArchive) -> None:
    body = bytes(range(256)) * (LARGE_BODY_BYTES // 256) + b"and more"
    _, response, _ = await saved(archive, outcome(fetched(body=body)))
    assert response.body == body


async def test_a_full_file_is_followed_by_a_new_one_that_says_whose_it_is(tmp_path: Path) -> None:
    archive = WarcArchive(tmp_path / "archive", 7, about=ABOUT, file_bytes_max=5_000)
    places: list[Place | None] = []
    for number in range(1, 8):
        places += await archive.save(pages(1, start=number))
    files = sorted(folder_of(archive).iterdir())
    assert [file.name for file in files] == [f"007-0000{number}.warc.gz" for number in range(4)]
    assert {place.file for place in places if place} == {file.name for file in files}
    for file in files:
        first = seen_by_all(file)[0]
        assert (first.type, first.fields["warc-filename"]) == ("warcinfo", file.name)
        lines = first.body.decode().split("\r\n")
        assert {"operator: Zoë <zoe@a.test>", "robots: obey", "isPartOf: crawl-7"} < set(lines)
        assert lines[0].startswith("software: gossamer/")
    archive.close()
