"""`gossamer bench` from end to end, small: nginx, a crawl, the report. Needs nginx; the peers are not asked for."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import pytest

from gossamer import cli
from gossamer.bench import running
from tests.crawl.command import gossamer


@pytest.mark.skipif(
    not (shutil.which("nginx") or Path("/usr/sbin/nginx").exists()), reason="nginx is not here: apt install nginx"
)
@pytest.mark.long
async def test_the_bench_measures_itself_and_says_who_is_missing(tmp_path: Path) -> None:
    size = ("--hosts", 4, "--pages", 10, "--rounds", 1, "--seconds", 60, "--port", 18_099)
    files = ("--picture", tmp_path / "bench.svg", "--save", tmp_path / "bench.json", "--cache", tmp_path)
    ran = await gossamer("bench", *size, *files, "--crawlers", "gossamer", "--profile", "--json", timeout_s=120)
    assert ran.code == 0, ran.err
    (facts,) = ran.lines()
    assert facts["crawlers"]["gossamer"]["pages"] == 40
    assert facts["pages_per_s"] > 0
    assert facts["profile"]["workers_us"]["html"] > 0
    assert json.loads((tmp_path / "bench.json").read_text()) == facts
    assert (tmp_path / "bench.svg").read_text().startswith("<svg")


def test_an_unknown_crawler_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["bench", "--crawlers", "gossamer,htrack"]) == 2
    assert "htrack" in capsys.readouterr().err


def test_a_run_counts_its_children_and_what_they_write(tmp_path: Path) -> None:
    child = "open('left', 'wb').write(bytes(300_000)); sum(range(3_000_000))"
    script = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {child!r}], check=True)"
    (tmp_path / "work").mkdir()
    used = running.run([sys.executable, "-c", script], tmp_path / "work", 60.0)
    assert used.code == 0
    assert used.left_bytes == 300_000
    assert 0.02 < used.cpu_s < used.elapsed_s * 4
    assert not used.was_stopped


def test_a_run_that_takes_too_long_is_stopped(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    used = running.run(
        [sys.executable, "-c", "import time; print('here', flush=True); time.sleep(60)"], tmp_path / "work", 1.0
    )
    assert used.was_stopped
    assert used.elapsed_s < 30
    assert "KeyboardInterrupt" in used.said
