"""What was measured: medians and spreads, as one JSON object and as text.

CPU a page comes first, because it is what hardly changes with the load that others bring to the machine; pages a
second come second. A ratio is our figure over a peer's, taken in each round by itself; its spread is the smallest
and the largest of them. So a ratio of CPU below one means that we use less, a ratio of pace above one that we are
faster. A crawler that is not there is in the report with the reason, and without figures.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

from gossamer.bench.crawler import Crawler, Missing
from gossamer.bench.measuring import Run
from gossamer.bench.mix import Mix
from gossamer.bench.real_pages import QUANTILES

Facts = dict[str, Any]

MIB = 1024**2
COLUMNS: dict[str, Callable[[Run], float]] = {
    "cpu_us_per_page": lambda run: run.cpu_us,
    "pages_per_s": lambda run: run.steady_per_s,
    "pages_per_s_whole_run": lambda run: run.whole_per_s,
    "memory_bytes_peak": lambda run: run.usage.memory_bytes,
    "sent_bytes_per_page": lambda run: run.visits.sent_bytes / run.pages,
    "packed_share": lambda run: run.visits.packed / run.pages,
    "written_bytes_per_page": lambda run: run.written_bytes,
    "left_bytes_per_page": lambda run: run.usage.left_bytes / run.pages,
    "pages": lambda run: run.pages,
    "elapsed_s": lambda run: run.usage.elapsed_s,
}


@dataclass(frozen=True)
class Report:
    mix: Mix
    limit_s: float
    nginx: str
    crawlers: Sequence[Crawler]
    missing: Sequence[Missing]
    rounds: Sequence[Sequence[Run]]
    ceiling_per_s: float | None
    ceiling_reason: str = ""
    profile: Facts | None = None
    command: str = ""
    machine: Facts = field(default_factory=dict)
    conditions: Sequence[str] = ()  # of the runs, in words: cores, disk
    in_memory: bool = False  # nothing went towards a disk

    def facts(self) -> Facts:
        """The names at the top are a promise to programs that read this."""
        peers = [crawler.name for crawler in self.crawlers if crawler.name != "gossamer"]
        cpu_ratios = {name: self.ratios(name, "cpu_us_per_page") for name in peers}
        ratios = {name: self.ratios(name, "pages_per_s") for name in peers}
        not_there = dict.fromkeys(peer.name for peer in self.missing)
        return {
            "cpu_us_per_page": _median(self.column("gossamer", "cpu_us_per_page")),
            "cpu_ratios": {name: _median(values) for name, values in cpu_ratios.items()} | not_there,
            "cpu_ratios_spread": {name: _spread(values) for name, values in cpu_ratios.items() if values},
            "cpu_ratios_rounds": {name: [_rounded(value) for value in values] for name, values in cpu_ratios.items()},
            "pages_per_s": _median(self.column("gossamer", "pages_per_s")),
            "ratios": {name: _median(values) for name, values in ratios.items()} | not_there,
            "ratios_spread": {name: _spread(values) for name, values in ratios.items() if values},
            "ceiling_pages_per_s": _rounded(self.ceiling_per_s),
            "ceiling_reason": self.ceiling_reason,
            "mix": asdict(self.mix),
            "rounds": sum(map(bool, self.rounds)),
            "limit_s": self.limit_s,
            "conditions": list(self.conditions),
            "crawlers": {
                crawler.name: {
                    "version": crawler.version,
                    "settings": crawler.settings,
                    **{name: _median(self.column(crawler.name, name)) for name in COLUMNS},
                    **({"written_bytes_per_page": None} if self.in_memory else {}),
                    "spread": {
                        name: _spread(values) for name in COLUMNS if (values := self.column(crawler.name, name))
                    },
                    "runs_stopped_at_limit": sum(run.usage.was_stopped for run in self.runs(crawler.name)),
                    "runs_ended_with_an_error": sum(
                        run.usage.code != 0 and not run.usage.was_stopped for run in self.runs(crawler.name)
                    ),
                }
                for crawler in self.crawlers
            },
            "missing": {peer.name: peer.reason for peer in self.missing},
            "nginx": self.nginx,
            "machine": self.machine,
            "command": self.command,
            **({"profile": self.profile} if self.profile else {}),
        }

    def runs(self, name: str) -> list[Run]:
        return [run for runs in self.rounds for run in runs if run.crawler == name]

    def column(self, name: str, column: str) -> list[float]:
        return [COLUMNS[column](run) for run in self.runs(name)]

    def ratios(self, peer: str, column: str) -> list[float]:
        """Ours over the peer's, for every round in which both ran."""
        figures = [{run.crawler: COLUMNS[column](run) for run in runs} for runs in self.rounds]
        return [each["gossamer"] / each[peer] for each in figures if "gossamer" in each and each.get(peer)]


def text(facts: Facts) -> str:
    mix, machine_facts = facts["mix"], facts["machine"]
    titles = {name: f"{name} {row['version']}" for name, row in facts["crawlers"].items()}
    width = max([18, *map(len, titles.values())])
    lines = [
        f"{about(mix)}; {facts['rounds']} rounds, runs up to {facts['limit_s']:g} s",
        f"{machine_facts['cpu']}, {machine_facts['cores']} cores; {machine_facts['system']}; "
        f"Python {machine_facts['python']}, nginx {facts['nginx']}",
        *facts["conditions"],
        "",
        f"{'':{width}} {'CPU/page':>10} {'(least - most)':>17} {'gossamer uses of it':>21}   "
        f"{'pages/s':>7} {'(least - most)':>15} {'gossamer is faster by':>26} {'whole run':>10} "
        f"{'memory':>9} {'written':>11}",
    ]
    for name, row in facts["crawlers"].items():
        lines.append(
            f"{titles[name]:{width}} {row['cpu_us_per_page']:7,.0f} µs {_from_to(row, 'cpu_us_per_page'):>17} "
            f"{_share(facts, name):>21}   {row['pages_per_s']:7,.0f} {_from_to(row, 'pages_per_s'):>15} "
            f"{_factor(facts, name):>26} {row['pages_per_s_whole_run']:10,.0f} "
            f"{row['memory_bytes_peak'] / MIB:5,.0f} MiB {_written(row):>11}"
        )
    if facts["ceiling_pages_per_s"]:
        lines.append(f"{'wrk, only loading':{width + 54}} {facts['ceiling_pages_per_s']:7,.0f}")
    elif facts["ceiling_reason"]:
        lines.append(f"ceiling: {facts['ceiling_reason']}")
    lines += [f"{name}: not measured. {reason}" for name, reason in facts["missing"].items()]
    lines += [line for name in facts["crawlers"] for line in _remarks(facts, name)]
    lines += ["", *(f"{titles[name]}: {row['settings']}" for name, row in facts["crawlers"].items())]
    return "\n".join(lines)


def about(mix: Facts) -> str:
    pages = f"{mix['hosts']} hosts, {mix['pages_per_host']} pages each of about {mix['page_bytes']:,} bytes"
    if mix["kind"] == "real":
        middle = next(size for share, size in QUANTILES if share == 0.5)
        pages += f" in the mean (half of them below {middle:,}: sizes of the Web Almanac 2024), gzip beforehand"
    return f"{pages}, {'TLS' if mix['is_tls'] else 'plain HTTP'}"


def _remarks(facts: Facts, name: str) -> list[str]:
    row, found = facts["crawlers"][name], []
    if stopped := row["runs_stopped_at_limit"]:
        found.append(f"{name}: {stopped} of its runs were stopped at the limit, after some {row['pages']:,.0f} pages")
    if failed := row["runs_ended_with_an_error"]:
        found.append(f"{name}: {failed} of its runs ended with an error")
    if facts["mix"]["kind"] == "real" and row["packed_share"] < 1:
        found.append(f"{name}: {1 - row['packed_share']:.1%} of its pages were sent as they are, and not packed")
    if name.startswith("gossamer=") and (rounds := facts["cpu_ratios_rounds"].get(name)):
        each = ", ".join(f"{ratio:.1%}" for ratio in rounds)
        least, most = facts["cpu_ratios_spread"][name]
        found.append(
            f"CPU a page of gossamer over that of {name}: median {facts['cpu_ratios'][name]:.1%}, "
            f"least {least:.1%}, most {most:.1%}; by round {each}"
        )
    return found


def _from_to(row: Facts, column: str) -> str:
    least, most = row["spread"][column]
    return f"({least:,.0f} - {most:,.0f})"


def _written(row: Facts) -> str:
    return "-" if row["written_bytes_per_page"] is None else f"{row['written_bytes_per_page']:,.0f} B/p"


def _share(facts: Facts, name: str) -> str:
    ratio, spread = facts["cpu_ratios"].get(name), facts["cpu_ratios_spread"].get(name)
    return f"{ratio:.0%} ({spread[0]:.0%} - {spread[1]:.0%})" if ratio and spread else ""


def _factor(facts: Facts, name: str) -> str:
    ratio, spread = facts["ratios"].get(name), facts["ratios_spread"].get(name)
    return f"{ratio:.2f} times ({spread[0]:.2f} - {spread[1]:.2f})" if ratio and spread else ""


def machine() -> Facts:
    cpu = platform.processor() or platform.machine()
    for line in _lines(Path("/proc/cpuinfo")):
        if line.startswith("model name"):
            cpu = line.partition(":")[2].strip()
            break
    system = next((line.partition("=")[2].strip('"') for line in _lines(Path("/etc/os-release"))), platform.system())
    cores = len(os.sched_getaffinity(0))
    return {"cpu": cpu, "cores": cores, "system": system, "python": platform.python_version()}


def _lines(file: Path) -> list[str]:
    try:
        return file.read_text(encoding="utf-8").splitlines()
    except OSError:
        return []


def _median(values: Sequence[float]) -> float | None:
    return _rounded(median(values)) if values else None


def _spread(values: Sequence[float]) -> list[float | None]:
    return [_rounded(min(values)), _rounded(max(values))]


def _rounded(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.4g}") if abs(value) < 10_000 else round(value)
