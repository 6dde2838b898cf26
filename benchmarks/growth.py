"""Is it as fast after five million URLs as after fifty thousand, and as small?

    python -m benchmarks.growth [--urls 5000000] [--hosts 1000] [--steps 50000,100000,...] [--seconds 3600] [--json]

One crawl of a web without end, which a process beside it answers from memory: 30 links a page, five of them to pages
that nobody has seen before. Nothing is polite here, so that the frontier is what is measured. At each step of known
URLs a row is printed: pages a second, and pages for each second of the crawl's own CPU time (which tells more where
the machine is shared), both over the stretch from half the step on; what a fixed piece of work took meanwhile, in
milliseconds, which tells how fast the machine was (reference.py); memory of all processes; what is on disk; and the
write amplification of the state: bytes written over bytes kept, the archive taken out of both.
"""

from __future__ import annotations

import argparse
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.endless_web import crawl_command, serving, show
from benchmarks.reference import Reference, measured_meanwhile
from gossamer.bench.running import cpu_s, memory_bytes, tree, written_bytes

STEPS = "50000,100000,200000,500000,1000000,2000000,3000000,4000000,5000000"
LINE = re.compile(r"\b(pages|queued|waiting|in_flight)=(\d+)")


@dataclass(frozen=True)
class Look:
    """The crawl at one moment."""

    at: float
    known: int
    pages: int
    cpu_s: float
    memory_bytes: int
    written_bytes: int
    archive_bytes: int
    state_bytes: int


def looks(process: subprocess.Popen[str], crawl: Path) -> Iterator[Look]:
    """Whenever the crawl says how far it is, which is every five seconds."""
    assert process.stderr is not None
    for line in process.stderr:
        said = {name: int(number) for name, number in LINE.findall(line)}
        if "queued" not in said:
            continue
        pids = list(tree(process.pid))
        archive, everything = size_of(crawl / "archive"), size_of(crawl)
        yield Look(
            time.monotonic(),
            sum(said.values()),
            said["pages"],
            sum(map(cpu_s, pids)),
            sum(map(memory_bytes, pids)),
            sum(map(written_bytes, pids)),
            archive,
            everything - archive,
        )


def size_of(folder: Path) -> int:
    total = 0
    for file in folder.rglob("*"):
        try:
            total += file.stat().st_size
        except FileNotFoundError:  # compacted away meanwhile
            continue
    return total


def start_of(seen: list[Look], step: int) -> Look:
    """Where the stretch that ends now began: at half the step, or at the first look, when the start was over."""
    return [look for look in seen[:-1] if look is seen[0] or look.known <= step / 2][-1]


def row_of(before: Look, now: Look, reference: Reference) -> dict[str, float | int | str]:
    pages, written = now.pages - before.pages, now.written_bytes - now.archive_bytes
    return {
        "known": now.known,
        "pages": now.pages,
        "pages/s": pages / (now.at - before.at),
        "pages/CPU s": pages / max(0.01, now.cpu_s - before.cpu_s),
        "reference ms": reference.mean_ms(before.at),
        "memory MiB": now.memory_bytes / 1024**2,
        "state MiB": now.state_bytes / 1024**2,
        "B/URL": now.state_bytes / now.known,
        "archive MiB": now.archive_bytes / 1024**2,
        "written/kept": max(0, written) / max(1, now.state_bytes),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description="pace and size of one crawl as it grows")
    parser.add_argument("--urls", type=int, default=5_000_000, help="known URLs at which it ends")
    parser.add_argument("--steps", default=STEPS, help="known URLs at which a row is printed")
    parser.add_argument("--hosts", type=int, default=1000)
    parser.add_argument("--new", type=int, default=5, help="links a page that nobody has seen before")
    parser.add_argument("--links", type=int, default=30, help="links a page")
    parser.add_argument("--seconds", type=float, default=3600.0, help="longest run")
    parser.add_argument("--dir", type=Path, help="where the crawl is left; otherwise it is thrown away")
    parser.add_argument("--json", action="store_true")
    chosen = parser.parse_args()
    steps = [step for step in map(int, chosen.steps.split(",")) if step <= chosen.urls]
    rows: list[dict[str, float | int | str]] = []
    with (
        tempfile.TemporaryDirectory(dir=chosen.dir) as name,
        serving(Path(name), hosts=chosen.hosts, new=chosen.new, links=chosen.links) as seeds,
        measured_meanwhile() as reference,
    ):
        command = crawl_command(
            seeds,
            *("--max-time", str(chosen.seconds)),
            politeness__delay_s=0,
            politeness__latency_factor=0,
            politeness__ip_requests_per_s=1e6,
            politeness__ip_burst=10**6,
        )
        with subprocess.Popen(
            command, cwd=name, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True
        ) as process:
            seen: list[Look] = []
            for look in looks(process, Path(name) / "crawl"):
                seen.append(look)
                if steps and look.known >= steps[0] and len(seen) > 1:
                    rows.append(row_of(start_of(seen, steps[0]), look, reference))
                    show(rows, as_json=chosen.json)
                    steps = [step for step in steps if step > look.known]
                if look.known >= chosen.urls:
                    break
            process.send_signal(signal.SIGINT)
            process.communicate()
    show(rows, as_json=chosen.json, last=True)
    if len(rows) > 1 and not chosen.json:
        pace, work, size = (
            float(rows[-1][key]) / float(rows[0][key]) for key in ("pages/CPU s", "reference ms", "memory MiB")
        )
        print(
            f"from the first row to the last: pages a CPU second {pace:.0%}, "
            f"on a machine of the same pace {pace * work:.0%}, memory {size:.0%}"
        )
    sys.exit(0 if rows else 1)


if __name__ == "__main__":
    main()
