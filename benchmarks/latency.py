"""How many fetches can be under way at once in one worker? Servers that take two seconds to answer.

    python -m benchmarks.latency [--hosts 2500] [--in-flight 2000] [--latency 2] [--seconds 30] [--json]

One worker, no delay, one request a host at a time, and more hosts than the fetches that are wanted at once. The
server's log says how many requests it held open at each moment. With 2,000 open and two seconds each, the pace
cannot be above 1,000 pages a second; where the CPU gives less, fewer than 2,000 are open, and both are shown.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from benchmarks.endless_web import crawl_command, entries, serving, show
from gossamer.bench.running import run
from gossamer.synthetic_web.access_log import Entry, overlapping

START_S = 8.0  # robots.txt of every host comes first, and takes as long as a page


def open_at_once(visits: list[Entry]) -> list[tuple[float, int]]:
    """Each moment at which the number of open requests changed, and that number."""
    steps = sorted([(visit.time_in, 1) for visit in visits] + [(visit.time_out, -1) for visit in visits])
    found, number = [], 0
    for moment, change in steps:
        number += change
        found.append((moment, number))
    return found


def measure(chosen: argparse.Namespace, folder: Path) -> dict[str, float | int | str]:
    log = folder / "access.log"
    with serving(folder, hosts=chosen.hosts, log=log, latency=chosen.latency) as seeds:
        work = folder / "work"
        work.mkdir()
        command = crawl_command(
            seeds,
            *("--workers", "1", "--max-time", str(chosen.seconds + START_S)),
            politeness__delay_s=0,
            politeness__latency_factor=0,
            fetch__in_flight_max=chosen.in_flight,
        )
        used = run(command, work, chosen.seconds * 3 + 120)
    visits = entries(log)
    if used.code or not visits:
        raise SystemExit(used.said)
    first, last = min(visit.time_in for visit in visits) + START_S, max(visit.time_in for visit in visits)
    open_now = [number for moment, number in open_at_once(visits) if first <= moment < last]
    return {
        "in flight": chosen.in_flight,
        "open, most": max(open_now, default=0),
        "open, mean": sum(open_now) / max(1, len(open_now)),
        "requests/s": sum(first <= visit.time_out < last for visit in visits) / max(1.0, last - first),
        "possible/s": chosen.in_flight / chosen.latency,
        "CPU of worker": used.cpu_s / used.elapsed_s,
        "at once": len(overlapping(visits)),
        "memory MiB": used.memory_bytes / 1024**2,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description="fetches under way at once in one worker")
    parser.add_argument("--hosts", type=int, default=2500)
    parser.add_argument("--in-flight", type=int, default=2000)
    parser.add_argument("--latency", type=float, default=2.0)
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--json", action="store_true")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        rows = [measure(chosen, Path(folder))]
    show(rows, as_json=chosen.json)
    show(rows, as_json=chosen.json, last=True)


if __name__ == "__main__":
    main()
