"""Only what is new since the last export, whatever happened in between."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from subprocess import run as run_process

import pytest

from gossamer.export import positions
from gossamer.export.lines import lines_in
from tests.crawl.command import ROOT
from tests.export.crawls import HALF_PAGES, Crawls, command, copied, exported, go_on, rows

FILES = {"jsonl": "pages.jsonl.gz", "cdxj": "index.cdxj", "links": "links.tsv", "hostgraph": "graph.jsonl"}


@pytest.fixture
def crawl(crawls: Crawls, tmp_path: Path) -> Path:
    """Half-way; `go_on` makes it the whole."""
    return copied(crawls.half, tmp_path / "crawl")


@pytest.fixture(scope="module")
def clean(crawls: Crawls, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The whole in an export of its own, to compare with."""
    folder = tmp_path_factory.mktemp("clean")
    exported(copied(crawls.whole, folder / "crawl"), "parquet", folder / "out")
    return folder / "out"


def visits(out: Path) -> list[str]:
    """Without `is_latest`, which a later visit does not change in an earlier file."""
    return sorted(map(repr, rows("SELECT * EXCLUDE is_latest FROM '{out}/pages/*.parquet'", out=out)))


def links(out: Path) -> list[str]:
    return sorted(map(repr, rows("SELECT * FROM '{out}/links/*.parquet'", out=out)))


def test_the_second_export_has_exactly_what_came_since(
    crawl: Path, crawls: Crawls, clean: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    first = exported(crawl, "parquet", out)
    before = set(visits(out))
    assert first["is_full"]
    assert first["visits"] + first["left_out"] >= HALF_PAGES
    go_on(crawl, crawls)
    second = exported(crawl, "parquet", out)
    assert not second["is_full"]
    assert second["visits"] == len(visits(clean)) - len(before) > 0
    assert before < set(visits(out))
    assert (visits(out), links(out)) == (visits(clean), links(clean))
    assert rows("SELECT * FROM '{out}/hosts/*.parquet'", out=out) == rows(
        "SELECT * FROM '{out}/hosts/*.parquet'", out=clean
    )
    copies = rows("SELECT verdict IN ('same', 'near') FROM '{out}/pages/*.parquet' WHERE is_duplicate", out=out)
    assert copies and all(is_copy for (is_copy,) in copies)
    scores = rows("SELECT priority_score FROM '{out}/pages/*.parquet' WHERE is_latest", out=clean)
    assert all(0 < score <= 1 for (score,) in scores)
    files = sorted(path.name for path in (out / "pages").iterdir())
    assert exported(crawl, "parquet", out)["visits"] == 0  # nothing new, and no further files
    assert sorted(path.name for path in (out / "pages").iterdir()) == files


@pytest.mark.parametrize("to", FILES)
def test_a_file_that_was_added_to_is_as_if_made_at_once(to: str, crawl: Path, crawls: Crawls, tmp_path: Path) -> None:
    file, whole = tmp_path / FILES[to], tmp_path / f"whole-{FILES[to]}"
    exported(crawl, to, file)
    before = list(lines_in(file))
    go_on(crawl, crawls)
    assert not exported(crawl, to, file)["is_full"]
    exported(crawl, to, whole)
    assert before != list(lines_in(file))
    if to == "cdxj":
        assert file.read_bytes() == whole.read_bytes()
    elif to != "jsonl":
        assert sorted(lines_in(file)) == sorted(lines_in(whole))
    else:
        assert len(set(lines_in(file))) == len(list(lines_in(file))) == len(list(lines_in(whole)))


def test_full_begins_anew(crawl: Path, crawls: Crawls, clean: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    exported(crawl, "parquet", out)
    go_on(crawl, crawls)
    exported(crawl, "parquet", out)
    assert exported(crawl, "parquet", out, "--full")["is_full"]
    assert visits(out) == visits(clean)
    assert {path.name for path in (out / "pages").iterdir()} == {path.name for path in (clean / "pages").iterdir()}


def test_a_file_that_somebody_changed_or_removed_is_made_again(crawl: Path, tmp_path: Path) -> None:
    file = tmp_path / "graph.tsv"
    exported(crawl, "hostgraph", file)
    content = file.read_bytes()
    file.write_bytes(content.replace(b"\t1\n", b"\t9\n"))
    assert exported(crawl, "hostgraph", file)["is_full"]
    assert file.read_bytes() == content
    file.unlink()
    assert exported(crawl, "hostgraph", file)["is_full"]
    assert file.read_bytes() == content


def test_a_folder_that_is_gone_is_filled_again(crawl: Path, tmp_path: Path) -> None:
    exported(crawl, "parquet", tmp_path / "out")
    shutil.rmtree(tmp_path / "out")
    assert exported(crawl, "parquet", tmp_path / "out")["is_full"]


KILLED = """
import os, signal, sys
from collections.abc import Sequence
from pathlib import Path
from gossamer.export import parquet  # imported once for all that are forked
from gossamer.cli import run
from gossamer.commands import export

rename = Path.replace

def killed_before_file(number, arguments):
    def replace(path, target):
        nonlocal number
        number -= 1
        if number == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return rename(path, target)

    Path.replace = replace
    run(["export", *arguments])

numbers, target, *arguments = sys.argv[1:]
for number in map(int, numbers.split()):
    child = os.fork()
    if not child:
        killed_before_file(number, [*arguments, "--out", target.format(number)])
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL, number
"""


def kill_before(numbers: Sequence[int], crawl: Path, target: Path, *flags: str, to: str = "parquet") -> None:
    """Export so many times, each killed before its n-th file gets its name; {} in the target stands for n."""
    arguments = [" ".join(map(str, numbers)), str(target), str(crawl), "--to", to, *flags]
    run_process([sys.executable, "-c", KILLED, *arguments], cwd=ROOT, check=True)


def test_an_export_that_was_killed_is_repeated_and_nothing_doubles(
    crawl: Path, crawls: Crawls, clean: Path, tmp_path: Path
) -> None:
    # The files: its note, pages and links of three partitions, the hosts, and the note of its end.
    numbers = [1, 2, 5, 9]
    kill_before(numbers, crawl, tmp_path / "out{}")
    for number in numbers:
        whole = sorted((tmp_path / f"out{number}").rglob("*.parquet"))
        assert len(whole) == max(0, number - 2)  # what has its name is whole
        for file in whole:
            rows("SELECT * FROM '{file}'", file=file)
    # The crawl goes on, and the repeat reaches farther than the one that was killed would have.
    go_on(crawl, crawls)
    wanted = (visits(clean), links(clean))
    for number in numbers:
        out = tmp_path / f"out{number}"
        exported(crawl, "parquet", out)
        assert (visits(out), links(out)) == wanted, number
        assert not list(out.rglob("*.partial"))


def test_a_replacement_that_was_killed_leaves_no_row_twice(
    crawl: Path, crawls: Crawls, clean: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    exported(crawl, "parquet", out)
    go_on(crawl, crawls)
    exported(crawl, "parquet", out)
    kill_before([4], crawl, out, "--full")
    exported(crawl, "parquet", out)
    assert visits(out) == visits(clean)


def test_a_target_can_be_forgotten(crawl: Path, tmp_path: Path) -> None:
    exported(crawl, "cdxj", tmp_path / "index.cdxj")
    assert command("export", crawl).out == f"{tmp_path / 'index.cdxj'}: cdxj\n"
    assert command("export", crawl, "--forget", tmp_path / "index.cdxj").code == 0
    assert positions.read(crawl) == {}
    assert (tmp_path / "index.cdxj").exists()
    again = command("export", crawl, "--forget", tmp_path / "index.cdxj")
    assert (again.code, "nothing was exported to" in again.err) == (2, True)
