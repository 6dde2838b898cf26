"""No page that is rendered leads to a private address, whatever its scripts try (private_run.py)."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

from tests.crawl.command import ROOT
from tests.debian import program, without


async def test_no_script_reaches_a_private_address(folder: Path) -> None:
    program("chromium", "chromium")
    for name, package in (("ip", "iproute2"), ("unshare", "util-linux")):
        program(name, package)
    if os.geteuid() != 0:
        without("network namespace", "only root may lay a network")
    words = ("unshare", "--net", sys.executable, "-m", "tests.render.private_run", "--dir", str(folder / "crawl"))
    run = await asyncio.create_subprocess_exec(
        *words, cwd=ROOT, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )
    out, err = await run.communicate()
    assert out, err.decode()[-5000:]
    result: dict[str, Any] = json.loads(out)
    assert not result["wrong"], json.dumps(result, indent=1)
