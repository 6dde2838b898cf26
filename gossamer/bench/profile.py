"""The stages of a page's life, and how much of the CPU time each one takes.

A crawl runs with sampling.py in each of its processes; here its stacks are dealt out to stages. The innermost
function that belongs to a stage decides, so that each moment is counted once. The table below is the whole rule.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from gossamer.bench.crawler import Crawler
from gossamer.bench.measuring import Bench
from gossamer.bench.mix import Site
from gossamer.bench.report import Facts

START, REST = "start and end", "event loop"

# Module (with all below it), function ("" for all) and stage. The first row that fits a function holds; functions
# that fit none, such as those of url/ and of the store, belong to whoever called them.
STAGES = (
    ("importlib", "", START),
    ("gossamer.fetch.coding", "", "decode"),
    ("gossamer.fetch.decoder", "", "decode"),
    ("gossamer.fetch.robots", "", "robots"),
    ("gossamer.fetch.rules", "", "robots"),
    ("gossamer.fetch", "", "fetch"),
    ("pycurl", "", "fetch"),
    ("gossamer.process.fingerprints.shingles", "", "simhash"),
    ("gossamer.process.simhash", "", "simhash"),
    ("gossamer.process.fingerprints.sketch", "", "simhash"),
    ("gossamer.process.fingerprints.duplicates", "", "judge and settle"),
    ("gossamer.process.fingerprints.near", "", "judge and settle"),
    ("gossamer.process", "", "html"),
    ("gossamer.archive", "", "warc"),
    ("gossamer.url.link_filter", "", "link filter"),
    ("gossamer.frontier.frontier", "add", "frontier add"),
    ("gossamer.frontier.frontier", "lease", "lease"),
    ("gossamer.frontier.frontier", "next_at", "lease"),
    ("gossamer.frontier.frontier", "finish", "finish"),
    ("gossamer.frontier.frontier", "answered", "answered"),
    ("gossamer.frontier.frontier", "processing", "answered"),
    ("gossamer.frontier.frontier", "processed", "answered"),
    ("gossamer.cluster.shared", "", "judge and settle"),
    ("gossamer.cluster", "", "bus and wire"),
    ("gossamer.loop", "links_of", "links to send"),
    ("gossamer.loop", "crawl_one", "digest"),
    ("gossamer.loop", "", "crawl loop"),
    ("gossamer.messages", "", "supervising"),
    ("gossamer.runtime.log", "", "supervising"),
    ("gossamer.supervisor", "", "supervising"),
    ("gossamer.worker.progress", "", "supervising"),
    ("gossamer.worker", "", START),
    ("gossamer.bench", "", "sampling itself"),
)

Stack = list[list[str]]
Seconds = defaultdict[str, float]


def stage_of(stack: Stack) -> str:
    if any(module.startswith("importlib.") for module, _ in stack):
        return START
    for module, function in stack:
        for wanted, only, stage in STAGES:
            if (module == wanted or module.startswith(wanted + ".")) and only in ("", function):
                return stage
    return REST


def profiled(bench: Bench, gossamer: Crawler, folder: Path) -> Facts:
    """One more crawl, looked into."""
    samples, site = folder / "samples", folder / "site"
    samples.mkdir(parents=True)
    site.mkdir()
    (site / "sitecustomize.py").write_text(
        f"from pathlib import Path\nfrom gossamer.bench.sampling import start\nstart(Path({str(samples)!r}))\n",
        encoding="utf-8",
    )

    def command(pages: Site) -> list[str]:
        return [re.sub("^PYTHONPATH=", f"PYTHONPATH={site}:", word) for word in gossamer.command(pages)]

    run = bench.once(replace(gossamer, command=command))
    bench.say(f"profile: {run}")
    processes = [json.loads(file.read_text(encoding="utf-8")) for file in sorted(samples.iterdir())]
    return facts_of(processes, run.pages)


def facts_of(processes: Iterable[dict[str, Any]], pages: int) -> Facts:
    """CPU microseconds a page for each stage, of the workers and of the supervisor, and of threads by their names."""
    stages = {"workers": Seconds(float), "supervisor": Seconds(float)}
    functions, threads = Seconds(float), Seconds(float)
    for process in processes:
        role = "workers" if "gossamer.worker" in process["argv"] else "supervisor"
        for seconds, stack in process["stacks"]:
            stages[role][stage_of(stack)] += seconds
            if stack:
                functions[".".join(stack[0])] += seconds
        for name, seconds in process["threads"]:
            threads[name] += seconds
        # Threads that have ended are in the account of the process alone.
        threads["ended"] += process["all_s"] - process["main_s"] - sum(seconds for _, seconds in process["threads"])

    def a_page(seconds: Seconds, most: int | None = None) -> dict[str, float]:
        ordered = sorted(seconds.items(), key=lambda row: -row[1])[:most]
        return {name: round(value / pages * 1e6, 1) for name, value in ordered if value > 0}

    return {
        "pages": pages,
        "workers_us": a_page(stages["workers"]),
        "supervisor_us": a_page(stages["supervisor"]),
        "threads_us": a_page(threads),
        "functions_us": a_page(functions, 25),
    }


def text(facts: Facts) -> str:
    start_us = facts["workers_us"].get(START, 0.0) + facts["supervisor_us"].get(START, 0.0)
    work_us = sum(facts["workers_us"].values()) + sum(facts["supervisor_us"].values()) - start_us
    lines = [
        f"Where the CPU time of a page goes: µs a page of {facts['pages']:,} pages, and its share.",
        f"Start and end of the processes took {start_us * facts['pages'] / 1e6:.1f} s in all and are left out.",
    ]
    for title, about in (
        ("workers", "in the workers"),
        ("supervisor", "in the supervisor"),
        ("threads", "in other threads of both"),
        ("functions", "the functions with the most, in any process"),
    ):
        rows = {name: value for name, value in facts[f"{title}_us"].items() if name != START}
        lines += ["", about, *(f"  {name:52} {value:8,.1f}  {value / work_us:5.1%}" for name, value in rows.items())]
    return "\n".join(lines)
