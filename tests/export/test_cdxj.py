"""The index that an archive is replayed by, and the sorting behind it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.archive import reader
from gossamer.export import sorting
from gossamer.export.surt import surt_key
from gossamer.records import Place
from tests.export.crawls import exported


def test_the_index_is_sorted_and_every_line_leads_to_its_record(crawl: Path, tmp_path: Path) -> None:
    exported(crawl, "cdxj", tmp_path / "index.cdxj")
    lines = (tmp_path / "index.cdxj").read_bytes().splitlines()
    assert lines == sorted(set(lines))
    assert len(lines) > 80
    for line in lines:
        key, timestamp, text = line.decode().split(" ", 2)
        fields = json.loads(text)
        place = Place(fields["filename"], int(fields["offset"]), int(fields["length"]))
        record = reader.read(crawl / "archive", place)
        assert (record.url, surt_key(fields["url"])) == (fields["url"], key)
        assert record.headers["WARC-Date"].translate({ord(c): None for c in "-:T"}).startswith(timestamp)
        if record.type == "revisit":
            assert (fields["mime"], "status" in fields) == ("warc/revisit", False)
            assert fields["digest"] in (record.headers["WARC-Payload-Digest"], "-")
        else:
            assert fields["digest"] == record.headers["WARC-Payload-Digest"]
            assert record.head.split()[1].decode() == fields["status"]


def test_who_forbids_copies_is_not_in_the_index_unless_told(crawl: Path, tmp_path: Path) -> None:
    exported(crawl, "cdxj", tmp_path / "few.cdxj")
    exported(crawl, "cdxj", tmp_path / "all.cdxj", "--with-noindex", "--with-noarchive")
    few, every = ((tmp_path / f"{name}.cdxj").read_text() for name in ("few", "all"))
    assert "/uncopied" not in few
    assert "/uncopied" in every
    assert set(few.splitlines()) < set(every.splitlines())


def test_an_index_of_files_that_compaction_has_replaced_is_made_anew(crawl: Path, tmp_path: Path) -> None:
    index = tmp_path / "index.cdxj"
    exported(crawl, "cdxj", index)
    assert not exported(crawl, "cdxj", index)["is_full"]
    before = index.read_text()
    [source] = (crawl / "archive").glob("001-00000e*")
    joined = source.with_name("001-00000-00000-1e1.warc.gz")
    source.rename(joined)
    assert exported(crawl, "cdxj", index)["is_full"]
    assert index.read_text() == before.replace(source.name, joined.name)


@pytest.mark.parametrize(
    ("url", "key"),
    [
        ("http://www.example.com/", "com,example)/"),
        ("https://www2.example.com:443/A/B/?B=2&a=1", "com,example)/a/b?a=1&b=2"),
        ("http://example.com:8080/a//b/../c/", "com,example:8080)/a/c"),
        ("http://example.com/caf%C3%A9?q=%2F", "com,example)/caf%c3%a9?q=/"),
        ("http://example.com/a?a-b=1&a=1", "com,example)/a?a=1&a-b=1"),
        ("http://example.com/a?sid=0123456789abcdef0123456789abcdef&x=1", "com,example)/a?x=1"),
        ("http://127.1.0.13:8081/p/1", "13,0,1,127:8081)/p/1"),
        ("http://[::1]:8081/", "::1:8081)/"),
        ("http://example.com/?", "com,example)/"),
        ("ftp://ftp.example.com/pub/", "com,example,ftp)/pub"),
    ],
)
def test_a_key_folds_what_replays_fold(url: str, key: str) -> None:
    assert surt_key(url) == key


@given(lines=st.lists(st.binary(max_size=6).map(lambda line: line.replace(b"\n", b"") + b"\n"), max_size=60))
@settings(max_examples=25, deadline=None)
def test_lines_are_sorted_with_little_memory(lines: list[bytes], tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("sorting") / "runs"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sorting, "RUN_BYTES", 10)
        patch.setattr(sorting, "RUNS_MAX", 3)
        with sorting.sorted_lines(iter(lines), folder) as merged:
            assert list(merged) == sorted(lines)
    assert not folder.exists()
    shutil.rmtree(folder.parent)
