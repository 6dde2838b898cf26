"""The index of SimHashes on a real store: what is kept, what is found again, and what it refuses."""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from random import Random

import msgspec
import pytest

from gossamer.frontier.disk.store import RocksStore
from gossamer.interfaces import OtherIndex
from gossamer.process.fingerprints.near import BUCKET_MAX, ENTRY_BYTES, FORM, SKETCHES, TABLES, WHOLE_FROM, NearIndex
from gossamer.process.fingerprints.shingles import words_in
from gossamer.process.fingerprints.sketch import sketch_of
from gossamer.records import Claim

A, B, C = "http://a.test/", "http://b.test/", "http://c.test/"
PRINT = 0x0123456789ABCDEF


def text(number: int = 0, changed: int = 0) -> str:
    """Of a hundred words; texts of other numbers have none in common, and with a word changed they are near."""
    words = [f"w{number}x{place}" for place in range(100)]
    return " ".join([*words[:changed], *(f"changed{place}" for place in range(changed)), *words[2 * changed :]])


def claim(url: str, simhash: int | None = PRINT, at: float = 1000.0, said: str = text()) -> Claim:
    return Claim("ab" * 32, url, at, simhash, sketch_of(words_in(said)))


@contextmanager
def index(folder: Path, near_bits: int = 3) -> Iterator[tuple[NearIndex, RocksStore]]:
    store = RocksStore(folder / "fingerprints", TABLES)
    try:
        opened = NearIndex(store, store.folder, near_bits)
        yield opened, store
        opened.close()
    finally:
        store.close()


def nearest(near: NearIndex, simhash: int, besides: str = "", said: str = text()) -> tuple[str, float, int] | None:
    found = near.nearest([claim(besides, simhash, said=said)])[0]
    return found and (found.url, found.fetched_at, found.distance)


def add(opened: tuple[NearIndex, RocksStore], *claims: Claim) -> int:
    """How many rows it wrote."""
    near, store = opened
    batch = store.batch()
    near.add(claims, batch)
    rows = len(batch)
    store.write(batch, sync=False)
    return rows


def test_the_most_similar_of_several_is_found(folder: Path) -> None:
    with index(folder) as opened:
        nearly = claim(B, PRINT ^ 0b1, at=2000.0, said=text(changed=1))
        add(opened, claim(A, PRINT ^ 0b111, said=text(changed=2)), nearly, claim(C, PRINT ^ 0b1111))
        assert nearest(opened[0], PRINT) == (B, 2000.0, 1)
        assert nearest(opened[0], PRINT, besides=B) == (A, 1000.0, 3)
        assert nearest(opened[0], ~PRINT & (1 << 64) - 1) is None


def test_what_has_the_same_simhash_is_not_near_for_that(folder: Path) -> None:
    with index(folder) as opened:
        figures = [
            "\n".join(f"station {place} {number * place % 997}" for place in range(60)) for number in range(90)
        ]
        assert add(opened, *(claim(f"{A}{number}", said=said) for number, said in enumerate(figures))) == 3 * 90
        assert nearest(opened[0], PRINT, said=figures[7].replace(" 7\n", " 8\n")) == (f"{A}7", 1000.0, 0)
        assert nearest(opened[0], PRINT, said=figures[0][:-400]) is None


def test_what_was_added_is_there_after_a_restart(folder: Path) -> None:
    with index(folder) as opened:
        add(opened, claim(A))
    with index(folder) as (near, _):
        assert nearest(near, PRINT ^ 1 << 63) == (A, 1000.0, 1)


def test_two_in_one_batch_that_share_buckets_are_both_kept(folder: Path) -> None:
    with index(folder) as opened:
        add(opened, claim(A, PRINT), claim(B, PRINT ^ 0b11111))  # they have their upper blocks in common
        assert nearest(opened[0], PRINT) == (A, 1000.0, 0)
        assert nearest(opened[0], PRINT ^ 0b11111) == (B, 1000.0, 0)


def test_adding_twice_changes_nothing(folder: Path) -> None:
    with index(folder) as opened:
        assert add(opened, claim(A)) == 3
        assert add(opened, claim(A)) == 0
        assert add(opened, claim(B), claim(B)) == 0  # somebody has exactly this
        assert nearest(opened[0], PRINT) == (A, 1000.0, 0)


def test_a_page_that_changes_a_little_at_every_visit_is_kept_once(folder: Path) -> None:
    with index(folder) as opened:
        add(opened, claim(A))
        assert add(opened, claim(A, PRINT ^ 0b11, at=2000.0)) == 0
        assert add(opened, claim(A, PRINT ^ 0xFF, at=3000.0)) == 3  # another text, as good as another page's


def test_what_has_no_simhash_is_left_out(folder: Path) -> None:
    with index(folder) as opened:
        assert add(opened, claim(A, None)) == 0


def test_a_bucket_keeps_its_newest(folder: Path) -> None:
    with index(folder) as opened:
        many = [
            high * 0x9E3779B1 % (1 << 28) << 36 for high in range(BUCKET_MAX + 5)
        ]  # all have their lower blocks in common
        add(opened, *(claim(f"{A}{number}", value) for number, value in enumerate(many)))
        sizes = {len(value) for key, value in opened[1].scan("near") if len(key) == 4}
        assert max(sizes) == ENTRY_BYTES * BUCKET_MAX
        assert nearest(opened[0], many[-1]) == (f"{A}{len(many) - 1}", 1000.0, 0)
        assert nearest(opened[0], many[0]) == (f"{A}0", 1000.0, 0)  # it is in other buckets, too


def test_a_lost_list_of_buckets_is_made_anew(folder: Path) -> None:
    with index(folder) as opened:
        add(opened, claim(A))
    (folder / "fingerprints" / "near.filled").unlink()
    for _ in range(2):
        with index(folder) as (near, _):
            assert nearest(near, PRINT) == (A, 1000.0, 0)


def test_a_bucket_that_was_written_by_half_does_not_shift_those_that_follow(folder: Path) -> None:
    with index(folder) as opened:
        add(opened, claim(A))
    with (folder / "fingerprints" / "near.filled").open("ab") as file:
        file.write(b"\x01\x02")  # the disk was full
    with index(folder) as opened:
        add(opened, claim(B, PRINT ^ 0xFFFF_FFFF_FFFF))
    with index(folder) as (near, _):
        assert nearest(near, PRINT) == (A, 1000.0, 0)
        assert nearest(near, PRINT ^ 0xFFFF_FFFF_FFFF) == (B, 1000.0, 0)


def test_many_are_looked_up_at_once_and_each_finds_its_own(folder: Path) -> None:
    with index(folder) as opened:
        add(opened, claim(A, PRINT), claim(B, PRINT ^ 0xFFFF))
        asked = [claim(C, PRINT ^ 0xFFFE), claim(C, None), claim(C, PRINT << 1), claim(C, PRINT)]
        found = [each and (each.url, each.distance, each.resemblance) for each in opened[0].nearest(asked)]
        assert found == [(B, 1, 1.0), None, None, (A, 0, 1.0)]
        assert opened[0].nearest([]) == []


def test_an_index_is_not_used_with_other_shingles(folder: Path) -> None:
    """An earlier version could be told how many words make one."""
    with closing(RocksStore(folder / "fingerprints", TABLES)) as store:
        batch = store.batch()
        batch.put("near", FORM, msgspec.msgpack.encode({"process.shingle_words": 4, "sketches": SKETCHES}))
        store.write(batch, sync=True)
    refusal = r"made with process\.shingle_words = 4, and this version makes them with 3: remove .*/fingerprints"
    with pytest.raises(OtherIndex, match=refusal), index(folder):
        pass


def test_how_many_bits_may_differ_is_a_question_of_each_look_up(folder: Path) -> None:
    for near_bits in (3, 2):
        with index(folder, near_bits):
            pass


def test_a_damaged_list_of_buckets_is_made_anew(folder: Path) -> None:
    with index(folder) as opened:
        add(opened, claim(A))
    (folder / "fingerprints" / "near.filled").write_bytes(b"\xff" * 8)
    with index(folder) as (near, _):
        assert nearest(near, PRINT) == (A, 1000.0, 0)


def test_an_index_of_the_version_before_is_begun_anew(folder: Path) -> None:
    """It had SimHashes of 8 bytes and no sketches, so that nothing can be compared with its pages."""
    with closing(RocksStore(folder / "fingerprints", TABLES)) as store:
        batch = store.batch()
        batch.put("near", FORM, msgspec.msgpack.encode({"process.near_bits": 3, "process.shingle_words": 3}))
        for bucket in (PRINT & (1 << 28) - 1, PRINT >> 36 | 1 << 28):
            batch.put("near", bucket.to_bytes(4, "big"), PRINT.to_bytes(8, "big"))
        batch.put("owners", PRINT.to_bytes(8, "big"), msgspec.msgpack.encode((A, 1000.0)))
        store.write(batch, sync=True)
        (folder / "fingerprints" / "near.filled").write_bytes((PRINT & (1 << 28) - 1).to_bytes(4, "little"))
    with index(folder) as opened:
        assert nearest(opened[0], PRINT) is None
        assert add(opened, claim(B)) == 3
    with index(folder) as (near, store):
        assert nearest(near, PRINT) == (B, 1000.0, 0)
        assert [len(key) for key, _ in store.scan("owners")] == [ENTRY_BYTES]


def resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * mmap.PAGESIZE


def test_the_map_takes_its_memory_when_a_crawl_has_a_thousand_pages(folder: Path) -> None:
    """Of 64 MiB: a small crawl has some, and from then on it does not grow."""
    chance = Random(1)

    def claims(count: int) -> list[Claim]:
        return [claim(f"{A}{number}", chance.getrandbits(64)) for number in range(count)]

    before = resident_bytes()
    with index(folder) as opened:
        add(opened, *claims(100))
        small = resident_bytes() - before
        add(opened, *claims(WHOLE_FROM // 2))
        assert small < 20 << 20 < 60 << 20 < resident_bytes() - before
    before = resident_bytes()
    with index(folder):
        assert resident_bytes() - before > 60 << 20  # at the next start from the beginning
