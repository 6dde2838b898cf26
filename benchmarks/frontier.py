"""How fast is the frontier, how much does it keep in memory and on disk, how soon is it open again?

    python -m benchmarks.frontier [--urls 10_000_000] [--hosts 100_000] [--dir D] [--json]
    python -m benchmarks.frontier --dir D --against PATH [--rounds 24]

Builds a frontier of one partition, as the crawl would: batches of links of a few hundred pages, 45 % of them known
already, host sizes with a heavy tail (Zipf). At each tenth it prints the pace of the last stretch and the most memory
in it: write buffers fill and empty, so that a single look would find anything within a third of that. It then leases
and finishes, closes, opens again, and measures each. One process, one core; the disk is the machine's. A
fixed piece of work between the batches (reference.py) tells how fast the machine was meanwhile.

Adds are made without waiting for the disk (sync) unless --sync is given: the crawl waits once a batch of pages.
Leases are counted by the CPU time of the main thread, which depends less on who else uses the machine.

With --against, leases and finishes alone: this version and that of another checkout in turn, 2,000 at a time, each in
a process of its own on its own copy of the state that an earlier run left in D. The ratio of each round is what is to
be believed, since the machine may be half as fast a minute later.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from statistics import median

from benchmarks.reference import Reference
from gossamer.clock import RealClock
from gossamer.frontier.disk.store import RocksStore
from gossamer.frontier.disk.tables import TABLES
from gossamer.frontier.frontier import Frontier
from gossamer.records import Claim, Exchange, Fetched, Lease, Link, Outcome, Page, Place, Reason
from gossamer.runtime.memory import steady_memory
from gossamer.schedule.planner import Planner
from gossamer.schedule.recrawl_plan import RecrawlPlan
from gossamer.settings import FrontierSettings, PolitenessSettings, ProcessSettings, ScheduleSettings

BATCH = 5000  # links of about 100 pages: what one commit brings to a partition
KNOWN_SHARE = 0.45
WORTH = 1 << 20  # of each link, in credit
SLOTS = 20_000  # leases that fill the slots of hosts, and are not counted where two versions are compared
TURN = 2_000  # leases of one version before the other has its turn


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure the frontier.")
    parser.add_argument("--urls", type=int, default=10_000_000)
    parser.add_argument("--hosts", type=int, default=100_000)
    parser.add_argument("--finishes", type=int, default=200_000)
    parser.add_argument("--dir", type=Path)
    parser.add_argument("--sync", action="store_true")
    parser.add_argument("--planned", action="store_true", help="with credit and next visits, as in a crawl")
    parser.add_argument("--against", type=Path, help="another checkout, to be measured in turn on the state in --dir")
    parser.add_argument("--rounds", type=int, default=24, help="of --against")
    parser.add_argument("--in-turn", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    if arguments.against is not None:
        compare(arguments)
        return
    steady_memory()  # as a worker does
    if arguments.in_turn:
        in_turn(arguments.dir, planned=arguments.planned)
        return
    folder = arguments.dir or Path(tempfile.mkdtemp(prefix="gossamer-frontier-"))
    try:
        facts = measure(folder, arguments)
    finally:
        if arguments.dir is None:
            shutil.rmtree(folder)
    print(json.dumps(facts) if arguments.json else "\n".join(f"{name:<34} {value}" for name, value in facts.items()))


def measure(folder: Path, arguments: argparse.Namespace) -> dict[str, object]:
    facts: dict[str, object] = {"urls": arguments.urls, "hosts": arguments.hosts}
    store, frontier = opened(folder, planned=arguments.planned)
    links = crawl_like_links(arguments.hosts, random.Random(1), WORTH if arguments.planned else 0)
    added, offered, spent_s, reference = 0, 0, 0.0, Reference()
    memory_at = {arguments.urls // 10, arguments.urls // 2, arguments.urls}
    stretch = arguments.urls // 10
    for target in range(stretch, arguments.urls + 1, stretch):
        offered_before, spent_before_s, peak_mib, since = offered, spent_s, 0.0, time.monotonic()
        while added < target:
            batch = list(itertools.islice(links, BATCH))
            started = time.perf_counter()
            added += frontier.add(batch, sync=arguments.sync)
            spent_s += time.perf_counter() - started
            offered += len(batch)
            reference.take()
            peak_mib = max(peak_mib, resident_mib() - frontier.seen.filter_bytes / 2**20)
        links_per_s = (offered - offered_before) / (spent_s - spent_before_s)
        filter_mib = frontier.seen.filter_bytes / 2**20
        memory = f"at most {peak_mib:,.0f} MiB resident, and {filter_mib:,.0f} MiB for the filter"
        line = f"{links_per_s:,.0f} links/s, {memory}, reference {reference.mean_ms(since):.2f} ms"
        print(f"{added:>12,} URLs  {line}", file=sys.stderr, flush=True)
        if target in memory_at:
            facts[f"at_{target}_urls"] = line
    facts["adds_per_s"] = round(offered / spent_s)
    facts["reference_ms_while_adding"] = round(reference.mean_ms(0.0), 2)
    facts |= leases_and_finishes(frontier, arguments.finishes)
    frontier.close()
    store.close()
    facts["bytes_on_disk_per_url"] = round(sum(f.stat().st_size for f in folder.rglob("*") if f.is_file()) / added, 1)
    for kind in ("after_a_clean_end", "after_a_crash"):
        started = time.perf_counter()
        store, frontier = opened(folder, planned=arguments.planned)
        frontier.lease(1)
        facts[f"start_s_{kind}"] = round(time.perf_counter() - started, 3)
        store.close()  # without frontier.close(): as a crash leaves it
    return facts


def leases_and_finishes(frontier: Frontier, wanted: int) -> dict[str, object]:
    """In ten stretches: the machine is shared, and how much they differ tells how much it was."""
    done, spent_s, cpu_s, paces, reference = 0, 0.0, 0.0, [], Reference()
    for target in range(wanted // 10, wanted + 1, wanted // 10):
        done_before, cpu_before_s = done, cpu_s
        while done < target:
            pages, took_s, took_cpu_s = one_round(frontier, done)
            done, spent_s, cpu_s = done + pages, spent_s + took_s, cpu_s + took_cpu_s
            reference.take()
            if not pages:
                break
        paces.append((done - done_before) / max(1e-9, cpu_s - cpu_before_s))
        print(f"{done:>12,} leases and finishes  {paces[-1]:,.0f} a CPU second", file=sys.stderr, flush=True)
    return {
        "leases_and_finishes": done,
        "leases_and_finishes_per_cpu_s": round(done / cpu_s),
        "leases_and_finishes_per_s": round(done / spent_s),
        "reference_ms_meanwhile": round(reference.mean_ms(0.0), 2),
        "of_which_the_slowest_and_fastest_tenth": f"{min(paces):,.0f}, {max(paces):,.0f}",
    }


def one_round(frontier: Frontier, done: int) -> tuple[int, float, float]:
    """How many pages were leased and finished; how long the frontier took for it, and its CPU time."""
    started, started_cpu = time.perf_counter(), time.thread_time()
    leases = frontier.lease(500)
    spent_s, cpu_s = time.perf_counter() - started, time.thread_time() - started_cpu
    outcomes = [outcome_of(lease) for lease in leases]
    places = [Place("000-00000.warc.gz", done + n, 7000) for n in range(len(outcomes))]
    started, started_cpu = time.perf_counter(), time.thread_time()
    for outcome in outcomes:
        frontier.answered(outcome.lease, outcome.result)
    frontier.finish(outcomes, places, Place("000-00000.warc.gz", done, 0))
    return len(leases), spent_s + time.perf_counter() - started, cpu_s + time.thread_time() - started_cpu


def compare(arguments: argparse.Namespace) -> None:
    """Leases and finishes of this version and of another, in turn."""
    checkouts = {"before": arguments.against.resolve(), "now": Path(__file__).resolve().parents[1]}
    with ExitStack() as open_until_the_end:
        versions: dict[str, subprocess.Popen[str]] = {}
        for name, checkout in checkouts.items():
            folder = open_until_the_end.enter_context(tempfile.TemporaryDirectory(dir=arguments.dir))
            shutil.copytree(arguments.dir / "000", Path(folder) / "000", copy_function=linked_or_copied)
            command = [sys.executable, "-P", __file__, "--in-turn", "--dir", folder]
            command += ["--planned"] if arguments.planned else []
            versions[name] = open_until_the_end.enter_context(
                subprocess.Popen(
                    command,
                    env=os.environ | {"PYTHONPATH": str(checkout)},
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    text=True,
                )
            )
            print(f"{name:<8} {turn_of(versions[name]):.1f} us each while slots are filled", file=sys.stderr)
        rounds = [{name: turn_of(each) for name, each in versions.items()} for _ in range(arguments.rounds)]
        for each in versions.values():
            assert each.stdin is not None
            each.stdin.close()
    ratios = sorted(each["now"] / each["before"] for each in rounds)
    for name in checkouts:
        took = [each[name] for each in rounds]
        print(f"{name:<8} {1e6 / median(took):,.0f} leases and finishes a CPU second in the median, at best ", end="")
        print(f"{1e6 / min(took):,.0f}: {median(took):.1f} and {min(took):.1f} us each")
    print(
        f"CPU time, now over before: median {median(ratios):.2f}, from {ratios[0]:.2f} to {ratios[-1]:.2f}; ", end=""
    )
    print(f"in all {sum(each['now'] for each in rounds) / sum(each['before'] for each in rounds):.2f}")


def turn_of(version: subprocess.Popen[str]) -> float:
    assert version.stdin is not None and version.stdout is not None
    version.stdin.write("\n")
    version.stdin.flush()
    return float(version.stdout.readline())


def linked_or_copied(source: str, target: str) -> None:
    """Files of RocksDB that never change need no copy."""
    (os.link if source.endswith(".sst") else shutil.copyfile)(source, target)


def in_turn(folder: Path, *, planned: bool) -> None:
    """Leases for each line that comes in, and the microseconds of CPU time of one; the first of them fill slots."""
    store, frontier = opened(folder, planned=planned)
    while not frontier.seen.is_complete:  # the state is as a crash leaves it
        frontier.seen.remake_some()
    done = 0
    for _ in sys.stdin:
        until, cpu_s, before = done + (TURN if done else SLOTS), 0.0, done
        while done < until:
            pages, _, took_cpu_s = one_round(frontier, done)
            done, cpu_s = done + pages, cpu_s + took_cpu_s
        print(1e6 * cpu_s / (done - before), flush=True)
    frontier.close()
    store.close()


def outcome_of(lease: Lease) -> Outcome:
    now = time.time()
    exchange = Exchange(b"GET / HTTP/1.1", b"HTTP/1.1 200 OK\r\n", 200, "192.0.2.1", now - 1, now - 1, 0.0)
    page = Page(lease.url, "text/html", "A title of ordinary length, as pages have it")
    return Outcome(lease, Fetched(exchange, b"body"), page, claim=Claim(os.urandom(32).hex(), lease.url, now - 1))


def crawl_like_links(hosts: int, chance: random.Random, worth: int) -> Iterator[Link]:
    """Links as pages bring them: runs of one host, a heavy tail of host sizes, 45 % seen before."""
    weights = list(itertools.accumulate(1 / rank for rank in range(1, hosts + 1)))
    counts = [0] * hosts
    population = range(hosts)
    while True:
        for host in chance.choices(population, cum_weights=weights, k=1000):
            source = f"https://www.host{host}.example/"
            for _ in range(10):
                if counts[host] and chance.random() < KNOWN_SHARE:
                    page = int(counts[host] * chance.random())
                else:
                    page = counts[host]
                    counts[host] += 1
                url = f"https://www.host{host}.example/articles/{page % 97}/a-page-with-a-title-{page}.html"
                yield Link(url, "read on", "", source, 1 + page % 5, worth=worth)


def opened(folder: Path, *, planned: bool) -> tuple[RocksStore, Frontier]:
    store = RocksStore(folder / "000", TABLES)
    settings = FrontierSettings(host_queue_max=10**9)
    planner = Planner(ScheduleSettings(), ProcessSettings(), RecrawlPlan()) if planned else None
    polite = PolitenessSettings(delay_s=0.0)
    frontier = Frontier.open(
        store, store.folder, RealClock(seed=1), always_open, settings, polite, planner=planner, revisit_share=0.3
    )
    if planner is not None:
        planner.credit.for_seed()  # links move credit, they make none
    return store, frontier


def always_open(link: Link) -> Reason | None:
    return None


def resident_mib() -> float:
    text = Path("/proc/self/statm").read_text().split()
    return int(text[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


if __name__ == "__main__":
    main()
