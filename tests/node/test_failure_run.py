"""The failure run (failure_run.py): a short form every time, ten minutes with --long."""

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
from tests.node.cluster import to_itself
from tests.servers import kafka

PROGRAMS = (("ip", "iproute2"), ("unshare", "util-linux"), ("sysctl", "procps"))


async def ran(folder: Path, **given: object) -> dict[str, Any]:
    kafka.needed()
    for name, package in PROGRAMS:
        program(name, package)
    if os.geteuid() != 0:
        without("network namespace", "only root may lay a network")
    flags = [word for name, value in given.items() for word in (f"--{name}", str(value))]
    words = ("unshare", "--net", sys.executable, "-m", "tests.node.failure_run", "--dir", str(folder), *flags)
    async with to_itself():
        run = await asyncio.create_subprocess_exec(
            *words, cwd=ROOT, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
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
    assert run.returncode == 0
    return result


async def test_a_disk_a_freeze_a_cut_and_a_broker_leave_the_crawl_as_it_would_have_been(folder: Path) -> None:
    result = await ran(folder, seconds=65, every=18, seed=0, hosts=12, pages=100, delay=0.5)
    assert len(result["faults"]) == 4


@pytest.mark.long
@pytest.mark.parametrize("seed", [1, 2, 3])
async def test_ten_minutes_of_faults_leave_the_crawl_as_it_would_have_been(folder: Path, seed: int) -> None:
    result = await ran(folder, seconds=600, every=20, seed=seed, hosts=24, pages=400, delay=1.0)
    assert len(result["faults"]) == 8
