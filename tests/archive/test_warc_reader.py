"""Reading the archive back with our own reader, also where it is damaged."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from gossamer.archive.reader import links_of, read, records
from gossamer.archive.storage import CHUNK_BYTES, ArchiveDamaged
from gossamer.archive.warc import WarcArchive
from gossamer.records import Fetched, Link, Place
from tests.archive.outcomes import PAGE_URL, fetched, folder_of, outcome, pages


@pytest.fixture
def archive(tmp_path: Path) -> WarcArchive:
    return WarcArchive(tmp_path, 0, about={})


async def test_a_page_is_read_back_by_its_place(archive: WarcArchive) -> None:
    places = await archive.save(pages(3))
    for original, place in zip(pages(3), places, strict=True):
        assert place is not None
        record = read(folder_of(archive), place)
        assert (record.type, record.url, record.place) == ("response", original.lease.url, place)
        assert record.head.startswith(b"HTTP/1.1 200 OK\r\n") and record.head.endswith(b"\r\n\r\n")
        assert isinstance(original.result, Fetched) and record.body == original.result.body


async def test_a_file_is_read_from_end_to_end(archive: WarcArchive) -> None:
    large = outcome(fetched(body=bytes(range(256)) * 8 * (CHUNK_BYTES // 256)), "http://a.test/large")
    await archive.save([*pages(60), large, *pages(60, start=61)])
    read_back = list(records(folder_of(archive) / "000-00000.warc.gz"))
    assert len(read_back) == 1 + 3 * 121
    ends = [record.place.offset + record.place.length for record in read_back]
    assert [0, *ends] == [*(record.place.offset for record in read_back), archive.end.offset if archive.end else 0]


async def test_links_come_back_as_they_were(archive: WarcArchive) -> None:
    links = [
        Link("http://a.test/2"),
        Link("http://a.test/3", anchor='two\r\nlines and a "quote" \\ \u2028 \x00', rel="nofollow ugc"),
        Link("http://a.test/4", lastmod="2024-02-29"),
        Link("http://a.test/5", position="footer"),
    ]
    await archive.save([outcome(fetched(), links=links)])
    [metadata] = [record for record in records(folder_of(archive) / "000-00000.warc.gz") if record.type == "metadata"]
    source = [msgspec.structs.replace(link, source=PAGE_URL, depth=3) for link in links]
    assert links_of(metadata) == source


async def test_a_link_with_half_a_character_keeps_its_url(archive: WarcArchive) -> None:
    await archive.save(
        [outcome(fetched(), links=[Link("http://a.test/2", anchor="\ud83d"), Link("http://a.test/3")])]
    )
    found = [link.url for record in records(folder_of(archive) / "000-00000.warc.gz") for link in links_of(record)]
    assert found == ["http://a.test/2", "http://a.test/3"]


async def test_a_file_cut_off_gives_all_whole_records_and_then_says_where_it_broke(archive: WarcArchive) -> None:
    places = await archive.save(pages(2))
    last = places[1]
    assert last is not None
    path = folder_of(archive) / last.file
    path.write_bytes(path.read_bytes()[: last.offset + last.length - 1])
    found: list[str] = []
    with pytest.raises(ArchiveDamaged, match=rf"000-00000.*offset {last.offset} .*the file ends within it"):
        for record in records(path):
            found.append(record.type)
    assert found == ["warcinfo", "request", "response", "metadata", "request"]
    with pytest.raises(ArchiveDamaged, match=f"offset {last.offset} "):
        read(folder_of(archive), last)


async def test_a_flipped_bit_is_noticed(archive: WarcArchive) -> None:
    [place] = await archive.save(pages(1))
    assert place is not None
    path = folder_of(archive) / place.file
    damaged = bytearray(path.read_bytes())
    damaged[place.offset + place.length // 2] ^= 1
    path.write_bytes(damaged)
    with pytest.raises(ArchiveDamaged):
        read(folder_of(archive), place)
    with pytest.raises(ArchiveDamaged):
        list(records(path))


@pytest.mark.parametrize("shift", [-1, 1])
async def test_a_place_that_is_no_record_is_refused(archive: WarcArchive, shift: int) -> None:
    [place] = await archive.save(pages(1))
    assert place is not None
    for wrong in (
        Place(place.file, place.offset + shift, place.length),
        Place(place.file, place.offset, place.length + shift),
        Place("000-00009.warc.gz", place.offset, place.length),
    ):
        with pytest.raises(ArchiveDamaged):
            read(folder_of(archive), wrong)
