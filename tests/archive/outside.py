"""What others read in our files: warcio and fastwarc, with every digest checked, against our own reader."""

from __future__ import annotations

import io
from pathlib import Path
from typing import NamedTuple

import fastwarc.warc as fastwarc
from warcio.archiveiterator import ArchiveIterator as Warcio

from gossamer.archive import reader


class Seen(NamedTuple):
    offset: int
    type: str
    fields: dict[str, str]  # of the WARC record
    status: str | None  # the status code, or the verb of a request
    http: dict[str, str]  # lower-case names
    body: bytes


def seen_by_all(path: Path) -> list[Seen]:
    """The records of a file, once all three agree on them."""
    ours = seen_by_us(path)
    data = path.read_bytes()
    assert seen_by_warcio(data) == [one._replace(http={}) for one in ours]
    assert seen_by_fastwarc(data) == [one._replace(http={}) for one in ours]
    return ours


def seen_by_us(path: Path) -> list[Seen]:
    seen = []
    for record in reader.records(path):
        assert reader.read(path.parent, record.place) == record
        first, *lines = record.head.decode("latin-1").split("\r\n")
        http = dict(line.lower().split(": ", 1) for line in lines if ": " in line)
        status = first.split()[0 if record.type == "request" else 1] if first else None
        fields = {name.lower(): value for name, value in record.headers.items()}
        seen.append(Seen(record.place.offset, record.type, fields, status, http, record.body))
    return seen


def seen_by_warcio(data: bytes) -> list[Seen]:
    seen = []
    records = Warcio(io.BytesIO(data), check_digests="raise", verify_http=True)
    for record in records:
        body, http = record.content_stream().read(), record.http_headers
        assert record.digest_checker.passed or record.rec_type == "revisit"
        status = None
        if http:
            status = http.protocol if record.rec_type == "request" else http.get_statuscode()
        fields = {name.lower(): value for name, value in record.rec_headers.headers}
        seen.append(Seen(records.get_record_offset(), record.rec_type, fields, status, {}, body))
    return seen


def seen_by_fastwarc(data: bytes) -> list[Seen]:
    for record in fastwarc.ArchiveIterator(io.BytesIO(data), parse_http=False):
        assert record.verify_block_digest() or str(record.record_type) in ("response", "resource")
    seen = []
    for record in fastwarc.ArchiveIterator(io.BytesIO(data)):
        type_ = str(record.record_type)
        assert type_ not in ("response", "resource") or record.verify_payload_digest()
        status = None
        if record.is_http:
            first = record.http_headers.status_line or ""
            status = first.split()[0 if type_ == "request" else 1]
        fields = {name.lower(): value for name, value in record.headers.items()}
        seen.append(Seen(record.stream_pos, type_, fields, status, {}, record.reader.read()))
    return seen
