"""The command, run as a user runs it: in a process of its own, which can be killed."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from gossamer.process.which_reader import SWITCH

ROOT = Path(__file__).parent.parent.parent

# Waits of seconds instead of hours, so that a test ends; everything else is as users have it.
QUICK = {
    "politeness.delay_s": "0.05",
    "frontier.retries_s": "0.3",
    "robots.retry_s": "0.3",
    "fetch.timeout_s": "1",
    "fetch.connect_timeout_s": "1",
    "politeness.latency_factor": "0.5",
    "politeness.ip_requests_per_s": "1000",
    "politeness.ip_burst": "1000",
    "politeness.site_requests_per_s": "1000",
    "politeness.back_off_s_max": "1",
}


class Ran(NamedTuple):
    code: int | None
    out: str
    err: str

    def lines(self) -> list[dict[str, Any]]:
        """What --json printed: one object a line."""
        return [json.loads(line) for line in self.out.splitlines()]


async def start(
    *arguments: object, environment: dict[str, str] | None = None, inside: Sequence[str] = ()
) -> asyncio.subprocess.Process:
    """`inside`: words before the command, of a program that becomes it somewhere else."""
    # Who reads pages is the choice of whoever runs the tests.
    ours = {name for name in os.environ if name.startswith("GOSSAMER_") and name != SWITCH}
    clean = {name: value for name, value in os.environ.items() if name not in ours}
    return await asyncio.create_subprocess_exec(
        *inside,
        sys.executable,
        "-m",
        "gossamer",
        *map(str, arguments),
        cwd=ROOT,
        env=clean | (environment or {}),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )


async def gossamer(*arguments: object, timeout_s: float = 60, environment: dict[str, str] | None = None) -> Ran:
    process = await start(*arguments, environment=environment)
    talk = asyncio.create_task(process.communicate())
    await asyncio.wait({talk}, timeout=timeout_s)
    if not talk.done():
        process.kill()
        _, err = await talk
        raise AssertionError(f"gossamer {arguments} did not end in {timeout_s} s:\n{err.decode()[-2000:]}")
    out, err = await talk
    return Ran(process.returncode, out.decode(), err.decode())


def quick_settings(**more: object) -> list[str]:
    """`--set` flags for QUICK and more: `fetch__timeout_s=3` is `fetch.timeout_s`."""
    settings = QUICK | {name.replace("__", "."): str(value) for name, value in more.items()}
    return [word for key, value in settings.items() for word in ("--set", f"{key}={value}")]


async def until(batch: Callable[[], object], timeout_s: float = 20) -> None:
    """Look every few milliseconds until something has happened in another process."""
    async with asyncio.timeout(timeout_s):
        while not batch():  # noqa: ASYNC110 - another process cannot set an event of ours
            await asyncio.sleep(0.01)


async def until_quiet(count: Callable[[], int], quiet_s: float = 1.0, timeout_s: float = 20) -> None:
    """Until something in another process has stopped growing."""
    async with asyncio.timeout(timeout_s):
        before = -1
        while before != (before := count()):  # noqa: ASYNC110 - as above
            await asyncio.sleep(quiet_s)
