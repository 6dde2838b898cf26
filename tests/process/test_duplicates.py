"""Verdicts: the same to the byte, nearly the same, and new; while pages are in flight, and after a crash."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.duplicates import DIFFERENT_SHARE_MIN, NEAR_SHARE_MAX, measure
from gossamer.frontier.store import RocksStore
from gossamer.process.duplicates import TABLES, Duplicates
from gossamer.records import ORIGINAL, Claim, Verdict
from gossamer.synthetic_web.editions import editions

A, B, C = "http://a.test/", "http://b.test/", "http://c.test/"
PRINT = 0x0123456789ABCDEF
NEAR, FAR = PRINT ^ 0b11, PRINT ^ 0xFFFF


def claim(url: str, content: int, simhash: int | None = PRINT) -> Claim:
    return Claim(f"{content:064x}", url, 1000.0, simhash)


def judge(duplicates: Duplicates, one: Claim, holder: int = 0) -> Verdict | None:
    return duplicates.judge([one], holder)[0]


@pytest.fixture
def duplicates(folder: Path) -> Iterator[Duplicates]:
    store = RocksStore(folder / "fingerprints", TABLES)
    opened = Duplicates(store)
    yield opened
    opened.close()
    store.close()


def test_a_near_copy_names_the_original_and_the_distance(duplicates: Duplicates) -> None:
    assert judge(duplicates, claim(A, 1)) == ORIGINAL
    duplicates.settle([claim(A, 1)])
    assert judge(duplicates, claim(B, 2, NEAR)) == Verdict("near", of=A, at=1000.0, distance=2)
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
    assert judge(duplicates, claim(B, 2, NEAR)) == Verdict("near", of=A, at=1000.0, distance=2)


def test_whoever_waits_is_the_original_where_the_first_comes_to_nothing(duplicates: Duplicates) -> None:
    judge(duplicates, claim(A, 1), holder=7)
    assert judge(duplicates, claim(B, 2, NEAR)) is None
    duplicates.release(7)
    assert judge(duplicates, claim(B, 2, NEAR)) == ORIGINAL


def test_a_page_repeated_after_a_crash_is_what_it_was(folder: Path) -> None:
    for _ in range(2):
        store = RocksStore(folder / "fingerprints", TABLES)
        duplicates = Duplicates(store)
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
        assert judge(duplicates, claim(B, 5000, each.simhash)) == Verdict("near", of=each.url, at=1000.0)


def test_editions_of_an_article_are_told_from_other_articles_of_the_same_sites() -> None:
    measured = measure(editions(seed=3, families=125))  # 1,500 pages; python -m benchmarks.duplicates does 20,400
    precision, recall = measured.score(3, NEAR_SHARE_MAX, DIFFERENT_SHARE_MIN)
    assert precision >= 0.95
    assert recall >= 0.95
