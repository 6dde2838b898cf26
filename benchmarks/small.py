"""What does the smallest crawl take, and what do the quickest calls? Time, memory and files.

    python -m benchmarks.small [--rounds 5] [--json]

A crawl of one page, with the default settings and so with a second between robots.txt and the page; the same without
that delay; a crawl of 102 pages on 3 hosts; and three calls that should answer at once. The servers are on loopback
addresses, in this process. All in turn, as often as asked for; shown are the least times, because the machine is
shared and only adds to them, and the most of memory (PSS of all processes) and of files.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
from pathlib import Path

from benchmarks.endless_web import FROM_HERE, show
from gossamer.bench.running import run
from gossamer.synthetic_web import Web, WebOptions, serve

LIMIT_S = 120.0
Row = dict[str, float | int | str]


def measured(what: str, folder: Path, *call: str) -> Row:
    """The crawl's folder, where there is one, is D below `folder`."""
    command = [*FROM_HERE, sys.executable, "-P", "-m", "gossamer", *call]
    used = run(command, folder, LIMIT_S)
    if used.code:
        raise SystemExit(used.said)
    files = len([*(folder / "D").rglob("*")]) if call[0] == "crawl" else 0
    return {
        "what": what,
        "wall s": used.elapsed_s,
        "CPU s": used.cpu_s,
        "memory MiB": used.memory_bytes / 1024**2,
        "files": files,
    }


async def one_round(folder: Path) -> list[Row]:
    rows = []

    async def row(what: str, name: str, *call: str) -> None:
        (folder / name).mkdir(exist_ok=True)
        rows.append(await asyncio.to_thread(measured, what, folder / name, *call))

    crawl = ("--dir", "D", "--allow-private")
    async with serve(Web(WebOptions.plain(hosts=1, pages_per_host=1))) as server:
        await row("one page", "page", "crawl", server.url(0), *crawl)
        await row("no delay", "quick", "crawl", server.url(0), *crawl, "--delay", "0")
    async with serve(Web(WebOptions.plain(hosts=3, pages_per_host=34))) as server:
        await row("102 pages", "pages", "crawl", server.url(0), *crawl, "--scope", "any", "--delay", "0")
    await row("status", "page", "status", "D")
    await row("--version", "page", "--version")
    await row("--help", "page", "--help")
    return rows


def best(rows: list[Row]) -> Row:
    def of(name: str) -> list[float]:
        return [float(row[name]) for row in rows]

    least = {name: min(of(name)) for name in ("wall s", "CPU s")}
    return {**rows[0], **least, "memory MiB": max(of("memory MiB")), "files": int(max(of("files")))}


def main() -> None:
    parser = argparse.ArgumentParser(description="the smallest crawls and the quickest calls")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    chosen = parser.parse_args()
    rounds: list[list[Row]] = []
    for _ in range(chosen.rounds):
        with tempfile.TemporaryDirectory() as folder:
            rounds.append(asyncio.run(one_round(Path(folder))))
    shown: list[Row] = []
    for rows in zip(*rounds, strict=True):
        shown.append(best(list(rows)))
        show(shown, as_json=chosen.json)
    show(shown, as_json=chosen.json, last=True)


if __name__ == "__main__":
    main()
