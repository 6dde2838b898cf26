"""The failure run of fetchers (failure_run.py): a short form every time, a longer one with --long."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.crawl.command import ROOT
from tests.debian import program, without
from tests.node.test_failure_run import PROGRAMS


async def ran(folder: Path, *flags: object) -> dict[str, Any]:
    for name, package in PROGRAMS:
        program(name, package)
    if os.geteuid() != 0:
        without("network namespace", "only root may lay a network")
    words = ("unshare", "--net", sys.executable, "-m", "tests.fetchers.failure_run", "--dir", str(folder))
    run = await asyncio.create_subprocess_exec(
        *words, *map(str, flags), cwd=ROOT, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )
    try:
        out, err = await run.communicate()
    finally:
        if run.returncode is None:
            run.terminate()
            await run.wait()
    assert out, err.decode()[-5000:]
    result: dict[str, Any] = json.loads(out)
    assert not result["wrong"], f"{err.decode()[-2000:]}\n{json.dumps(result, indent=1)}"
    return result


async def test_fetchers_that_die_freeze_and_are_cut_off_change_nothing_about_a_crawl(tmp_path: Path) -> None:
    result = await ran(tmp_path, "--seconds", 45, "--hosts", 8, "--pages", 40, "--kinds", "kill,freeze,cut servers")
    assert len(result["faults"]) == 3


@pytest.mark.long
@pytest.mark.parametrize("flags", [(), ("--process",)])
async def test_minutes_of_faults_change_nothing_about_a_crawl(tmp_path: Path, flags: tuple[str, ...]) -> None:
    result = await ran(tmp_path, "--seconds", 240, "--hosts", 16, "--pages", 120, "--delay", 1, *flags)
    assert len(result["faults"]) == 5
