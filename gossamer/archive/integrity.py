"""Is the archive sound? Every record is unpacked and its digests are compared, and what can be read is read.

gzip's checksum and the record's digest have seen the same bytes, one after and one before they were packed.
`salvaged` reads on behind a damaged record: it looks for the next place where a whole one begins, so that one flipped
bit costs one record.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

from gossamer.archive.reader import Record, damaged, members, parse, read
from gossamer.archive.record import uri_text
from gossamer.archive.segments import parsed
from gossamer.archive.storage import ArchiveDamaged, Storage
from gossamer.records import Place, Url

MAGIC = b"\x1f\x8b\x08"  # a gzip member begins so (RFC 1952)


def salvaged(
    storage: Storage, name: str, start: int = 0, end: int | None = None
) -> Iterator[tuple[Place, bytes] | ArchiveDamaged]:
    """The members of a file, and in the place of those that cannot be read, why."""
    at: int | None = start
    while at is not None and (end is None or at < end):
        try:
            for place, text in members(storage, name, at, end):
                yield place, text
                at = place.offset + place.length
            return
        except ArchiveDamaged as fault:
            yield fault
            at = next_member(storage, name, at + 1)


def next_member(storage: Storage, name: str, start: int) -> int | None:
    """Where the first whole record begins at or behind an offset; None: there is none."""
    window, at = b"", start
    for chunk in storage.chunks(name, start):
        window += chunk
        found = window.find(MAGIC)
        while found >= 0:
            try:
                _, text = next(members(storage, name, at + found))
                if text.startswith(b"WARC/"):
                    return at + found
            except ArchiveDamaged:
                pass  # three bytes of a record that happen to look like a beginning
            found = window.find(MAGIC, found + 1)
        at += len(window) - 2
        window = window[-2:]
    return None


def faults_in(storage: Storage, name: str, end: int | None) -> Iterator[str | None]:
    """For every record of a file what is wrong with it; None: nothing."""
    for found in salvaged(storage, name, end=end):
        if isinstance(found, ArchiveDamaged):
            yield str(found)
            continue
        try:
            check_record(storage, parse(storage, *found))
        except ArchiveDamaged as fault:
            yield str(fault)
        else:
            yield None


def check_record(storage: Storage, record: Record) -> None:
    payload, block = record.headers.get("WARC-Payload-Digest"), record.headers.get("WARC-Block-Digest")
    if payload and record.type in ("response", "resource") and payload != f"sha256:{sha256(record.body)}":
        raise damaged(storage, record.place, "its content is not what its digest says")
    if block and block != f"sha256:{sha256(record.head + record.body)}":
        raise damaged(storage, record.place, "it is not what its digest says")


def check_place(storage: Storage, url: Url, place: Place) -> None:
    """Whether what a URL's record points to is that URL's."""
    if parsed(place.file) is None:
        raise ArchiveDamaged(f"the record of {url} points to {place.file}, which is no archive file")
    try:
        found = read(storage, place).url
    except FileNotFoundError:
        raise ArchiveDamaged(f"{storage.where}/{place.file} is missing: put it back from a copy") from None
    if found != uri_text(url):
        raise damaged(storage, place, f"the record of {url} points to it, and it is of {found}")


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
