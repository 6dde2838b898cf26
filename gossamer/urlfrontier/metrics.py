"""The figures of a frontier, in Prometheus' text format.

Counters have the names that the reference server gave them, so that its dashboards go on; they begin anew with the
process. What is counted per crawl and is always known has names of ours.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from gossamer.api.metric import Labels
from gossamer.api.routes.metrics import written
from gossamer.urlfrontier.frontier import Frontier


@dataclass
class Figures:
    """What the service counts itself."""

    get_calls: int = 0
    get_s: float = 0.0  # of finding and leasing URLs, without the time in which clients took them
    put_calls: int = 0


def text_of(frontier: Frontier, figures: Figures) -> str:
    return "".join(f"{line}\n" for line in _lines(frontier, figures))


def _lines(frontier: Frontier, figures: Figures) -> Iterable[str]:
    intake, crawls = frontier.intake, frontier.queues.begun()
    counters: list[tuple[str, str, float | dict[Labels, float]]] = [
        ("frontier_getURLs_calls_total", "calls of GetURLs", figures.get_calls),
        ("frontier_getURLs_total", "URLs handed out", frontier.hand_out.urls),
        ("frontier_putURLs_calls_total", "streams of PutURLs and PutDiscovered", figures.put_calls),
        ("frontier_putURLs_total", "URLs put", intake.discovered + intake.updated),
        (
            "frontier_putURLs_discovered_total",
            "URLs put, by whether they were discovered",
            {(("discovered", "true"),): intake.discovered, (("discovered", "false"),): intake.updated},
        ),
        ("frontier_putURLs_ignored_total", "discovered URLs that were known already", intake.known_already),
        ("frontier_putURLs_completed_total", "URLs that are done for ever", intake.completed),
    ]
    for name, meaning, value in counters:
        yield from written(name, "counter", meaning, value)
    latency: dict[Labels, float] = {(("", "_sum"),): figures.get_s, (("", "_count"),): figures.get_calls}
    yield from written("frontier_getURLs_latency_seconds", "summary", "time to find and lease URLs", latency)
    gauges = {
        "urls": ("URLs that are not done", "active"),
        "urls_in_process": ("URLs that are leased", "in_process"),
        "urls_completed": ("URLs that are done for ever", "completed"),
        "active_queues": ("queues with URLs that are not done", "active_queues"),
    }
    for name, (meaning, field) in gauges.items():
        values: dict[Labels, float] = {(("crawl", crawl.name),): getattr(crawl, field) for crawl in crawls}
        yield from written(f"gossamer_frontier_{name}", "gauge", meaning, values)
    queues: dict[Labels, float] = {(("crawl", crawl.name),): len(crawl.queues) for crawl in crawls}
    yield from written("gossamer_frontier_queues", "gauge", "queues", queues)
    active = int(frontier.service.is_active)
    yield from written("gossamer_frontier_active", "gauge", "1: URLs are handed out", active)
