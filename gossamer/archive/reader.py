"""Reading the archive back: one record by its place, or all records of a file in order.

A place is the offset and length of one gzip member, so `read` costs one seek and reads nothing that it does not
need. `records` streams: it holds one record at a time, whatever the size of the file. Both check what gzip and
the record's own Content-Length promise, and raise `ArchiveDamaged` with the file and the offset where that is
broken; `records` has given every whole record before by then. A file that is still being written may end in half
a record, which is that same exception.

Digests are not checked here: gzip's own checksum has seen the same bytes. The standard library's zlib does the
reading, a second opinion on what isal wrote; isal would save a quarter of the time.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from pathlib import Path

import msgspec

from gossamer.archive.warc import GZIP, ArchiveDamaged, LinkNote
from gossamer.records import Link, Place, Url

CHUNK_BYTES = 64 << 10


class Record(msgspec.Struct, frozen=True):
    """One WARC record. Of an HTTP message, `head` ends with its empty line; elsewhere it is empty."""

    place: Place
    headers: dict[str, str]  # the WARC fields, under the names that warc.py writes
    head: bytes
    body: bytes

    @property
    def type(self) -> str:
        return self.headers["WARC-Type"]

    @property
    def url(self) -> Url | None:
        """None for the warcinfo record, which is about the file."""
        return self.headers.get("WARC-Target-URI")


def read(folder: Path, place: Place) -> Record:
    path = folder / place.file
    try:
        with path.open("rb") as file:
            file.seek(place.offset)
            member = file.read(place.length)
    except FileNotFoundError as error:
        raise ArchiveDamaged(f"{path} is missing: put it back from a copy") from error
    gzip = zlib.decompressobj(wbits=GZIP)
    try:
        text = gzip.decompress(member)
    except zlib.error as error:
        raise damaged(path, place.offset, str(error)) from error
    if not gzip.eof or gzip.unused_data:
        raise damaged(path, place.offset, f"{place.length} bytes are not one whole record")
    return parse(path, place, text)


def records(path: Path) -> Iterator[Record]:
    offset = 0
    with path.open("rb") as file:
        rest = file.read(CHUNK_BYTES)
        while rest:
            gzip = zlib.decompressobj(wbits=GZIP)
            parts, taken = [], 0
            while not gzip.eof:
                if not rest:
                    raise damaged(path, offset, "the file ends within it")
                try:
                    parts.append(gzip.decompress(rest))
                except zlib.error as error:
                    raise damaged(path, offset, str(error)) from error
                taken += len(rest)
                rest = b"" if gzip.eof else file.read(CHUNK_BYTES)
            rest = gzip.unused_data
            length = taken - len(rest)
            yield parse(path, Place(path.name, offset, length), b"".join(parts))
            offset += length
            rest = rest or file.read(CHUNK_BYTES)


def links_of(record: Record) -> list[Link]:
    """The out-links in a metadata record; none in any other. The format is told in warc.py."""
    if record.type != "metadata":
        return []
    links, depth = [], 0
    for line in record.body.split(b"\r\n"):
        name, _, value = line.partition(b": ")
        if name == b"hopsFromSeed":
            depth = int(value)
        elif name == b"outlink":
            url, _letter, note = value.split(b" ", 2)
            about = msgspec.json.decode(note, type=LinkNote)
            links.append(
                Link(
                    url.decode(),
                    anchor=about.anchor,
                    rel=about.rel,
                    source=record.url,
                    depth=depth + 1,
                    lastmod=about.lastmod,
                )
            )
    return links


def parse(path: Path, place: Place, text: bytes) -> Record:
    """Split a decompressed record; its body is copied once, and nothing else that is large."""
    block = text.find(b"\r\n\r\n") + 4
    version, *lines = text[:block].decode(errors="replace").rstrip("\r\n").split("\r\n")
    headers = dict(line.split(": ", 1) for line in lines if ": " in line)
    end = len(text) - 4
    if not version.startswith("WARC/1.") or headers.get("Content-Length") != str(end - block):
        raise damaged(path, place.offset, "it is not a WARC record of the length that it gives")
    body = block
    if headers.get("Content-Type", "").startswith("application/http"):
        blank = text.find(b"\r\n\r\n", block, end)
        body = end if blank < 0 else blank + 4
    return Record(place, headers, text[block:body], text[body:end])


def damaged(path: Path, offset: int, what: str) -> ArchiveDamaged:
    return ArchiveDamaged(
        f"{path}: the record at offset {offset} cannot be read: {what}. Unless the crawl is still writing "
        "this file, put it back from a copy."
    )
