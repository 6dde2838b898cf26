"""Compaction in every place, also where it dies in the middle: what is kept is there once, and is found."""

from __future__ import annotations

import copy
import itertools
import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path

import msgspec
import pytest

from gossamer.archive import reader, segments
from gossamer.archive.compaction import Compaction, Moves, Summary
from gossamer.archive.listing import microseconds, visits_in
from gossamer.archive.segments import ENDING, parsed
from gossamer.archive.storage import FolderStorage, Storage
from gossamer.archive.warc import WarcArchive
from gossamer.export.positions import Export
from gossamer.records import Claim, Exchange, Fetched, Lease, Link, Outcome, Page, Place, Url, Verdict
from gossamer.settings import ArchiveSettings
from gossamer.settings.kinds import MIB
from tests.archive.outside import seen_by_all
from tests.s3.server import server

DAY_S = 86_400.0
NOW = 1_700_000_000.5
SETTINGS = ArchiveSettings(file_bytes_max=MIB)


class Died(Exception):
    """A crash, for whoever looks at what is left."""


@dataclass
class PaperBooks:
    """The archive records of a crawl in memory: where each page's record lies, and who claimed what."""

    partitions: int = 2
    pages: dict[bytes, Place] = field(default_factory=dict)
    ends: dict[int, Place | None] = field(default_factory=dict)
    claims: set[tuple[bytes, int]] = field(default_factory=set)

    def key(self, url: Url) -> bytes:
        return url.encode()

    def end(self, partition: int) -> Place | None:
        return self.ends.get(partition)

    def places(self, partition: int, pages: list[bytes]) -> dict[bytes, Place]:
        return {page: self.pages[page] for page in pages if page in self.pages}

    def move(self, partition: int, moves: Moves, end: Place | None) -> None:
        self.pages.update(moves)
        if end is not None:
            self.ends[partition] = end

    def forget(self, is_dropped: Callable[[bytes, int], bool]) -> None:
        self.claims = {claim for claim in self.claims if not is_dropped(*claim)}


@dataclass
class Crawl:
    """An archive that is filled visit by visit, each its own commit."""

    folder: Path
    storage: Storage
    settings: ArchiveSettings
    records: PaperBooks = field(default_factory=PaperBooks)

    async def visit(self, url: Url, body: bytes, days: float, verdict: Verdict | None = None) -> None:
        partition = int(url[-1]) % self.records.partitions
        archive = WarcArchive(self.storage, partition, about={"operator": "me"}, file_bytes_max=1)
        await archive.recover(self.records.end(partition))
        at = NOW + days * DAY_S
        status = 304 if verdict and verdict.kind == "unchanged" else 200
        head = f"HTTP/1.1 {status} OK\r\nServer: x\r\n\r\n".encode()
        result = Fetched(Exchange(b"GET / HTTP/1.1\r\n\r\n", head, status, "::1", at, at + 1, 0.5), body)
        claim = Claim(sha256(body).hexdigest(), url, at) if status == 200 else None
        page = Page(url, "text/html", links=[Link("http://a.test/next")]) if status == 200 else None
        outcome = Outcome(Lease(Link(url), "a.test", 0.0), result, page, verdict or Verdict(), claim)
        [place] = await archive.save([outcome])
        archive.close()
        assert place is not None
        self.records.pages[self.records.key(url)] = place
        self.records.ends[partition] = archive.end
        if claim and outcome.verdict.is_original:
            self.records.claims.add((self.records.key(url), microseconds(at)))

    def compact(self, *exports: Export, die_at: int | None = None, dry: bool = False) -> Summary:
        steps = 0

        def reached(point: str) -> None:
            nonlocal steps
            steps += 1
            if steps == die_at:
                raise Died(point)

        compaction = Compaction(
            self.storage, self.records, self.settings, [export.positions for export in exports], NOW, reached
        )
        return compaction.run(self.folder / "catalogue", dry=dry)

    def files(self) -> list[str]:
        return [name for partition in range(2) for name in segments.files(self.storage, partition)]

    def visits(self) -> list[tuple[Url, int]]:
        """What a reader sees, every visit that is in force: its URL, and on which day that was."""
        names = [name for name in map(parsed, self.files()) if name is not None]
        found = [visit for name in names for visit in visits_in(self.storage, name, None)]
        return sorted((visit.url, round((visit.at / 1e6 - NOW) / DAY_S)) for visit in found)

    def claimed(self, url: Url) -> list[int]:
        return sorted(round((at / 1e6 - NOW) / DAY_S) for key, at in self.records.claims if key == url.encode())

    def limit(self, **limits: float) -> None:
        self.settings = msgspec.structs.replace(self.settings, **limits)

    def check_places(self) -> None:
        """Every page's place leads to its own record."""
        for key, place in self.records.pages.items():
            assert reader.read(self.storage, place).url == key.decode()


@pytest.fixture(params=["folder", "bucket"])
def crawl(request: pytest.FixtureRequest, tmp_path: Path) -> Crawl:
    storage = (
        FolderStorage(tmp_path / "archive") if request.param == "folder" else server().storage(server().new_place())
    )
    return Crawl(tmp_path, storage, SETTINGS)


A, B, C, D = (f"http://a.test/{number}" for number in (1, 2, 3, 4))
ALL = [(A, -90), (A, -60), (A, -40), (A, -2), (B, -70), (C, -80), (D, -50), (D, -1)]


async def history(crawl: Crawl) -> None:
    """A changes three times, B has A's first content, C is old and never changed, D was confirmed lately."""
    await crawl.visit(A, b"one", -90)
    await crawl.visit(C, b"old", -80)
    await crawl.visit(B, b"one", -70, Verdict("same", A, NOW - 90 * DAY_S))
    await crawl.visit(A, b"two", -60)
    await crawl.visit(D, b"d", -50)
    await crawl.visit(A, b"three", -40)
    await crawl.visit(A, b"four", -2)
    await crawl.visit(D, b"", -1, Verdict("unchanged", D))


async def test_without_limits_all_is_kept_and_the_files_of_a_partition_become_one(crawl: Crawl) -> None:
    await history(crawl)
    summary = crawl.compact()
    assert crawl.visits() == ALL
    assert crawl.files() == [f"000-00000-00002-1{ENDING}", f"001-00000-00004-1{ENDING}"]
    assert (summary.files_before, summary.files_after, summary.visits_dropped) == (8, 2, 0)
    crawl.check_places()


async def test_limits_drop_old_versions_but_none_that_others_refer_to(crawl: Crawl) -> None:
    await history(crawl)
    crawl.limit(keep_versions=2)
    crawl.compact()
    assert crawl.visits() == [each for each in ALL if each != (A, -60)]
    # What is gone is claimed by nobody: no later copy can refer to it.
    assert crawl.claimed(A) == [-90, -40, -2]
    crawl.limit(keep_s=30 * DAY_S)
    crawl.compact()
    assert crawl.visits() == [each for each in ALL if each not in [(A, -60), (A, -40)]]
    crawl.check_places()


async def test_a_dry_run_tells_what_would_be_done_and_does_nothing(crawl: Crawl) -> None:
    await history(crawl)
    crawl.limit(keep_versions=1)
    before = dict(crawl.storage.sizes())
    planned = crawl.compact(dry=True)
    assert dict(crawl.storage.sizes()) == before
    assert crawl.compact() == planned
    assert sum(dict(crawl.storage.sizes()).values()) == planned.bytes_after < planned.bytes_before
    assert planned.versions_dropped == 2


async def test_what_was_not_exported_stays_as_it_is(crawl: Crawl) -> None:
    await history(crawl)
    crawl.limit(keep_versions=1)
    third = Place(f"001-00002{ENDING}", crawl.storage.size(f"001-00002{ENDING}"), 0)
    summary = crawl.compact(Export("jsonl", positions={0: crawl.records.ends[0] or third, 1: third}))
    assert crawl.files() == [f"000-00000-00002-1{ENDING}", f"001-00000-00002-1{ENDING}"] + [
        f"001-{number:05d}{ENDING}" for number in (3, 4)
    ]
    assert summary.files_not_exported == 2
    assert crawl.visits() == [each for each in ALL if each != (A, -60)]
    assert crawl.compact(Export("jsonl")).files_not_exported == 4  # one that has nothing yet waits for everything


async def test_saving_goes_on_in_a_new_file_and_compacting_too(crawl: Crawl) -> None:
    await history(crawl)
    crawl.compact()
    await crawl.visit(A, b"five", -1)
    assert crawl.files()[-1] == f"001-00005{ENDING}"
    crawl.compact()
    assert crawl.files() == [f"000-00000-00002-1{ENDING}", f"001-00000-00005-2{ENDING}"]
    assert crawl.visits() == sorted([*ALL, (A, -1)])
    crawl.check_places()


async def test_a_death_at_any_step_loses_nothing(tmp_path: Path) -> None:
    kept = [each for each in ALL if each != (A, -60)]
    before = Crawl(tmp_path, FolderStorage(tmp_path / "before"), SETTINGS)
    await history(before)
    before.limit(keep_versions=2)
    for step in itertools.count(1):
        folder = shutil.copytree(tmp_path / "before", tmp_path / str(step))
        crawl = Crawl(tmp_path, FolderStorage(folder), before.settings, copy.deepcopy(before.records))
        try:
            crawl.compact(die_at=step)
            break
        except Died:
            found = crawl.visits()
            assert kept in (found, [each for each in found if each != (A, -60)])
            crawl.check_places()
            await crawl.visit(C, b"new", 0)
            crawl.compact()
            assert crawl.visits() == sorted([*kept, (C, 0)])
            assert len(list(crawl.storage.names())) == 2
            crawl.check_places()
    assert step == 14  # forget; then, for each of two partitions, put, move, and remove its files


async def test_one_death_after_the_other_is_made_good(crawl: Crawl) -> None:
    await history(crawl)
    kept = [each for each in ALL if each != (A, -60)]
    crawl.limit(keep_versions=2)
    for step in itertools.count(1):
        try:
            crawl.compact(die_at=step)
            break
        except Died:
            found = crawl.visits()
            assert kept in (found, [each for each in found if each != (A, -60)])
            crawl.check_places()
            if step == 2:
                await crawl.visit(C, b"new", 0)  # the crawl may go on in between
                kept = sorted([*kept, (C, 0)])
    assert step > 3
    assert crawl.visits() == kept
    assert len(crawl.files()) == 2 == len(list(crawl.storage.names()))
    crawl.check_places()


async def test_outside_tools_read_joined_files(tmp_path: Path) -> None:
    crawl = Crawl(tmp_path, FolderStorage(tmp_path / "archive"), SETTINGS)
    await history(crawl)
    crawl.compact()
    for name in crawl.files():
        first, *records = seen_by_all(tmp_path / "archive" / name)
        assert first.fields["warc-filename"] == name and b"operator: me" in first.body
        assert {"request", "response", "metadata"} <= {record.type for record in records}


def test_a_joined_file_stands_for_those_that_it_was_made_of() -> None:
    names = ["000-00000.warc.gz", "000-00001.warc.gz", "000-00002.warc.gz", "000-00000-00001-1.warc.gz"]
    names += ["000-100000.warc.gz", "000-99999.warc.gz"]
    assert in_force(names) == [names[3], names[2], names[5], names[4]]
    assert parsed("000-00000.warc.gz.partial") is None


def test_where_a_later_owner_went_on_an_earlier_one_has_nothing_that_counts() -> None:
    before, zombie = ["000-00000.warc.gz", "000-00001e3.warc.gz"], ["000-00002e3.warc.gz", "000-00003e3.warc.gz"]
    after = ["000-00002e5.warc.gz", "000-00004e12.warc.gz"]
    assert in_force([*before, *zombie, *after]) == [*before, *after]
    joined = "000-00000-00002-1e5.warc.gz"
    assert in_force([*before, *zombie, *after, joined]) == [joined, after[1]]


def in_force(names: list[str]) -> list[str]:
    return [str(name) for name in segments.in_force(filter(None, map(parsed, names)))]
