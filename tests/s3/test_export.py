"""Exports to a bucket of a real S3 server: the same bytes as on disk, whole at first and then what is new."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from tests.export.crawls import Crawls, command, copied, crawl_twice, exported, go_on, rows
from tests.s3.server import ENVIRONMENT, server
from tests.shared_crawl import once


@pytest.fixture(scope="session")
def crawls(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Crawls:
    return once(tmp_path_factory, worker_id, "exports", crawl_twice)


@pytest.fixture
def crawl(crawls: Crawls, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Half of the crawl, by somebody who has the keys of a bucket."""
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("AWS_ENDPOINT", server().options["endpoint"])
    return copied(crawls.half, tmp_path / "crawl")


def sent(crawl: Path, to: str, url: str, *flags: str) -> dict[str, object]:
    ran = command("export", crawl, "--to", to, "--out", url, "--json", *flags)
    assert ran.code == 0, ran.err
    [facts] = ran.lines()
    return facts


def fetched(url: str) -> bytes:
    above, _, name = url.rpartition("/")
    return b"".join(server().storage(above).chunks(name))


def unpacked(content: bytes) -> bytes:
    """A packed file also says when it was packed."""
    return gzip.decompress(content) if content[:2] == b"\x1f\x8b" else content


@pytest.mark.parametrize(
    ("to", "name"), [("jsonl", "pages.jsonl"), ("cdxj", "index.cdxj"), ("links", "links.tsv.gz")]
)
def test_a_file_in_a_bucket_is_what_it_would_be_here(
    to: str, name: str, crawl: Path, crawls: Crawls, tmp_path: Path
) -> None:
    url = f"{server().new_place()}/{name}"
    first, here = sent(crawl, to, url), exported(crawl, to, tmp_path / name)
    assert first | {"target": ""} == here | {"target": ""} and first["is_full"]
    go_on(crawl, crawls)
    second, here = sent(crawl, to, url), exported(crawl, to, tmp_path / name)
    assert second | {"target": ""} == here | {"target": ""} and not second["is_full"]
    assert unpacked(fetched(url)) == unpacked((tmp_path / name).read_bytes())
    before = fetched(url)
    assert sent(crawl, to, url)["visits"] == 0
    assert fetched(url) == before


def test_texts_in_a_bucket_are_what_they_would_be_here(crawl: Path, crawls: Crawls, tmp_path: Path) -> None:
    url = server().new_place()
    sent(crawl, "markdown", url)
    go_on(crawl, crawls)
    assert not sent(crawl, "markdown", url)["is_full"]
    exported(crawl, "markdown", tmp_path / "here")
    here = {str(file.relative_to(tmp_path / "here")): file.read_bytes() for file in (tmp_path / "here").rglob("*.md")}
    assert {name: fetched(f"{url}/{name}") for name in server().storage(url).names()} == here


def test_tables_in_a_bucket_get_files_for_what_is_new(crawl: Path, crawls: Crawls, tmp_path: Path) -> None:
    url = server().new_place()
    sent(crawl, "parquet", url)
    first = set(server().storage(url).names())
    go_on(crawl, crawls)
    sent(crawl, "parquet", url)
    assert first < set(server().storage(url).names())
    for name in server().storage(url).names():
        (tmp_path / "there" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "there" / name).write_bytes(fetched(f"{url}/{name}"))
    exported(crawl, "parquet", tmp_path / "here")
    for table in ("pages", "links", "hosts"):
        query = f"SELECT * FROM '{{out}}/{table}/*.parquet' ORDER BY ALL"
        assert rows(query, out=tmp_path / "there") == rows(query, out=tmp_path / "here")
    before = set(server().storage(url).names())
    assert sent(crawl, "parquet", url, "--full")["is_full"]
    assert not before <= set(server().storage(url).names())  # what is replaced is gone


def test_an_object_that_is_not_ours_is_left_alone_and_a_bucket_that_is_not_there_is_named(crawl: Path) -> None:
    place = server().new_place()
    server().storage(place).put("pages.jsonl", [b"precious"])
    ran = command("export", crawl, "--to", "jsonl", "--out", f"{place}/pages.jsonl")
    assert ran.code == 2 and f"{place}/pages.jsonl is there already, and not from this crawl" in ran.err
    assert fetched(f"{place}/pages.jsonl") == b"precious"
    ran = command("export", crawl, "--to", "jsonl", "--out", "s3://no-such-bucket/pages.jsonl")
    assert ran.code == 1 and "s3://no-such-bucket" in ran.err and "Traceback" not in ran.err
