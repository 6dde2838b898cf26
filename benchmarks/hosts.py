"""Does throughput follow the number of hosts, and is every host's delay kept while the CPU is full?

    python -m benchmarks.hosts [--hosts 1,10,100,1000,10000] [--seconds 30] [--delay 1] [--json]

For each number of hosts a crawl of its own with default settings, for so many seconds, of a web without end that a
process beside it answers from memory. Each host can give a page a delay, so with few hosts the pace is their number
over the delay; with many the CPU is what limits, and then the delay is at stake. The server's log is the judge: no
request may come sooner than the delay after the last answer of its host ended, and no two may be under way at once.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from pathlib import Path

from benchmarks.endless_web import crawl_command, entries, serving, show
from gossamer.bench.running import run
from gossamer.synthetic_web.access_log import gaps_below, overlapping

START_S = 5.0  # of the crawl are left out of its pace: processes start, robots.txt is asked for


def ticks() -> tuple[int, int]:
    """Of all cores together, as the system counts them: at work, and idle or waiting for the disk."""
    numbers = [int(word) for word in Path("/proc/stat").read_text().splitlines()[0].split()[1:9]]
    idle = numbers[3] + numbers[4]
    return sum(numbers) - idle, idle


def measure(hosts: int, seconds: float, delay_s: float, folder: Path) -> dict[str, float | int | str]:
    log = folder / "access.log"
    with serving(folder, hosts=hosts, log=log) as seeds:
        work = folder / "work"
        work.mkdir()
        command = crawl_command(seeds, "--max-time", str(seconds + START_S), politeness__delay_s=delay_s)
        before = ticks()
        used = run(command, work, seconds * 3 + 120)
        busy, idle = (now - then for now, then in zip(ticks(), before, strict=True))
    visits = entries(log)
    if used.code or not visits:
        raise SystemExit(used.said)
    first, last = min(visit.time_in for visit in visits) + START_S, max(visit.time_out for visit in visits)
    steady = sum(visit.time_out >= first for visit in visits) / max(1.0, last - first)
    gaps = [visit.gap_s for visit in gaps_below(visits, lambda _: 0.0, tolerance_s=-1e9)]
    return {
        "hosts": hosts,
        "requests/s": steady,
        "hosts/delay": hosts / delay_s,
        "CPU, crawl": used.cpu_s / used.elapsed_s / (os.cpu_count() or 1),
        "CPU, all": busy / (busy + idle),
        "least gap s": min(gaps, default=0.0),
        "gaps below": len(gaps_below(visits, lambda _: delay_s)),
        "at once": len(overlapping(visits)),
        "requests": len(visits),
        "memory MiB": used.memory_bytes / 1024**2,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description="throughput by number of hosts, with the delay kept")
    parser.add_argument("--hosts", default="1,10,100,1000,10000")
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--delay", type=float, default=1.0)
    parser.add_argument("--json", action="store_true")
    chosen = parser.parse_args()
    rows: list[dict[str, float | int | str]] = []
    for hosts in map(int, chosen.hosts.split(",")):
        with tempfile.TemporaryDirectory() as folder:
            rows.append(measure(hosts, chosen.seconds, chosen.delay, Path(folder)))
        show(rows, as_json=chosen.json)
    show(rows, as_json=chosen.json, last=True)


if __name__ == "__main__":
    main()
