"""Verdicts: the same to the byte, nearly the same, and new; while pages are in flight, and after a crash."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from benchmarks.duplicates import NEAR_BITS, labelled, measure
from gossamer.frontier.disk.store import RocksStore
from gossamer.process.fingerprints.duplicates import TABLES, Duplicates
from gossamer.process.fingerprints.shingles import words_in
from gossamer.process.fingerprints.sketch import sketch_of
from gossamer.records import ORIGINAL, Claim, Verdict

A, B, C = "http://a.test/", "http://b.test/", "http://c.test/"
PRINT = 0x0123456789ABCDEF
NEAR, FAR = PRINT ^ 0b11, PRINT ^ 0xFFFF


SAID = "what all of these pages say, but for those that say something else"


def claim(url: str, content: int, simhash: int | None = PRINT, said: str = SAID) -> Claim:
    return Claim(f"{content:064x}", url, 1000.0, simhash, sketch_of(words_in(said)))


def judge(duplicates: Duplicates, one: Claim, holder: int = 0) -> Verdict | None:
    return duplicates.judge([one], holder)[0]


@pytest.fixture
def duplicates(folder: Path) -> Iterator[Duplicates]:
    store = RocksStore(folder / "fingerprints", TABLES)
    opened = Duplicates(store, store.folder)
    yield opened
    opened.close()
    store.close()


def test_a_near_copy_names_the_original_and_the_distance(duplicates: Duplicates) -> None:
    assert judge(duplicates, claim(A, 1)) == ORIGINAL
    duplicates.settle([claim(A, 1)])
    assert judge(duplicates, claim(B, 2, NEAR)) == Verdict("near", of=A, at=1000.0, distance=2, resemblance=1.0)
    assert judge(duplicates, claim(C, 3, FAR)) == ORIGINAL


def test_the_same_bytes_go_before_nearly_the_same_text(duplicates: Duplicates) -> None:
    duplicates.settle([claim(A, 1), claim(B, 2, FAR)])
    assert judge(duplicates, claim(C, 2, PRINT)) == Verdict("same", of=B, at=1000.0)


def test_too_little_text_is_near_nothing(duplicates: Duplicates) -> None:
    duplicates.settle([claim(A, 1), claim(B, 2, None)])
    assert judge(duplicates, claim(C, 3, None)) == ORIGINAL


def test_a_copy_of_a_copy_is_a_copy_of_the_original(duplicates: Duplicates) -> None:
    duplicates.settle([claim(A, 1)])
    for url in (B, C):
        verdict = judge(duplicates, claim(url, 2, NEAR))
        assert verdict is not None and (verdict.kind, verdict.of) == ("near", A)


def test_a_page_is_not_near_itself(duplicates: Duplicates) -> None:
    duplicates.settle([claim(A, 1)])
    assert judge(duplicates, claim(A, 2, NEAR)) == ORIGINAL  # another visit, and a word has changed
    duplicates.settle([claim(A, 2, NEAR)])
    assert judge(duplicates, claim(A, 1)) == ORIGINAL


def test_two_near_copies_in_flight_are_told_apart(duplicates: Duplicates) -> None:
    assert duplicates.judge([claim(A, 1), claim(B, 2, NEAR), claim(C, 3, FAR)]) == [ORIGINAL, None, ORIGINAL]
    assert judge(duplicates, claim(B, 2, NEAR)) is None
    duplicates.settle([claim(A, 1)])
    assert judge(duplicates, claim(B, 2, NEAR)) == Verdict("near", of=A, at=1000.0, distance=2, resemblance=1.0)


def test_whoever_waits_is_the_original_where_the_first_comes_to_nothing(duplicates: Duplicates) -> None:
    judge(duplicates, claim(A, 1), holder=7)
    assert judge(duplicates, claim(B, 2, NEAR)) is None
    duplicates.release(7)
    assert judge(duplicates, claim(B, 2, NEAR)) == ORIGINAL


def test_a_page_repeated_after_a_crash_is_what_it_was(folder: Path) -> None:
    for _ in range(2):
        store = RocksStore(folder / "fingerprints", TABLES)
        duplicates = Duplicates(store, store.folder)
        assert judge(duplicates, claim(A, 1)) == ORIGINAL
        duplicates.settle([claim(A, 1)])
        verdict = judge(duplicates, claim(B, 2, NEAR))
        assert verdict is not None and verdict.of == A
        duplicates.close()
        store.close()


def test_a_thousand_claims_are_settled_together(duplicates: Duplicates) -> None:
    many = [claim(f"{A}{number}", number, number * 0x9E3779B97F4A7C15 % (1 << 64)) for number in range(1000)]
    duplicates.settle(many)
    for each in many[::100]:
        assert judge(duplicates, claim(B, 5000, each.simhash)) == Verdict(
            "near", of=each.url, at=1000.0, resemblance=1.0
        )


def test_what_says_something_else_is_not_near_and_does_not_wait(duplicates: Duplicates) -> None:
    """The same SimHash: all that differs are figures."""
    assert judge(duplicates, claim(A, 1, said="It was 12 degrees, 33 in the sun")) == ORIGINAL
    assert judge(duplicates, claim(B, 2, said="It was 14 degrees, 38 in the sun")) == ORIGINAL
    assert judge(duplicates, claim(C, 3, said="It was 12 degrees, 34 in the sun")) is None
    duplicates.settle([claim(A, 1, said="It was 12 degrees, 33 in the sun")])
    verdict = judge(duplicates, claim(C, 3, said="It was 12 degrees, 34 in the sun"))
    assert verdict is not None and (verdict.kind, verdict.of) == ("near", A)


def test_without_bits_only_the_same_bytes_are_copies(folder: Path) -> None:
    with closing(RocksStore(folder / "fingerprints", TABLES)) as store:
        for near_bits, kind in ((3, "near"), (0, "original"), (3, "near")):  # it can be turned off and on again
            with closing(Duplicates(store, store.folder, near_bits)) as duplicates:
                duplicates.settle([claim(A, 1)])
                verdict, same = duplicates.judge([claim(B, 2), claim(C, 1)])
                assert verdict is not None and verdict.kind == kind
                assert same == Verdict("same", of=A, at=1000.0)


def test_what_is_called_near_is_near_and_what_is_near_is_found() -> None:
    # 1,500 pages; python -m benchmarks.duplicates has ten times as many.
    measured = measure(labelled(seed=3, families=60, sites=1, pages=30), NEAR_BITS)
    assert measured.pairs.precision >= 0.97 and measured.pairs.recall >= 0.93
    assert measured.verdicts.precision >= 0.97 and measured.verdicts.recall >= 0.93
