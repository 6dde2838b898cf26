"""`gossamer bench` from end to end, small: nginx, a crawl, the report. Needs nginx; the peers are not asked for."""

from __future__ import annotations

import asyncio
import json
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from gossamer import cli
from gossamer.bench import disk, running
from gossamer.bench.crawlers import found
from gossamer.bench.environment import Environment
from tests.bench.needs import needs_nginx
from tests.crawl.command import gossamer, start, until


@needs_nginx
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


@needs_nginx
@pytest.mark.long
async def test_a_bench_that_is_told_to_end_leaves_nobody_behind(tmp_path: Path) -> None:
    size = ("--hosts", 40, "--pages", 40, "--rounds", 1, "--seconds", 60, "--port", 18_096, "--cache", tmp_path)
    process = await start("bench", *size, "--crawlers", "gossamer", "--ram-disk", "no")
    try:
        await until(lambda: list(tmp_path.glob(f"{disk.PREFIX}*/gossamer/work/crawl")), 60)
        assert len(at_work_on(tmp_path)) >= 3  # itself, nginx, the crawl
        process.terminate()
        _, err = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
    assert process.returncode == 130, err.decode()
    await until(lambda: not at_work_on(tmp_path))


@needs_nginx
@pytest.mark.long
async def test_who_ends_a_bench_gets_the_rounds_that_were_measured(tmp_path: Path) -> None:
    size = ("--hosts", 4, "--pages", 10, "--rounds", 99, "--seconds", 60, "--port", 18_095, "--cache", tmp_path)
    process = await start("bench", *size, "--crawlers", "gossamer", "--json")
    assert process.stdout and process.stderr
    try:
        async with asyncio.timeout(120):
            while b"round 1 of 99" not in await process.stderr.readline():
                pass
        process.terminate()
        out, err = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
    assert process.returncode == 130, err.decode()
    facts = json.loads(out)
    assert facts["crawlers"]["gossamer"]["pages"] == 40 and "interrupted" in facts["ceiling_reason"]
    assert not at_work_on(tmp_path)


def at_work_on(folder: Path) -> list[str]:
    commands = []
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            commands.append(file.read_text(errors="replace").replace("\0", " "))
    return [command for command in commands if str(folder) in command]


@needs_nginx
@pytest.mark.long
async def test_pages_as_on_the_web_are_sent_packed_to_everybody(tmp_path: Path) -> None:
    size = ("--hosts", 3, "--pages", 6, "--rounds", 1, "--seconds", 60, "--port", 18_097, "--cache", tmp_path)
    ran = await gossamer(
        "bench", "--mix", "real", *size, "--crawlers", "gossamer,colly", "--ram-disk", "yes", "--json", timeout_s=400
    )
    assert ran.code == 0, ran.err
    (facts,) = ran.lines()
    assert facts["mix"]["kind"] == "real" and facts["mix"]["is_tls"]
    assert any(said.startswith(("crawl folders in memory", "crawl folders on disk")) for said in facts["conditions"])
    assert len(facts["crawlers"]) + len(facts["missing"]) == 2  # Colly is built where there are Go and its modules
    for name, row in facts["crawlers"].items():
        assert (name, row["pages"], row["packed_share"]) == (name, 18, 1)
        assert row["sent_bytes_per_page"] < facts["mix"]["page_bytes"] / 2


def test_without_go_there_is_no_colly_and_the_reason_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    here, (missing,) = found(["colly"], Environment(tmp_path / "environment", print))
    assert not here
    assert missing.name == "colly" and "Go" in missing.reason


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
