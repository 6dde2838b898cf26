"""A metric: one declaration, and what its figure is made of. routes/metrics.py has the table of all."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from gossamer.api import status_shapes
from gossamer.frontier.disk.tables import Totals
from gossamer.messages import control_messages
from gossamer.messages.node_messages import ClusterNow
from gossamer.settings import Tree

Labels = tuple[tuple[str, str], ...]
Values = Mapping[Labels, float] | float | None


@dataclass(frozen=True)
class Facts:
    """All that figures are made of."""

    tree: Tree
    totals: Totals
    in_flight: int
    disk: status_shapes.Disk
    now: control_messages.Now | None
    cluster: ClusterNow | None = None  # also while nobody is at work


Value = Callable[[Facts], Values]


@dataclass(frozen=True)
class Metric:
    name: str
    kind: Literal["counter", "gauge", "histogram"]
    unit: str
    meaning: str
    value: Value  # None: not known now
    labels: tuple[str, ...] = ()


def by(label: str, values: Mapping[str, float]) -> Values:
    return {((label, name),): value for name, value in sorted(values.items())}


def running(value: Callable[[control_messages.Now], Values]) -> Value:
    """A figure that only a running crawl knows."""
    return lambda facts: value(facts.now) if facts.now is not None else None


def counter(name: str, unit: str, meaning: str, value: Value, *labels: str) -> Metric:
    return Metric(f"gossamer_{name}", "counter", unit, meaning, value, labels)


def gauge(name: str, unit: str, meaning: str, value: Value, *labels: str) -> Metric:
    return Metric(f"gossamer_{name}", "gauge", unit, meaning, value, labels)
