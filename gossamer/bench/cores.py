"""Which cores the web server and the crawlers run on.

Left to the system, nginx and the processes of a crawler push each other from core to core, and what a page costs
depends on who was pushed. *Apart*, which is the default, gives the server a core of its own and the crawler all
others, the same for each of them: CPU a page varies least so (docs/performance.md). On two cores a crawler then has
one; in pages a second those of one process lose nothing by it, and those of several do. *Server* pins nginx alone,
and a crawler may use all cores. *Shared* pins nobody, as users run it.

Where the system has two threads to a core, the server gets both, if that leaves at least half of all to the crawler.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Set
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

WAYS = ("apart", "server", "shared")
TOPOLOGY = Path("/sys/devices/system/cpu")


@dataclass(frozen=True)
class Cores:
    server: frozenset[int]  # empty: wherever the system likes
    crawlers: frozenset[int]
    said: str


def choose(way: str, topology: Path = TOPOLOGY) -> Cores:
    if way == "shared":
        return _nobody("as asked for")
    try:
        mine = os.sched_getaffinity(0)
        os.sched_setaffinity(0, mine)
    except (AttributeError, OSError) as fault:
        return _nobody(f"this system does not allow it ({fault})")
    chosen = apart(mine, topology)
    if way == "server" and chosen.server:
        return replace(chosen, crawlers=frozenset(), said=f"nginx on {_listed(chosen.server)}, crawlers on any")
    return chosen


def apart(mine: Set[int], topology: Path = TOPOLOGY) -> Cores:
    if len(mine) < 2:
        return _nobody("there is only one core")
    first = min(mine)
    siblings = _siblings(first, topology) & mine
    server = frozenset(siblings if 2 * len(siblings) <= len(mine) else {first})
    crawlers = frozenset(mine - server)
    shared = " (a thread of the same core)" if siblings - server else ""
    return Cores(server, crawlers, f"nginx on {_listed(server)}, each crawler on {_listed(crawlers)}{shared}")


@contextmanager
def on(cores: Set[int]) -> Iterator[None]:
    """What is started in the block runs on these cores, with all that it starts; we ourselves do not stay there."""
    if not cores:
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cores)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def _nobody(why: str) -> Cores:
    return Cores(frozenset(), frozenset(), f"nobody is pinned to a core: {why}")


def _siblings(core: int, topology: Path) -> set[int]:
    """The threads of one core, itself among them: `0-1` or `0,8` in a file of the system."""
    try:
        text = (topology / f"cpu{core}" / "topology" / "thread_siblings_list").read_text(encoding="ascii")
        parts = [part.split("-") for part in text.strip().split(",")]
        return {core}.union(*(range(int(part[0]), int(part[-1]) + 1) for part in parts))
    except (OSError, ValueError):
        return {core}


def _listed(cores: Set[int]) -> str:
    return f"core{'s' if len(cores) > 1 else ''} {', '.join(map(str, sorted(cores)))}"
