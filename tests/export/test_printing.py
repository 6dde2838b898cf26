"""Without `--out` an export goes to standard output, all of it and nothing else; nothing is noted of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.crawl.command import gossamer
from tests.export.crawls import exported


@pytest.mark.parametrize(("to", "name"), [("jsonl", "pages.jsonl"), ("cdxj", "index.cdxj"), ("links", "links.jsonl")])
async def test_what_is_printed_is_what_a_file_would_hold(to: str, name: str, crawl: Path, tmp_path: Path) -> None:
    facts = exported(crawl, to, tmp_path / name)
    before = (crawl / "exports.json").read_bytes()
    ran = await gossamer("export", crawl, "--to", to)
    assert (ran.code, ran.out) == (0, (tmp_path / name).read_text())
    left_out = f", {facts['left_out']:,} left out that do not want to be indexed" if facts["left_out"] else ""
    assert ran.err == f"-: {facts['visits']:,} visits{left_out}\n"
    assert (crawl / "exports.json").read_bytes() == before
