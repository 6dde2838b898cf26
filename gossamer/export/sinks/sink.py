"""What a sink is: somewhere else, where a record of every visit goes, and which may be away for hours."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from typing import Protocol

from gossamer.config import UsageError
from gossamer.export.sinks.records import Batch
from gossamer.records import Place
from gossamer.settings import SinksSettings

PACKAGES = {"kafka": "confluent_kafka", "postgres": "asyncpg"}


class SinkAway(Exception):
    """It cannot be reached now; trying again later may help."""


class SinkRefused(Exception):
    """It answers, and does not take us: a person has to change something."""


class Sink(Protocol):
    to: str  # kafka | postgres: the setting
    title: str  # for people: PostgreSQL at host:port
    target: str  # as it is noted in exports.json, without a password
    wants_hosts: bool
    keeps_positions: bool  # with what it gets: whoever opens it next is told

    async def open(self, crawl: str, key: str, noted: Mapping[int, Place], *, is_full: bool) -> Mapping[int, Place]:
        """Returns how far it has come, which is what `noted` says where it keeps no position of its own.

        `key`: chosen at random for this folder and this target. `is_full`: all that it has is to be replaced."""
        ...

    async def add(self, batch: Batch) -> None:
        """On return it is durable there. A batch that is added twice changes nothing."""
        ...

    async def close(self) -> None: ...


def wanted(sinks: SinksSettings) -> list[str]:
    """The sinks that are set; raises UsageError where what they need is not installed."""
    chosen = [name for name in PACKAGES if getattr(sinks, name)]
    for name in chosen:
        if find_spec(PACKAGES[name]) is None:
            raise UsageError(
                f"sinks.{name} needs {PACKAGES[name]}, which is not installed: pip install 'gossamer[cluster]'"
            )
    return chosen
