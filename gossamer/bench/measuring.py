"""START HERE: every crawler in turn on the same pages, several rounds, each round beginning with another one.

They alternate because a machine is never quite quiet: what slows one run down is likely to slow those next to it down
as well, and a ratio is taken between the runs of one round. A run has a server of its own, which is started before it
and ended after it, and a folder of its own, which is thrown away.

Two paces are reported. The *whole* run is all pages over the time from start to end of the process, with everything
that a start costs. The *steady* pace leaves out the first and the last tenth of the pages: it is what a crawl that
goes on has, and the figure that ratios are made of.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from gossamer.bench import nginx as server
from gossamer.bench.crawlers import Crawler, Missing
from gossamer.bench.mix import Site
from gossamer.bench.nginx import Nginx, Visits
from gossamer.bench.running import Usage, run


class NothingFetched(Exception):
    """A run ended without a page; the text is the last of what the crawler said."""


@dataclass(frozen=True)
class Run:
    """One crawler, one round."""

    crawler: str
    usage: Usage
    visits: Visits

    @property
    def pages(self) -> int:
        return self.visits.pages

    @property
    def steady_per_s(self) -> float:
        return self.visits.steady_per_s

    @property
    def whole_per_s(self) -> float:
        return self.pages / self.usage.elapsed_s

    @property
    def cpu_us(self) -> float:
        """A page, of the crawler and all that it started; nginx not included."""
        return self.usage.cpu_s / self.pages * 1e6

    @property
    def written_bytes(self) -> float:
        return self.usage.written_bytes / self.pages


@dataclass(frozen=True)
class Bench:
    site: Site
    nginx: Nginx
    folder: Path  # for what the runs leave
    limit_s: float  # of one run
    say: Callable[[str], None]

    def rounds(self, crawlers: list[Crawler], rounds: int) -> tuple[list[list[Run]], list[Missing]]:
        """What each round gave; and who got no page in a run, is left out from then on, and is not compared."""
        results: list[list[Run]] = []
        failed: dict[str, Missing] = {}
        for number in range(rounds):
            first = number % len(crawlers)
            runs = []
            for crawler in crawlers[first:] + crawlers[:first]:
                try:
                    if crawler.name not in failed:
                        runs.append(self.once(crawler, f"round {number + 1} of {rounds}"))
                except NothingFetched as fault:
                    self.say(str(fault))
                    failed[crawler.name] = Missing(crawler.name, str(fault))
            results.append(runs)
        return [[run for run in runs if run.crawler not in failed] for runs in results], list(failed.values())

    def once(self, crawler: Crawler, which: str) -> Run:
        run_folder = self.folder / crawler.name
        shutil.rmtree(run_folder, ignore_errors=True)
        (run_folder / "work").mkdir(parents=True)
        with server.serving(self.nginx, self.site, run_folder):
            usage = run(crawler.command(self.site), run_folder / "work", self.limit_s)
        result = Run(crawler.name, usage, server.visits(run_folder / "access.log"))
        if not result.pages:
            raise NothingFetched(
                f"{crawler.name} got no page (exit code {usage.code}): {' '.join(usage.said.split())[-300:]}"
            )
        shutil.rmtree(run_folder)
        self.say(
            f"{which}: {crawler.name:9} {result.pages:6,} pages in {usage.elapsed_s:5.1f} s, "
            f"steady {result.steady_per_s:7,.1f} pages/s, CPU {result.cpu_us:7,.0f} µs/page"
        )
        return result
