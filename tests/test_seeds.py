"""The list of seeds: what a person types, what is kept of it, and what is known without reading it again."""

from __future__ import annotations

import tracemalloc
from contextlib import closing
from pathlib import Path

import pytest

from gossamer import seeds as module
from gossamer.folder import FolderError
from gossamer.records import Seed
from gossamer.seeds import SeedList, Spooled
from gossamer.url.typed import NotASeed, seed_in, seeds_in, url_in


@pytest.mark.parametrize(
    ("typed", "seed"),
    [
        ("http://a.test", Seed("http://a.test/")),
        ("example.org/docs", Seed("https://example.org/docs")),
        ("http://a.test/ priority=0.9 max_depth=2", Seed("http://a.test/", 0.9, 2)),
        ("http://a.test/a b", Seed("http://a.test/a%20b")),
        ("http://a.test/?q=a=b max_depth=0", Seed("http://a.test/?q=a=b", None, 0)),
    ],
)
def test_what_a_person_types(typed: str, seed: Seed) -> None:
    assert seed_in(typed) == seed


@pytest.mark.parametrize(
    "typed",
    [
        "",
        " ",
        "nonsense",
        "ftp://a.test/",
        "http://a.test/ priority=2",
        "http://a.test/ depth=1",
        "a.test max_depth=-1",
    ],
)
def test_what_makes_no_sense_is_said(typed: str) -> None:
    with pytest.raises(NotASeed):
        seed_in(typed)


def test_a_url_alone_takes_nothing_behind_it() -> None:
    with pytest.raises(NotASeed):
        url_in("a.test priority=1")


def test_a_list_has_remarks_and_perhaps_a_byte_order_mark() -> None:
    lines = [
        b"\xef\xbb\xbfhttp://a.test/\r\n",
        b"# remark\n",
        b"\n",
        b"b.test # why\n",
        b"http://c.test/#part priority=1",
    ]
    assert list(seeds_in(lines, "list")) == [
        Seed("http://a.test/"),
        Seed("https://b.test/"),
        Seed("http://c.test/", 1.0),
    ]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (b"nonsense", "nonsense"),
        (b"\xff\xfe", "UTF-8"),
        (b"http://a.test/ priority=x", "priority"),
        (b"a" * 70_000, "bytes"),
    ],
)
def test_a_bad_line_of_a_list_is_named_by_its_number(line: bytes, said: str) -> None:
    with pytest.raises(NotASeed, match=rf"mine, line 3: .*{said}"):
        list(seeds_in([b"http://a.test/\n", b"# fine\n", line + b"\n"], "mine"))


def test_the_list_is_readable_and_keeps_what_was_said_of_each(folder: Path) -> None:
    seeds = SeedList(folder)
    seeds.take([Seed("http://a.test/")], "host")
    seeds.take(
        [Seed("http://b.test/?q=a=b", 0.25, 3), Seed("http://a.test/", priority=1.0), Seed("http://c.test/")], "host"
    )
    assert (
        seeds.path.read_text() == "http://a.test/\nhttp://b.test/?q=a=b priority=0.25 max_depth=3\nhttp://c.test/\n"
    )
    assert list(seeds)[1] == Seed("http://b.test/?q=a=b", 0.25, 3)


@pytest.mark.parametrize(
    "line", [b"http://a.test/ priority=nan", b"http://a.test/ depth=1", b"http://a.test/ b", b"\xe9"]
)
def test_a_damaged_list_is_named_with_its_line(folder: Path, line: bytes) -> None:
    (folder / "seeds.txt").write_bytes(b"http://a.test/\n" + line + b"\n")
    with pytest.raises(FolderError, match=r"seeds\.txt is damaged \(line 2"):
        list(SeedList(folder))


def test_the_index_knows_urls_and_homes_also_of_what_was_added_behind_it(folder: Path) -> None:
    seeds = SeedList(folder)
    seeds.take([Seed("http://www.a.test/x")], "host")
    with seeds.path.open("a") as file:
        file.write("http://b.test/y")  # by hand, and without an end of its line
    index = SeedList(folder).index("host")
    assert index.has("http://www.a.test/x") and index.has("http://b.test/y") and not index.has("http://a.test/x")
    assert "a.test" in index and "b.test" in index and "www.a.test" not in index
    seeds.take([Seed("http://c.test/")], "host")
    assert [seed.url for seed in seeds] == ["http://www.a.test/x", "http://b.test/y", "http://c.test/"]
    of_sites = seeds.take([Seed("http://deep.d.co.uk/")], "site")
    assert "d.co.uk" in of_sites and "a.test" in of_sites


def test_a_damaged_index_is_made_anew(folder: Path) -> None:
    seeds = SeedList(folder)
    seeds.take([Seed(f"http://{name}.test/") for name in "abc"], "host")
    path = folder / "seeds.index"
    whole = path.read_bytes()
    for damaged in (b"", whole[:20], whole[:-8], whole[:-1], whole[:-3] + bytes([whole[-3] ^ 1]) + whole[-2:]):
        path.write_bytes(damaged)
        index = seeds.index("host")
        assert index.has("http://b.test/") and "c.test" in index and "d.test" not in index
    seeds.path.write_text("http://z.test/\n")  # somebody made it shorter
    index = seeds.index("host")
    assert "z.test" in index and "a.test" not in index


def test_memory_does_not_follow_the_length_of_the_list(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SPOOL_BYTES", 1 << 16)
    monkeypatch.setattr(module, "RECENT_MAX", 1000)
    urls = (f"http://{number % 100}.test/some/path/to/make/it/long/{number}" for number in range(40_000))
    tracemalloc.start()
    try:
        with closing(Spooled(map(Seed, urls))) as spooled:
            SeedList(folder).take(spooled, "host")
        assert sum(1 for _ in SeedList(folder)) == 40_000
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert (
        peak < 8 << 20
    )  # as a list of records they would take some 12 MB; 8 bytes a seed and the write buffer do not
