"""The README works, pasted line by line in a clean environment, from another folder; and its figures are measured."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

from tests.docs.blocks import NOT_RUN, ROOT, blocks_of, installed, run, script_of

README = ROOT / "README.md"
TEXT = README.read_text(encoding="utf-8")


def test_the_tutorial_works_pasted_line_by_line(folder: Path) -> None:
    blocks = [
        block
        for block in blocks_of(README)
        if block.language in ("sh", "python") and not block.mark.startswith(NOT_RUN)
    ]
    install, rest = script_of(blocks[:1]), script_of(blocks[1:])
    elsewhere = folder / "elsewhere"
    elsewhere.mkdir()
    said = run(
        f"cd '{ROOT}'\n{install}\ncd '{elsewhere}'\n{rest}",
        folder,
        PATH=os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
        # Without a network: what our package needs is there already, what builds it as well.
        PYTHONPATH=installed(),
        PIP_NO_INDEX="1",
        PIP_FIND_LINKS="",
        PIP_NO_BUILD_ISOLATION="0",
    )
    steps = re.split(r"^=== .*\n", said, flags=re.MULTILINE)[1:]
    assert len(steps) == len(blocks)
    assert "Successfully installed gossamer-" in steps[0]
    assert re.search(r"^http://127\.1\.0\.1:\d+/p/1\n  done", steps[2], re.MULTILINE)
    assert re.search(r"^http://127\.1\.0\.1:\d+/p/9\n  refused: .*\[excluded\]", steps[2], re.MULTILINE)
    assert re.search(r"│ 127\.1\.0\.\d+ +│ +\d+ │ +\d+ │", steps[2])  # the query
    assert re.search(r"^200 http://127\.1\.0\.1:\d+/ ", steps[3], re.MULTILINE)  # the library
    assert sorted(path.name for path in elsewhere.iterdir() if path.suffix != ".log") == ["first", "tables"]


def test_it_is_short() -> None:
    assert len(TEXT.splitlines()) <= 130
    rows = TEXT.partition("## How it compares")[2].partition("\n## ")[0].count("\n| ") - 1
    assert 5 <= rows <= 6


def test_its_figures_are_those_of_the_benchmark() -> None:
    measured = (ROOT / "docs" / "performance.md").read_text(encoding="utf-8")
    pace = dict(re.findall(r"^\| (Gossamer|Scrapy|Crawlee|wget2) [\d.]+ \|.*?\| ([\d,]+) \(", measured, re.MULTILINE))
    faster = dict(re.findall(r"^\| (Scrapy|wget2) [\d.]+ \|.*\| ([\d.]+) times", measured, re.MULTILINE))
    row = next(line for line in TEXT.splitlines() if line.startswith("| pages a second"))
    assert row.split("|")[2:5] == [f" {pace[name]} " for name in ("Gossamer", "Scrapy", "Crawlee")]
    assert f"{faster['Scrapy']} times Scrapy's" in TEXT and f"{faster['wget2']} times wget2's" in TEXT
