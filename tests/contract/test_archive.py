"""The contract of an archive, in every place: what was committed is there, and nothing else is."""

from __future__ import annotations

import mmap
from collections.abc import Callable
from pathlib import Path
from random import Random

import msgspec
import pytest

from gossamer.archive import segments, warc
from gossamer.archive.bucket import OWNER_EVERY, ArchiveRefused, BucketStorage
from gossamer.archive.content import content, visit_at
from gossamer.archive.listing import visits_in
from gossamer.archive.segments import name_in
from gossamer.archive.storage import ArchiveDamaged, FolderStorage, Storage
from gossamer.archive.visits import visits
from gossamer.archive.warc import WarcArchive
from gossamer.interfaces import Archive, Unreachable
from gossamer.records import Fetched, Place, Reason, Refused, State, Url, UrlRecord, Verdict
from tests.archive.outcomes import STARTED_AT, exchange, fetched, moved, outcome, pages
from tests.s3.server import server

FIRST = "http://b.test/first"


class Where:
    """An archive in one place, opened again and again."""

    def __init__(self, storage: Storage) -> None:
        self.storage = storage
        self.epoch = 0

    async def opened(self, end: Place | None = None, file_bytes_max: int = 1 << 30) -> Archive:
        """By the next owner."""
        self.epoch += 1
        archive = WarcArchive(self.storage, 3, self.epoch, about={}, file_bytes_max=file_bytes_max)
        await archive.recover(end)
        return archive

    def urls(self, until: Place | None) -> list[Url]:
        return [visit.url for visit in visits(self.storage, 3, None, until)]

    def files(self, until: Place | None) -> list[str]:
        return segments.files(self.storage, 3, until)

    def contents(self) -> dict[str, bytes]:
        return {name: self.storage.read(name, 0, 1 << 20) for name in self.storage.names()}


@pytest.fixture(params=["folder", "bucket"])
def where(request: pytest.FixtureRequest, tmp_path: Path) -> Where:
    if request.param == "folder":
        return Where(FolderStorage(tmp_path / "archive"))
    return Where(server().storage(server().new_place()))


def numbers(*wanted: int) -> list[Url]:
    return [f"http://a.test/{number}" for number in wanted]


async def test_what_is_saved_is_found_by_its_place(where: Where) -> None:
    archive = await where.opened()
    group = [*pages(2), outcome(Refused(Reason.ROBOTS)), outcome(moved(), "http://a.test/4")]
    places = await archive.save(group)
    assert [place is not None for place in places] == [True, True, False, True]
    for saved, place in zip(group, places, strict=True):
        if place is not None and isinstance(saved.result, Fetched):
            visit = visit_at(where.storage, place)
            assert (visit.url, visit.body(), visit.status) == (saved.lease.url, saved.result.body, 200)


async def test_what_was_not_committed_is_gone_after_recovery_and_saving_goes_on(where: Where) -> None:
    archive = await where.opened(file_bytes_max=1)
    await archive.save(pages(2))
    committed = archive.end
    for number in (3, 4):
        await archive.save(pages(1, start=number))
    archive.close()
    for _ in range(2):
        again = await where.opened(committed)
        assert again.end == committed and len(where.files(committed)) == 1
    await again.save(pages(1, start=5))
    assert where.urls(again.end) == numbers(1, 2, 5)
    anew = await where.opened(None)
    await anew.save(pages(1, start=6))
    assert where.urls(anew.end) == numbers(6)


async def test_whatever_an_earlier_owner_still_does_changes_nothing_of_the_next_one(where: Where) -> None:
    earlier = await where.opened(file_bytes_max=1)
    await earlier.save(pages(2))
    committed = earlier.end
    for number in (3, 4):
        await earlier.save(pages(1, start=number))  # never committed
    earlier.close()
    later = await where.opened(committed)
    await later.save(pages(2, start=5))
    before = where.contents()
    try:
        await earlier.save(pages(1, start=7))
    except RuntimeError as closed:
        assert "are closed" in str(closed)
    assert before.items() <= where.contents().items()
    assert where.urls(later.end) == numbers(1, 2, 5, 6)
    await later.save(pages(1, start=8))
    assert where.urls(later.end) == numbers(1, 2, 5, 6, 8)


async def test_an_archive_that_lost_committed_bytes_is_refused(where: Where) -> None:
    archive = await where.opened()
    await archive.save(pages(1))
    end = archive.end
    assert end is not None
    where.storage.put(end.file, [where.storage.read(end.file, 0, end.offset - 1)])
    with pytest.raises(ArchiveDamaged, match=rf"{end.offset} bytes .* {end.offset - 1} are there"):
        await where.opened(end)
    where.storage.remove([end.file])
    with pytest.raises(ArchiveDamaged, match="put the file back"):
        await where.opened(end)


async def test_a_large_body_that_lies_in_a_file_is_saved_like_any_other(where: Where, tmp_path: Path) -> None:
    content = Random(7).randbytes(3 << 20)
    (tmp_path / "spooled").write_bytes(content)
    archive = await where.opened()
    with (tmp_path / "spooled").open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as body:
        [place] = await archive.save([outcome(Fetched(exchange(), body))])
    assert place is not None and visit_at(where.storage, place).body() == content


async def test_large_groups_are_written_in_parts(where: Where, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(warc, "GROUP_BYTES_MAX", 5_000)
    archive = await where.opened()
    places = await archive.save(pages(7))
    found = [visit_at(where.storage, place).url for place in places if place]
    assert found == where.urls(archive.end) == numbers(1, 2, 3, 4, 5, 6, 7)


async def test_content_is_stored_once_and_found_through_its_copies(where: Where) -> None:
    archive = await where.opened()
    same = Verdict("same", FIRST, STARTED_AT)
    near = Verdict("near", FIRST, STARTED_AT, 2)
    group = [outcome(fetched(), FIRST), outcome(fetched(), "http://a.test/1", verdict=same)]
    group.append(outcome(fetched(body=b"<p>Hallo"), "http://a.test/2", verdict=near))
    places = await archive.save(group)
    known = {
        each.lease.url: UrlRecord(each.lease.url, State.DONE, place=place, content_hash="x")
        for each, place in zip(group, places, strict=True)
    }
    for each in known.values():
        found = content(where.storage, each, known.get)
        assert found is not None and found.body() == b"<p>Hello"
    stored = [visit.url for visit in visits(where.storage, 3, None, archive.end) if visit.kind != "revisit"]
    assert stored == [FIRST]
    later_on = msgspec.structs.replace(exchange(), started_at=STARTED_AT + 9)
    changed = [outcome(Fetched(later_on, b"<p>Bye"), FIRST)]
    known[FIRST] = UrlRecord(FIRST, State.DONE, place=(await archive.save(changed))[0])
    known.pop("http://a.test/2")
    later = [content(where.storage, each, known.get) for each in known.values()]
    # The older version is still in the archive, but it would have to be searched for.
    assert [visit and visit.body() for visit in later] == [b"<p>Bye", None]


async def test_a_near_copy_can_have_a_body_of_its_own(where: Where) -> None:
    archive = await where.opened()
    near = Verdict("near", FIRST, STARTED_AT, 2, 0.95, is_stored=True)
    places = await archive.save([outcome(fetched(body=b"<p>Hallo"), "http://a.test/2", verdict=near)])
    known = UrlRecord("http://a.test/2", State.DONE, place=places[0])
    found = content(where.storage, known, lambda url: None)
    assert found is not None and (found.kind, found.body()) == ("response", b"<p>Hallo")
    (visit,) = visits(where.storage, 3, None, archive.end)
    assert (visit.verdict, visit.refers_to, visit.refers_at, visit.distance) == ("near", FIRST, STARTED_AT, 2)
    (listed,) = visits_in(where.storage, name_in(visit.place), None)
    assert listed.refers_to is None  # it needs no other page


# ---- a bucket only ---------------------------------------------------------------------------------------


@pytest.fixture
def bucket() -> Where:
    return Where(server().storage(server().new_place()))


async def test_a_group_that_got_no_answer_is_stored_once_when_it_is_saved_again(bucket: Where) -> None:
    """The server takes the request and hangs. When it wakes up it carries the request out, and then the next try."""
    archive = await bucket.opened()
    await archive.save(pages(1))
    before = archive.end
    server().freeze()
    try:
        with pytest.raises(Unreachable, match="does not answer: no answer in time"):
            await archive.save(pages(2, start=2))
    finally:
        server().thaw()
    assert archive.end == before
    await archive.save(pages(2, start=2))
    assert bucket.urls(archive.end) == numbers(1, 2, 3)
    assert len(bucket.files(archive.end)) == 2


async def test_a_writer_that_another_crawl_has_followed_stops(bucket: Where, tmp_path: Path) -> None:
    """The copy of a folder that was made while the first crawl ran: each knows of the other's beginning."""
    storage = bucket.storage
    await storage.claim(3, tmp_path / "writer", "the first")
    archive = await bucket.opened()
    await archive.save(pages(1))
    other = server().storage(storage.where)
    await other.claim(3, tmp_path / "writer", "the copy")
    before = bucket.contents()
    with pytest.raises(ArchiveDamaged, match="another crawl, too: the copy has opened partition 3 since"):
        for number in range(OWNER_EVERY):
            await archive.save(pages(1, start=2 + number))
    assert before.items() <= bucket.contents().items()


@pytest.mark.parametrize("option", ["nonsense", "timeout_of_mine"])
def test_an_option_that_the_store_does_not_know_is_named(option: str) -> None:
    with pytest.raises(ArchiveRefused, match=option):
        BucketStorage("s3://bucket/prefix", {option: "1"})


@pytest.mark.parametrize("url", ["http://example.org/", "s3:///x", "bucket"])
def test_a_url_that_is_no_bucket_is_refused(url: str) -> None:
    with pytest.raises(ArchiveRefused, match="is not like s3://bucket/prefix"):
        BucketStorage(url, {})


# ---- the storages themselves -----------------------------------------------------------------------------


@pytest.fixture(params=["folder", "bucket"])
def storage(request: pytest.FixtureRequest, tmp_path: Path) -> Storage:
    return (
        FolderStorage(tmp_path / "storage") if request.param == "folder" else server().storage(server().new_place())
    )


def test_both_storages_read_and_list_alike(storage: Storage) -> None:
    assert list(storage.names()) == []
    content = Random(1).randbytes(300_000)
    storage.put("b/x", [content[:100_000], content[100_000:]])
    storage.put("b-1", [b"1"])
    for name, content_ in (("b.2", b"22"), ("c/d/e", b"333"), ("b.2", b"22")):
        storage.put(name, [content_])
    assert sorted(storage.sizes()) == [("b-1", 1), ("b.2", 2), ("b/x", 300_000), ("c/d/e", 3)]
    assert sorted(storage.names("b")) == ["b-1", "b.2", "b/x"] and list(storage.names("b/")) == ["b/x"]
    assert list(storage.names("c/d/e")) == ["c/d/e"] and list(storage.names("d")) == []
    assert storage.read("b/x", 5, 10) == content[5:15]
    assert storage.read("b-1", 0, 99) == b"1" and storage.read("b-1", 1, 1) == b""
    assert b"".join(storage.chunks("b/x", 250_000)) == content[250_000:]
    storage.remove(["b-1", "never was"])
    missing: list[Callable[[], object]] = [
        lambda: storage.size("b-1"),
        lambda: storage.read("b-1", 0, 1),
        lambda: list(storage.chunks("b-1")),
    ]
    for look in missing:
        with pytest.raises(FileNotFoundError):
            look()


def test_a_large_object_is_put_in_parts(storage: Storage) -> None:
    part = Random(2).randbytes(1 << 20)
    storage.put("large", (part for _ in range(20)), 20 << 20)
    assert storage.size("large") == 20 << 20
    assert storage.read("large", 17 << 20, 100) == part[:100]
    assert sum(map(len, storage.chunks("large"))) == 20 << 20
