"""Visits, as the archive gives them back."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from random import Random

import msgspec
import pytest

from gossamer.archive.storage import ArchiveDamaged, FolderStorage
from gossamer.archive.visits import Visit, visits
from gossamer.archive.warc import WarcArchive
from gossamer.export import parquet
from gossamer.export.rows import LINKS, PAGES, link_rows, page_row
from gossamer.interfaces import Archive
from gossamer.records import Link, Outcome, Place, Verdict
from gossamer.settings.kinds import MIB
from tests.archive.outcomes import STARTED_AT, fetched, moved, outcome, pages
from tests.s3.server import server
from tests.worker.places import objects_in

SAME = Verdict("same", of="http://b.test/first", at=STARTED_AT - 100)
NEAR = Verdict("near", of="http://b.test/first", at=STARTED_AT - 100, distance=2)
UNCHANGED = Verdict("unchanged", of="http://a.test/1")
LINKED = [Link("http://b.test/next", "Read\non", "nofollow", position="main"), Link("http://c.test/", lastmod="2026")]
DIGEST = "ab" * 32


def archive_of(folder: Path, file_bytes_max: int = MIB) -> Archive:
    return WarcArchive(FolderStorage(folder), 7, about={}, file_bytes_max=file_bytes_max)


def group() -> list[Outcome]:
    return [
        outcome(fetched(body=b"<p>First"), "http://a.test/1", links=LINKED),
        outcome(fetched(), "http://a.test/same", verdict=SAME, links=LINKED, content_hash=DIGEST),
        outcome(moved("http://a.test/2"), "http://a.test/old"),
        outcome(fetched(), "http://a.test/near", verdict=NEAR, links=LINKED[:1], content_hash=DIGEST),
        outcome(fetched(b"HTTP/1.1 304 Not Modified\r\n\r\n", b"", 304), "http://a.test/1", verdict=UNCHANGED),
        outcome(fetched(body=b"<p>Last"), "http://a.test/last"),
    ]


async def test_a_visit_is_what_was_saved(folder: Path) -> None:
    archive = archive_of(folder)
    places = await archive.save(group())
    found = list(visits(FolderStorage(folder), 7, None, archive.end))
    assert [visit.place for visit in found] == places
    assert [(visit.url[14:], visit.kind, visit.verdict, visit.status) for visit in found] == [
        ("1", "response", "original", 200),
        ("same", "revisit", "same", 200),
        ("old", "response", "", 301),
        ("near", "revisit", "near", 200),
        ("1", "revisit", "unchanged", 304),
        ("last", "response", "original", 200),
    ]
    first, same, redirect, near, unchanged, last = found
    assert (first.body(), first.body_bytes, first.ip) == (b"<p>First", 8, "127.0.0.1")
    assert first.declared == ("text/html", None)
    assert [(link.url, link.anchor, link.rel, link.position, link.lastmod, link.depth) for link in first.links] == [
        ("http://b.test/next", "Read\non", "nofollow", "main", None, 3),
        ("http://c.test/", "", "", "", "2026", 3),
    ]
    assert (same.refers_to, same.refers_at, same.content_hash, same.body_bytes) == (SAME.of, SAME.at, DIGEST, 8)
    assert ([link.url for link in same.links], same.body()) == (["http://b.test/next", "http://c.test/"], b"")
    assert (redirect.header("Location"), redirect.is_redirect) == ("http://a.test/2", True)
    assert (near.distance, [link.url for link in near.links]) == (2, ["http://b.test/next"])
    assert (unchanged.refers_to, unchanged.content_hash, unchanged.body_bytes) == ("http://a.test/1", "", None)
    assert last.at == STARTED_AT


async def test_a_page_that_says_nofollow_says_it_of_every_link(folder: Path) -> None:
    archive = archive_of(folder)
    links = [*LINKED, Link("http://d.test/", rel="next")]
    one = outcome(fetched(), links=links)
    assert one.page is not None
    page = msgspec.structs.replace(one.page, nofollow=True)
    await archive.save([msgspec.structs.replace(one, page=page)])
    (found,) = visits(FolderStorage(folder), 7, None, archive.end)
    assert [link.rel for link in found.links] == ["nofollow", "nofollow", "next nofollow"]


async def test_between_two_ends_lies_what_was_saved_between_them(folder: Path) -> None:
    archive = archive_of(folder, file_bytes_max=1_000)  # a new file after each group or two
    ends: list[Place | None] = [None]
    for number in range(6):
        await archive.save(pages(2, start=10 * number))
        ends.append(archive.end)
    storage = FolderStorage(folder)
    assert len(list(storage.names("007-"))) > 2
    for first in range(7):
        for last in range(first, 7):
            urls = [visit.url for visit in visits(storage, 7, ends[first], ends[last])]
            assert urls == [f"http://a.test/{10 * number + i}" for number in range(first, last) for i in (0, 1)]
    assert list(visits(storage, 3, None, None)) == []


async def test_what_lies_behind_the_end_is_not_looked_at(folder: Path) -> None:
    archive = archive_of(folder)
    await archive.save(pages(2))
    assert archive.end is not None
    with (folder / archive.end.file).open("ab") as file:
        file.write(b"half a record")
    assert len(list(visits(FolderStorage(folder), 7, None, archive.end))) == 2
    with pytest.raises(ArchiveDamaged, match="cannot be read"):
        list(visits(FolderStorage(folder), 7, None, Place(archive.end.file, archive.end.offset + 5, 0)))


async def test_a_file_that_was_joined_with_others_since_is_handed_on(folder: Path) -> None:
    archive = archive_of(folder, file_bytes_max=1)
    ends = []
    for number in range(3):
        await archive.save(pages(1, start=number))
        ends.append(archive.end)
    # Compaction joins only what every target has had.
    (folder / "007-00000.warc.gz").unlink()
    (folder / "007-00001.warc.gz").rename(folder / "007-00000-00001-1.warc.gz")
    assert [visit.url for visit in visits(FolderStorage(folder), 7, ends[1], ends[2])] == ["http://a.test/2"]


async def test_a_file_by_ftp_has_no_head(folder: Path) -> None:
    archive = archive_of(folder)
    await archive.save([outcome(fetched(b"", b"text"), "ftp://a.test/readme", media_type="text/plain")])
    (visit,) = visits(FolderStorage(folder), 7, None, archive.end)
    assert (visit.kind, visit.status, visit.media_type, visit.body()) == ("resource", None, "text/plain", b"text")
    row = dict(zip((column.name for column in PAGES), page_row(visit, None, "mine"), strict=True))
    assert (row["url_protocol"], row["subset"], row["is_latest"]) == ("ftp", "warc", False)
    assert row["url_hash"] == sha256(visit.url.encode()).hexdigest()
    assert (row["is_duplicate"], row["priority_score"]) == (False, None)


def peak_bytes(all_visits: Iterator[Visit], folder: Path) -> int:
    tracemalloc.start()
    with (
        parquet.ParquetTable(folder / "pages.parquet", PAGES) as page_table,
        parquet.ParquetTable(folder / "links.parquet", LINKS) as link_table,
    ):
        for visit in all_visits:
            page_table.add(page_row(visit, None, "mine"))
            for row in link_rows(visit):
                link_table.add(row)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


async def test_memory_does_not_grow_with_the_archive(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet, "ROWS_MAX", 20)
    archive = archive_of(folder / "archive", file_bytes_max=10 * MIB)
    links = [Link(f"http://b.test/{number}", f"page {number}") for number in range(20)]
    ends = []
    for start in (0, 40, 80, 120):
        await archive.save(
            [
                outcome(fetched(body=Random(number).randbytes(30_000)), f"http://a.test/{number}", links=links)
                for number in range(start, start + 40)
            ]
        )
        ends.append(archive.end)
    storage = FolderStorage(folder / "archive")
    peak_bytes(visits(storage, 7, None, ends[0]), folder)  # whatever is imported or remembered, once
    small, large = (peak_bytes(visits(storage, 7, None, end), folder) for end in (ends[0], ends[3]))
    assert large < small * 1.5


async def test_after_the_note_of_a_lost_owner_all_of_the_next_one_is_read() -> None:
    """In a bucket every save is an object. The lost one went on for a while, and noted how far: in its own story."""
    storage = objects_in(server().new_place())

    async def save(archive: Archive, *names: str) -> Place:
        for name in names:
            await archive.save([outcome(fetched(body=name.encode()), f"http://a.test/{name}")])
        assert archive.end is not None
        return archive.end

    lost = WarcArchive(storage, 7, 5, about={}, file_bytes_max=MIB)
    committed = await save(lost, "one", "two")
    noted = await save(lost, "three", "four", "five")
    following = WarcArchive(storage, 7, 6, about={}, file_bytes_max=MIB)
    await following.recover(committed)
    assert list(visits(storage, 7, noted, committed)) == []
    until = await save(following, "3", "4", "5", "6")
    assert [visit.url[14:] for visit in visits(storage, 7, noted, until)] == ["3", "4", "5", "6"]
    assert [visit.url[14:] for visit in visits(storage, 7, committed, until)] == ["3", "4", "5", "6"]
    later = await save(following, "7")
    assert [visit.url[14:] for visit in visits(storage, 7, until, later)] == ["7"]
