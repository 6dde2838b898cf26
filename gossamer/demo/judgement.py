"""What the access log of the demo's web says about a crawl: pure functions of its entries."""

from __future__ import annotations

from collections.abc import Sequence, Set
from itertools import pairwise
from typing import NamedTuple

from gossamer.synthetic_web.access_log import Entry, overlapping

ARRIVED_S = 0.5  # by then the web has read what a dead node had asked for


class Death(NamedTuple):
    """Of a node, and what it owned."""

    node: str
    at: float
    hosts: Set[str]


class Judgement(NamedTuple):
    node: str  # that died
    requests: int
    at_once: int  # pairs of requests to one host that were under way at the same time
    shortest_gap_s: float
    repeated: int  # requests for what had been asked for before
    repeated_there: int  # those to hosts of the dead node
    asked_again_s: list[float]  # after the death: when each host of the dead node was asked again, in order


def judged(entries: Sequence[Entry], death: Death) -> Judgement:
    again: dict[str, float] = {}
    for entry in sorted(entries):
        if entry.host in death.hosts and entry.time_in > death.at + ARRIVED_S:
            again.setdefault(entry.host, entry.time_in - death.at)
    there = [entry for entry in entries if entry.host in death.hosts]
    return Judgement(
        death.node,
        len(entries),
        len(overlapping(entries)),
        shortest_gap_s(entries),
        _repeated(entries),
        _repeated(there),
        sorted(again.values()),
    )


def _repeated(entries: Sequence[Entry]) -> int:
    return len(entries) - len({entry.url for entry in entries})


def shortest_gap_s(entries: Sequence[Entry]) -> float:
    """Between an answer and the next request to the same host."""
    hosts: dict[str, list[Entry]] = {}
    for entry in sorted(entries):
        hosts.setdefault(entry.host, []).append(entry)
    gaps_s = (later.time_in - earlier.time_out for each in hosts.values() for earlier, later in pairwise(each))
    return min(gaps_s, default=0.0)
