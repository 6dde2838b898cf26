"""The file of ranks: what goes in comes out, and what is damaged is not used."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gossamer.schedule.rank_links import Ranking, hash_of
from gossamer.schedule.ranks import FILE, Ranks, write

PAGES = {"http://a.test/": 0.5, "http://a.test/1": 0.001, "http://b.test/": 0.499}
HOSTS = {"a.test": 0.75, "b.test": 0.25}


def ranking_of(ranks: dict[str, float]) -> Ranking:
    in_order = sorted((hash_of(name), rank) for name, rank in ranks.items())
    hashes, values = zip(*in_order, strict=True)
    return Ranking(np.array(hashes, np.uint64), np.array(values, np.float64), 1, 0, 1)


@pytest.fixture
def crawl(folder: Path) -> Path:
    write(folder / FILE, ranking_of(PAGES), ranking_of(HOSTS), 1_600_000_000.5)
    return folder


def test_what_was_written_is_read(crawl: Path) -> None:
    ranks = Ranks.open(crawl)
    assert ranks is not None and ranks.made_at == 1_600_000_000.5
    assert {url: ranks.pages.rank(url) for url in PAGES} == pytest.approx(PAGES)
    assert {name: ranks.hosts.rank(name) for name in HOSTS} == pytest.approx(HOSTS)
    names = np.array([hash_of(name) for name in ("b.test", "c.test")], np.uint64)
    assert ranks.hosts.ranks(names).tolist() == [0.25, 0]


def test_an_importance_is_the_share_on_the_scale_of_credit(crawl: Path) -> None:
    ranks = Ranks.open(crawl)
    assert ranks is not None
    assert ranks.page("http://a.test/1") == pytest.approx(2 / 3)
    assert ranks.host("a.test") == pytest.approx(1 + np.log10(0.75) / 9)
    assert ranks.page("http://c.test/") is ranks.host("c.test") is None
    assert ranks.host("http://a.test/") is None


def test_the_old_ranks_stay_readable_when_new_ones_take_their_place(crawl: Path) -> None:
    old = Ranks.open(crawl)
    write(crawl / "new", ranking_of({"http://a.test/": 1.0}), ranking_of({"a.test": 1.0}), 0)
    (crawl / "new").replace(crawl / FILE)
    new = Ranks.open(crawl)
    assert old is not None and new is not None
    assert (old.pages.rank("http://a.test/"), new.pages.rank("http://a.test/")) == (0.5, 1)


def test_without_a_file_there_are_no_ranks_and_nothing_to_say(folder: Path) -> None:
    assert Ranks.open(folder, pytest.fail) is None


@pytest.mark.parametrize("damage", [b"", b"GOSRANK1", b"something else entirely, and long enough to be a head"])
def test_a_damaged_file_is_not_used_and_it_is_said(crawl: Path, damage: bytes) -> None:
    said: list[str] = []
    (crawl / FILE).write_bytes(damage)
    assert Ranks.open(crawl, said.append) is None
    assert len(said) == 1 and "`gossamer rank` writes it anew" in said[0]


def test_a_file_that_was_cut_short_is_not_used(crawl: Path) -> None:
    said: list[str] = []
    whole = (crawl / FILE).read_bytes()
    (crawl / FILE).write_bytes(whole[:-1])
    assert Ranks.open(crawl, said.append) is None
    assert said
