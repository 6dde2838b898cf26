"""The judge's bench: what the access log says, with the one thing allowed for that a server cannot know.

When a client gives up, the server notices only when it next looks, which on a busy machine is milliseconds later. The
client's own limit is known, so such a request is taken to have ended by then. That limit runs from when the client
began, and of that, too, a busy server hears late.
"""

from __future__ import annotations

from collections.abc import Iterable

from gossamer.synthetic_web.access_log import Entry, Gap, gaps_below, overlapping
from gossamer.synthetic_web.web import Web
from tests.crawl.command import QUICK

TIMEOUT_S = float(QUICK["fetch.timeout_s"])
DELAY_S = float(QUICK["politeness.delay_s"])
HEARD_LATE_S = 0.4  # of a request at most


def as_the_client_saw_it(entries: Iterable[Entry], timeout_s: float = TIMEOUT_S) -> list[Entry]:
    open_s = timeout_s - HEARD_LATE_S
    return [
        entry._replace(time_out=min(entry.time_out, entry.time_in + open_s)) if entry.aborted else entry
        for entry in entries
    ]


def requests_at_once(entries: Iterable[Entry], timeout_s: float = TIMEOUT_S) -> list[tuple[Entry, Entry]]:
    return overlapping(as_the_client_saw_it(entries, timeout_s))


def broken_delays(entries: Iterable[Entry], web: Web, timeout_s: float = TIMEOUT_S) -> list[Gap]:
    seen = as_the_client_saw_it(entries, timeout_s)
    return gaps_below(seen, lambda host: max(DELAY_S, web.crawl_delay_s(host)))
