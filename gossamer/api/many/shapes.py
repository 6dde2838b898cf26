"""The shapes of several crawls, as their server answers them (../shapes.py)."""

from __future__ import annotations

from gossamer.api.shapes import CrawlState, Moment, Shape


class CrawlSummary(Shape):
    name: str  # of its folder
    state: CrawlState
    pages: int
    pages_per_s: float
    queued: int
    failed: int
    hosts: int
    seen_at: Moment | None  # when it last ran
    fault: str | None  # why it cannot be read


class CrawlsList(Shape):
    dir: str
    crawls: list[CrawlSummary]
