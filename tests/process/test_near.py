"""The index of SimHashes on a real store: what is kept, what is found again, and what it refuses."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from gossamer.frontier.store import RocksStore
from gossamer.interfaces import OtherIndex
from gossamer.process.near import BUCKET_MAX, TABLES, Nearest, NearIndex
from gossamer.records import Claim

A, B, C = "http://a.test/", "http://b.test/", "http://c.test/"
PRINT = 0x0123456789ABCDEF


def claim(url: str, simhash: int | None = PRINT, at: float = 1000.0) -> Claim:
    return Claim("ab" * 32, url, at, simhash)


@contextmanager
def index(folder: Path, near_bits: int = 3, shingle_words: int = 3) -> Iterator[tuple[NearIndex, RocksStore]]:
    store = RocksStore(folder / "fingerprints", TABLES)
    try:
        opened = NearIndex(store, near_bits, shingle_words)
        yield opened, store
        opened.close()
    finally:
        store.close()


def nearest(near: NearIndex, simhash: int, besides: str = "") -> Nearest | None:
    return near.nearest([claim(besides, simhash)])[0]


def add(opened: tuple[NearIndex, RocksStore], *claims: Claim) -> int:
    """How many rows it wrote."""
    near, store = opened
    batch = store.batch()
    near.add(claims, batch)
    rows = len(batch)
    store.write(batch, sync=False)
    return rows


def test_the_nearest_of_several_is_found(folder: Path) -> None:
    with index(folder) as opened:
        add(opened, claim(A, PRINT ^ 0b111), claim(B, PRINT ^ 0b1, at=2000.0), claim(C, PRINT ^ 0b1111))
        assert nearest(opened[0], PRINT) == (B, 2000.0, 1)
        assert nearest(opened[0], PRINT, besides=B) == (A, 1000.0, 3)
        assert nearest(opened[0], ~PRINT & (1 << 64) - 1) is None


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
        assert max(sizes) == 8 * BUCKET_MAX
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
        assert opened[0].nearest(asked) == [(B, 1000.0, 1), None, None, (A, 1000.0, 0)]
        assert opened[0].nearest([]) == []


@pytest.mark.parametrize(("near_bits", "shingle_words", "named"), [(2, 3, "near_bits"), (3, 4, "shingle_words")])
def test_an_index_is_not_used_with_other_settings(
    folder: Path, near_bits: int, shingle_words: int, named: str
) -> None:
    with index(folder):
        pass
    refusal = rf"process\.{named} is .* set it to 3, or start a new crawl"
    with pytest.raises(OtherIndex, match=refusal), index(folder, near_bits, shingle_words):
        pass
    with index(folder):
        pass  # as it was
