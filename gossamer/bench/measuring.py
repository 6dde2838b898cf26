"""START HERE: every crawler in turn on the same pages, several rounds, each round beginning with another one.

They alternate because a machine is never quite quiet: what slows one run down is likely to slow those next to it down
as well, and a ratio is taken between the runs of one round. What a page costs in CPU time is the first figure: pages
a second depend on who else is at work on the machine. A run has a server of its own, which is started before it
and ended after it, and a folder of its own, which is thrown away.

Two paces are reported. The *whole* run is all pages over the time from start to end of the process, with everything
that a start costs. The *steady* pace leaves out the first and the last tenth of the pages: it is what a crawl that
goes on has, and the figure that ratios are made of.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from gossamer.bench import cores as pinning
from gossamer.bench import nginx as server
from gossamer.bench.cores import Cores
from gossamer.bench.crawler import Crawler, Missing
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

    def __str__(self) -> str:
        ended = "" if self.usage.code == 0 or self.usage.was_stopped else f"; ended with {self.usage.code}"
        return (
            f"{self.crawler:9} CPU {self.cpu_us:7,.0f} µs/page, {self.pages:6,} pages "
            f"in {self.usage.elapsed_s:5.1f} s, steady {self.steady_per_s:7,.1f} pages/s{ended}"
        )

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


def turned(crawlers: list[Crawler], number: int) -> list[Crawler]:
    """Every round begins with another one."""
    first = number % len(crawlers)
    return crawlers[first:] + crawlers[:first]


@dataclass(frozen=True)
class Bench:
    site: Site
    nginx: Nginx
    folder: Path  # for what the runs leave
    limit_s: float  # of one run
    say: Callable[[str], None]
    cores: Cores = field(default_factory=lambda: pinning.choose("shared"))

    def rounds(self, crawlers: list[Crawler], rounds: int) -> tuple[list[list[Run]], list[Missing]]:
        """What each round gave; and who got no page in a run, is left out from then on, and is not compared.

        Who interrupts it gets what there is, once every crawler has had a run.
        """
        results: list[list[Run]] = []
        failed: dict[str, Missing] = {}
        try:
            for number in range(rounds):
                results.append([])
                for crawler in turned(crawlers, number):
                    if crawler.name not in failed:
                        try:
                            results[-1].append(self.once(crawler))
                            self.say(f"round {number + 1} of {rounds}: {results[-1][-1]}")
                        except NothingFetched as fault:
                            self.say(str(fault))
                            failed[crawler.name] = Missing(crawler.name, str(fault))
        except KeyboardInterrupt:
            if not results or len(results[0]) + len(failed) < len(crawlers):
                raise
            self.say(f"interrupted in round {len(results)} of {rounds}: what was measured until now")
        return [[run for run in runs if run.crawler not in failed] for runs in results], list(failed.values())

    def once(self, crawler: Crawler) -> Run:
        run_folder = self.folder / crawler.name
        shutil.rmtree(run_folder, ignore_errors=True)
        (run_folder / "work").mkdir(parents=True)
        try:
            with server.serving(self.nginx, self.site, run_folder, self.cores.server):
                usage = run(crawler.command(self.site), run_folder / "work", self.limit_s, self.cores.crawlers)
            result = Run(crawler.name, usage, server.visits(run_folder / "access.log"))
        except OSError as fault:
            raise NothingFetched(f"{crawler.name} could not be run: {fault}") from fault
        finally:
            shutil.rmtree(run_folder, ignore_errors=True)
        if not result.pages:
            raise NothingFetched(
                f"{crawler.name} got no page (exit code {usage.code}): {' '.join(usage.said.split())[-300:]}"
            )
        return result
