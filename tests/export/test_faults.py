"""What is in the way of an export is said plainly, and nothing half-written is left under a final name."""

from __future__ import annotations

import os
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from gossamer.export import positions
from tests.export.crawls import command, exported


def test_a_file_that_is_not_ours_is_left_alone_unless_it_may_be_replaced(crawl: Path, tmp_path: Path) -> None:
    file = tmp_path / "index.cdxj"
    file.write_text("precious")
    ran = command("export", crawl, "--to", "cdxj", "--out", file)
    assert (ran.code, file.read_text()) == (2, "precious")
    assert "is there already, and not from this crawl" in ran.err
    exported(crawl, "cdxj", file, "--full")
    assert file.read_text() != "precious"


def test_a_folder_with_something_else_in_it_is_left_alone(crawl: Path, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "letters.txt").write_text("precious")
    ran = command("export", crawl, "--to", "parquet", "--out", tmp_path / "out")
    assert ran.code == 2
    assert os.listdir(tmp_path / "out") == ["letters.txt"]


@pytest.mark.parametrize(
    ("to", "out", "said"),
    [("parquet", "-", "needs a folder"), ("parquet", "file", "needs a folder"), ("jsonl", "folder", "needs a file")],
)
def test_a_target_of_the_wrong_kind_is_named(to: str, out: str, said: str, crawl: Path, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "folder").mkdir()
    ran = command("export", crawl, "--to", to, "--out", out if out == "-" else tmp_path / out)
    assert (ran.code, said in ran.err) == (2, True), ran.err


def test_other_rows_than_before_need_another_target(crawl: Path, tmp_path: Path) -> None:
    exported(crawl, "jsonl", tmp_path / "pages.jsonl")
    ran = command("export", crawl, "--to", "jsonl", "--out", tmp_path / "pages.jsonl", "--with-noindex")
    assert ran.code == 2
    assert "was exported as jsonl, and now it would be jsonl --with-noindex" in ran.err


def test_a_target_below_a_file_cannot_be_written(crawl: Path, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    ran = command("export", crawl, "--to", "parquet", "--out", tmp_path / "file" / "out")
    assert (ran.code, "cannot be written to: " in ran.err) == (1, True), ran.err


def test_what_is_no_crawl_has_nothing_to_export(tmp_path: Path) -> None:
    ran = command("export", tmp_path, "--to", "cdxj", "--out", tmp_path / "index.cdxj")
    assert (ran.code, "is not a crawl" in ran.err) == (1, True)


def test_two_exports_at_once_do_not_get_in_each_others_way(crawl: Path, tmp_path: Path) -> None:
    with positions.locked(crawl):
        ran = command("export", crawl, "--to", "cdxj", "--out", tmp_path / "index.cdxj")
    assert (ran.code, "is being exported, ranked or compacted by another process" in ran.err) == (1, True)


@contextmanager
def little_room(file_bytes_max: int) -> Iterator[None]:
    """No file can grow beyond this, which to a program is much like a disk that is full."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (file_bytes_max, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize(("to", "name"), [("parquet", "tables"), ("jsonl", "pages.jsonl"), ("cdxj", "index.cdxj")])
def test_a_full_disk_leaves_nothing_behind(to: str, name: str, crawl: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    with little_room(8_000):
        ran = command("export", crawl, "--to", to, "--out", out / name)
    assert (ran.code, "File too large" in ran.err) == (1, True), ran.err
    assert [path for path in out.rglob("*") if path.is_file()] == []
    assert exported(crawl, to, out / name)["is_full"]


def test_damage_in_the_archive_is_named_with_its_place(crawl: Path, tmp_path: Path) -> None:
    [archive] = (crawl / "archive").glob("001-00000e*")
    content = bytearray(archive.read_bytes())
    content[len(content) // 2] ^= 0xFF
    archive.write_bytes(content)
    ran = command("export", crawl, "--to", "jsonl", "--out", tmp_path / "pages.jsonl")
    assert ran.code == 1
    assert f"{archive.name}: the record at offset" in ran.err
    assert not (tmp_path / "pages.jsonl").exists()


def test_damaged_notes_are_named(crawl: Path, tmp_path: Path) -> None:
    (crawl / "exports.json").write_text("{")
    ran = command("export", crawl, "--to", "cdxj", "--out", tmp_path / "index.cdxj")
    assert (ran.code, "exports.json is damaged" in ran.err) == (1, True)
