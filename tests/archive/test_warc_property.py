"""Whatever a server sends, the archive gives it back, to us and to others."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.archive.reader import links_of, records
from gossamer.archive.warc import WarcArchive, corrected, is_true_of, response_head
from gossamer.records import Exchange, Fetched, Link
from tests.archive.outcomes import outcome
from tests.archive.outside import seen_by_all

ODD_LINES = (
    b"HTTP/1.1 200 OK|HTTP/2 200|Content-Encoding: gzip|Transfer-Encoding: chunked|Content-Length: 3|WARC/1.1|X: y"
)
ODD_BYTES = [b"\r\n", b"\n", b"\r", b" ", b"\t", b":", b"\x00", b"\x1c", b"\xc2\x85", b"\xe3\x80\x80"]
ODD = st.sampled_from([*ODD_LINES.split(b"|"), *ODD_BYTES])
HEADS = st.lists(ODD | st.binary(max_size=8), max_size=20).map(b"".join)
BODIES = st.binary(max_size=500) | st.binary(max_size=20).map(lambda some: some * 1_000)
TEXTS = st.text(st.characters(), max_size=20)  # surrogates too


@settings(deadline=None)  # the disk takes the time it takes
@given(head=HEADS | HEADS.map(lambda rest: b"HTTP/1.1 200 OK\r\n" + rest), body=BODIES, path=TEXTS, request=HEADS)
def test_any_answer_is_read_back_by_every_tool(head: bytes, body: bytes, path: str, request: bytes) -> None:
    spoken = Exchange(b"GET / HTTP/1.1\r\n" + request, head, 200, "::1", 1.5, 2.5, 0.5)
    with tempfile.TemporaryDirectory() as folder:
        archive = WarcArchive(Path(folder), 0, about={"operator": path})
        asyncio.run(archive.save([outcome(Fetched(spoken, body), "http://a.test/" + path, media_type=path)] * 2))
        archive.close()
        seen = seen_by_all(Path(folder, "000-00000.warc.gz"))
    assert [record.type for record in seen] == ["warcinfo", *["request", "response", "metadata"] * 2]
    assert [record.body for record in seen if record.type == "response"] == [body, body]
    assert {record.status for record in seen if record.type == "response"} == {"200"}


LINES = st.sampled_from(
    [b"Server: a", b"content-length:3 ", b"Content-Length: 4", b"Content-Encoding: gzip", b"X:\x85"]
)
ORDINARY = st.tuples(st.sampled_from([b"HTTP/1.1 200 OK", b"HTTP/1.0 200", b"HTTP/2 200"]), st.lists(LINES | ODD))


@given(ORDINARY.map(lambda parts: b"\r\n".join([parts[0], *parts[1], b"", b""])), st.sampled_from([3, 4]))
def test_a_head_that_is_taken_as_it_is_needs_no_correction(head: bytes, body_bytes: int) -> None:
    spoken = Exchange(b"", head, 200, "", 1.5, 2.5, 0.5)
    assert response_head(spoken, body_bytes) == corrected(spoken, body_bytes)


def test_an_ordinary_head_is_taken_as_it_is() -> None:
    head = b"HTTP/1.1 200 OK\r\nServer: a\r\nContent-Length: 3\r\n\r\n"
    assert is_true_of(head, 3)
    assert not is_true_of(head, 4)
    assert not is_true_of(head.replace(b"Server", b"Content-Encoding"), 3)


@settings(deadline=None)  # the disk takes the time it takes
@given(st.lists(st.tuples(TEXTS, st.text(max_size=20), st.text(max_size=20)), max_size=5))
def test_any_links_come_back(found: list[tuple[str, str, str]]) -> None:
    links = [Link("http://a.test/" + path, anchor, rel) for path, anchor, rel in found]
    spoken = Exchange(b"", b"", 200, "", 1.5, 2.5, 0.5)
    with tempfile.TemporaryDirectory() as folder:
        archive = WarcArchive(Path(folder), 0, about={})
        asyncio.run(archive.save([outcome(Fetched(spoken, b""), links=links)]))
        archive.close()
        *_, metadata = records(Path(folder, "000-00000.warc.gz"))
    assert [(link.anchor, link.rel) for link in links_of(metadata)] == [(anchor, rel) for _, anchor, rel in found]
    assert all(link.url.startswith("http://a.test/") and " " not in link.url for link in links_of(metadata))
