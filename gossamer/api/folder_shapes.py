"""The shapes of what stands in a crawl's folder, as the control API lists it: settings, seeds, policies, log."""

from __future__ import annotations

from typing import Literal

from gossamer.api.shapes import Moment, Policy, Shape, Share
from gossamer.api.status_shapes import ReasonCount


class Setting(Shape):
    key: str
    value: str  # as it would stand in gossamer.toml
    is_default: bool
    meaning: str


class SettingsList(Shape):
    settings: list[Setting]


class SeedEntry(Shape):
    url: str
    priority: Share | None
    max_depth: int | None


class SeedsList(Shape):
    """In the order in which they were added."""

    seeds: list[SeedEntry]
    next_cursor: str | None


class PolicyEntry(Shape):
    domain: str
    kind: Literal["site", "host"]
    policy: Policy


class PoliciesList(Shape):
    policies: list[PolicyEntry]
    next_cursor: str | None


class LogTail(Shape):
    """The last lines of the log; `file` is null where the crawl writes none (log.file)."""

    file: str | None
    lines: list[str]


class HostVisits(Shape):
    """URLs whose last visit was in this step of time."""

    at: Moment  # its begin
    pages: int
    troubles: int


class HostUrls(Shape):
    """What became of the URLs of a host."""

    looked_at: int
    is_whole: bool  # False: it has more URLs than were looked at
    states: dict[str, int]
    statuses: dict[str, int]  # of HTTP; none: no answer
    reasons: list[ReasonCount]
    step_s: float
    visits: list[HostVisits]
