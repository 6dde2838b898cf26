"""Which links count, and for whom; and what it costs to find out."""

from __future__ import annotations

import tracemalloc
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from gossamer.schedule import rank
from gossamer.schedule.rank_links import LINK, VISIT, LinkFiles, Links, Of, hash_of, ranking

Visit = tuple[str, list[str]] | tuple[str, str]  # a page and where it links to, or a name and what it is a name of


def url(name: str) -> str:
    """`b/2` for http://b.test/2; `1` is of host a."""
    host, _, path = name.rpartition("/")
    return f"http://{host or 'a'}.test/{path}"


def links_of(folder: Path, visits: Sequence[Visit], silent: Sequence[str] = ()) -> Links:
    with LinkFiles(folder) as files:
        for page, found in visits:
            if isinstance(found, str):
                files.add_name(url(page), url(found))
            else:
                files.add(url(page), map(url, found))
    return Links(folder, np.array([hash_of(url(page)) for page in silent], np.uint64))


def graph(links: Links, names: str, of: Of = "page") -> tuple[set[str], set[str]]:
    """The nodes, and the links as `1>2`; names of all that may be in it."""
    known = {hash_of(url(name) if of == "page" else f"{name}.test"): name for name in names.split()}
    nodes, pairs = set(), set()
    for sources, times, targets in links.pieces(of):
        origins, goals = [[known[int(one)] for one in some] for some in (np.repeat(sources, times), targets)]
        nodes |= {*(known[int(one)] for one in sources), *goals}
        pairs |= {f"{source}>{target}" for source, target in zip(origins, goals, strict=True)}
    return nodes, pairs


def test_only_the_latest_version_of_a_page_counts(folder: Path) -> None:
    links = links_of(folder, [("1", ["2", "3"]), ("2", ["1"]), ("1", ["3"]), ("3", [])])
    assert graph(links, "1 2 3") == ({"1", "2", "3"}, {"1>3", "2>1"})


def test_a_link_to_another_name_of_a_page_counts_for_the_page(folder: Path) -> None:
    visits: list[Visit] = [("1", ["old", "copy"]), ("old", "older"), ("older", "b/page"), ("copy", "b/page")]
    links = links_of(folder, [*visits, ("b/page", ["old", "1"])])
    assert graph(links, "1 b/page") == ({"1", "b/page"}, {"1>b/page", "b/page>b/page", "b/page>1"})
    assert graph(links, "a b", "host") == ({"a", "b"}, {"a>b", "b>b", "b>a"})


def test_names_that_lead_in_a_circle_are_pages_without_links(folder: Path) -> None:
    visits: list[Visit] = [("1", ["to", "2"]), ("to", "fro"), ("fro", "to"), ("in", "to"), ("2", [])]
    links = links_of(folder, visits)
    assert graph(links, "1 2 to fro in") == ({"1", "2", "to", "fro", "in"}, {"1>to", "1>2"})


def test_what_was_a_name_once_is_a_page_now_and_the_other_way_round(folder: Path) -> None:
    visits: list[Visit] = [("1", "2"), ("3", ["1", "4"]), ("4", ["3"]), ("1", ["3"]), ("4", "5")]
    assert graph(links_of(folder, visits), "1 3 5") == ({"1", "3", "5"}, {"1>3", "3>1", "3>5"})


def test_a_silent_page_has_no_links_and_may_be_linked_to(folder: Path) -> None:
    visits = [("1", ["gone", "2"]), ("gone", ["2", "3"]), ("map", ["1", "2"])]
    links = links_of(folder, visits, silent=["gone", "map"])
    assert graph(links, "1 2 gone") == ({"1", "2", "gone"}, {"1>gone", "1>2"})


def test_links_to_oneself_and_repeated_ones_count_nothing(folder: Path) -> None:
    links = links_of(folder, [("1", ["1", "2", "b/1", "2"]), ("2", ["1"])])
    assert ranking(links, "page", folder).links == len({"1>2", "1>b/1", "2>1"})
    assert ranking(links, "host", folder).links == len({"a>b"})


def test_a_crawl_without_visits_is_an_empty_graph(folder: Path) -> None:
    assert graph(links_of(folder, []), "") == (set(), set())


def random_web(folder: Path, pages: int, links: int, seed: int = 1) -> None:
    """The files as they are after reading an archive; one page in ten is another's name."""
    chance = np.random.default_rng(seed)
    hashes = chance.integers(0, 1 << 63, pages, np.uint64)
    visits = np.zeros(pages, VISIT)
    visits["page"], visits["host"], visits["is_name"] = hashes, hashes % np.uint64(97), np.arange(pages) % 10 == 0
    visits["links"] = np.where(visits["is_name"], 0, links // pages)
    visits.tofile(folder / "visits")
    for name, count in (("links", int(visits["links"].sum())), ("names", int(visits["is_name"].sum()))):
        targets = np.zeros(count, LINK)
        targets["page"] = hashes[(chance.random(count) ** 2 * pages).astype(np.int64)]
        targets["host"] = targets["page"] % np.uint64(97)
        targets.tofile(folder / name)


@pytest.mark.parametrize("of", ["page", "host"])
def test_it_is_the_same_in_small_pieces(folder: Path, monkeypatch: pytest.MonkeyPatch, of: Of) -> None:
    random_web(folder, 2000, 20_000)
    nobody = np.empty(0, np.uint64)
    at_once = ranking(Links(folder, nobody), of, folder)
    monkeypatch.setattr(rank, "PIECE", 256)
    monkeypatch.setattr(rank, "RUN", 1000)
    in_pieces = ranking(Links(folder, nobody), of, folder)
    assert (in_pieces.hashes == at_once.hashes).all()
    assert in_pieces.rank == pytest.approx(at_once.rank, abs=1e-12)
    assert in_pieces[2:] == at_once[2:]
    assert at_once.rank.sum() == pytest.approx(1)


def test_memory_is_by_the_page_and_not_by_the_link(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the 75 bytes a page that docs/importance.md states, 24 are a mapped file; pieces are small here."""
    monkeypatch.setattr(rank, "PIECE", 1 << 14)
    monkeypatch.setattr(rank, "RUN", 1 << 16)
    _peak_bytes(folder, 100, 1000)  # numpy loads parts of itself when they are first needed
    pages = 100_000
    few, many = _peak_bytes(folder, pages, 1_000_000), _peak_bytes(folder, pages, 3_000_000)
    assert many < 1.1 * few
    assert many < 60 * pages


def _peak_bytes(folder: Path, pages: int, links: int) -> int:
    random_web(folder, pages, links)
    tracemalloc.start()
    ranking(Links(folder, np.empty(0, np.uint64)), "page", folder)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak
