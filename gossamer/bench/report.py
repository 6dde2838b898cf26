"""What was measured: medians and spreads, as one JSON object and as text.

A ratio is our steady pace over a peer's, taken in each round by itself; its spread is the smallest and the largest of
them. A crawler that is not there is in the report with the reason, and without figures.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

from gossamer.bench.crawlers import Crawler, Missing
from gossamer.bench.measuring import Run
from gossamer.bench.mix import Mix

Facts = dict[str, Any]

MIB = 1024**2
COLUMNS: dict[str, Callable[[Run], float]] = {
    "pages_per_s": lambda run: run.steady_per_s,
    "pages_per_s_whole_run": lambda run: run.whole_per_s,
    "cpu_us_per_page": lambda run: run.cpu_us,
    "memory_bytes_peak": lambda run: run.usage.memory_bytes,
    "written_bytes_per_page": lambda run: run.written_bytes,
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

    def facts(self) -> Facts:
        """The names at the top are a promise to programs that read this."""
        ours = self.column("gossamer", "pages_per_s")
        ratios = {crawler.name: self.ratios(crawler.name) for crawler in self.crawlers if crawler.name != "gossamer"}
        peers = [*ratios, *(peer.name for peer in self.missing)]
        return {
            "pages_per_s": _rounded(median(ours)) if ours else None,
            "ratios": {name: _rounded(median(ratios[name])) if ratios.get(name) else None for name in peers},
            "ratios_spread": {
                name: [_rounded(min(values)), _rounded(max(values))] for name, values in ratios.items() if values
            },
            "ceiling_pages_per_s": _rounded(self.ceiling_per_s),
            "ceiling_reason": self.ceiling_reason,
            "mix": asdict(self.mix),
            "rounds": len(self.rounds),
            "limit_s": self.limit_s,
            "crawlers": {
                crawler.name: {
                    "version": crawler.version,
                    "settings": crawler.settings,
                    **{name: _rounded(median(self.column(crawler.name, name))) for name in COLUMNS},
                    "spread": {
                        name: [_rounded(min(values)), _rounded(max(values))]
                        for name in COLUMNS
                        if (values := self.column(crawler.name, name))
                    },
                    "runs_stopped_at_limit": sum(run.usage.was_stopped for run in self.runs(crawler.name)),
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

    def ratios(self, peer: str) -> list[float]:
        ours, theirs = self.column("gossamer", "pages_per_s"), self.column(peer, "pages_per_s")
        return [our / their for our, their in zip(ours, theirs, strict=False) if their]


def text(facts: Facts) -> str:
    mix, machine_facts = facts["mix"], facts["machine"]
    lines = [
        f"{mix['hosts']} hosts, {mix['pages_per_host']} pages each of about {mix['page_bytes']:,} bytes, "
        f"{'TLS' if mix['is_tls'] else 'plain HTTP'}; {facts['rounds']} rounds, runs up to {facts['limit_s']:g} s",
        f"{machine_facts['cpu']}, {machine_facts['cores']} cores; {machine_facts['system']}; "
        f"Python {machine_facts['python']}, nginx {facts['nginx']}",
        "",
        f"{'':18} {'pages/s':>9} {'(least - most)':>17} {'whole run':>10} {'CPU/page':>10} {'memory':>9} "
        f"{'written':>11}   gossamer is faster by",
    ]
    for name, row in facts["crawlers"].items():
        least, most = row["spread"]["pages_per_s"]
        ratio = facts["ratios"].get(name)
        spread = facts["ratios_spread"].get(name)
        factor = f"{ratio:.2f} times ({spread[0]:.2f} - {spread[1]:.2f})" if ratio and spread else ""
        lines.append(
            f"{name + ' ' + row['version']:18} {row['pages_per_s']:9,.0f} {f'({least:,.0f} - {most:,.0f})':>17} "
            f"{row['pages_per_s_whole_run']:10,.0f} {row['cpu_us_per_page']:7,.0f} µs "
            f"{row['memory_bytes_peak'] / MIB:5,.0f} MiB {row['written_bytes_per_page']:7,.0f} B/p   {factor}"
        )
    if facts["ceiling_pages_per_s"]:
        lines.append(f"{'wrk, only loading':18} {facts['ceiling_pages_per_s']:9,.0f}")
    elif facts["ceiling_reason"]:
        lines.append(f"ceiling: {facts['ceiling_reason']}")
    lines += [f"{name}: not measured. {reason}" for name, reason in facts["missing"].items()]
    lines += ["", *(f"{name} {row['version']}: {row['settings']}" for name, row in facts["crawlers"].items())]
    return "\n".join(lines)


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


def _rounded(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.4g}") if abs(value) < 10_000 else round(value)
