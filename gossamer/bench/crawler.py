"""The nouns of a comparison: a crawler that can be run, and one that cannot."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from gossamer.bench.mix import Site


@dataclass(frozen=True)
class Crawler:
    name: str
    version: str
    settings: str  # for the report
    command: Callable[[Site], list[str]]  # to run in an empty folder


@dataclass(frozen=True)
class Missing:
    name: str
    reason: str
