"""What `report` says of a crawl: how many URLs of each kind, in one walk through all that were asked for.

Each URL counts once, by its last visit. Memory is that of the answer: URLs come host by host, so that of the hosts
only the largest are kept, and moments are counted by the hour.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterable
from datetime import UTC, datetime
from itertools import groupby
from typing import Any

from gossamer.records import State, UrlRecord
from gossamer.text import counted, explained, moment, size
from gossamer.url.site import host_of

Facts = dict[str, Any]

HOUR_S, DAY_S = 3600, 86_400
HOURS_SHOWN_MAX = 48  # more of them are shown by the day
BAR_WIDTH = 24
NO_ANSWER = "no answer"
TITLES = {
    "statuses": "status",
    "reasons": "reason of a failure or refusal",
    "media_types": "media type",
    "languages": "language",
    "verdicts": "content",
    "depths": "links away from a seed",
}
KEPT_WHOLE = {"statuses", "reasons", "verdicts"}  # short by themselves


class _Counts:
    def __init__(self) -> None:
        self.urls = self.pages = self.failed = self.bytes = 0
        self.kinds: dict[str, Counter[str]] = {name: Counter() for name in TITLES}
        self.hours: Counter[int] = Counter()
        self.failed_hours: Counter[int] = Counter()

    def add(self, known: UrlRecord) -> None:
        is_failed = known.state is not State.DONE
        hour = int(known.fetched_at or 0) // HOUR_S
        self.urls += 1
        self.failed += is_failed
        self.bytes += known.body_bytes
        self.hours[hour] += 1
        self.failed_hours[hour] += is_failed
        kinds = self.kinds
        kinds["statuses"][str(known.status) if known.status is not None else NO_ANSWER] += 1
        kinds["depths"][str(known.depth)] += 1
        if known.reason is not None:
            kinds["reasons"][known.reason.value] += 1
        if is_failed or known.moved_to is not None:
            return
        self.pages += 1
        kinds["media_types"][known.media_type or "not known"] += 1
        if known.language:
            kinds["languages"][known.language] += 1
        if known.verdict is not None:
            kinds["verdicts"][known.verdict.kind] += 1


def report_facts(asked: Iterable[UrlRecord], most: int) -> Facts:
    """`asked`: URLs that were asked for, host by host; `most`: rows of a table that could be long."""
    counts, hosts = _Counts(), list[tuple[int, str, int, int]]()
    for host, urls in groupby(asked, lambda known: host_of(known.url)):
        before = counts.urls, counts.failed, counts.bytes
        for known in urls:
            counts.add(known)
        row = (counts.urls - before[0], host, counts.failed - before[1], counts.bytes - before[2])
        (heapq.heappush if len(hosts) < most else heapq.heappushpop)(hosts, row)
    hours = sorted(counts.hours)
    return {
        "urls": counts.urls,
        "pages": counts.pages,
        "failed": counts.failed,
        "bytes": counts.bytes,
        "first_at": moment(hours[0] * HOUR_S) if hours else None,
        "last_at": moment((hours[-1] + 1) * HOUR_S) if hours else None,
        **{name: _largest(kinds, None if name in KEPT_WHOLE else most) for name, kinds in counts.kinds.items()},
        "hosts": [
            {"host": host, "urls": urls, "failed": failed, "bytes": of_bytes}
            for urls, host, failed, of_bytes in sorted(hosts, key=lambda row: (-row[0], row[1]))
        ],
        "over_time": _over_time(counts),
    }


def _largest(kinds: Counter[str], most: int | None) -> dict[str, int]:
    return dict(sorted(kinds.items(), key=lambda item: (-item[1], item[0]))[:most])


def _over_time(counts: _Counts) -> list[Facts]:
    """By the hour, or by the day where that would be many."""
    hours = counts.hours
    step = 1 if not hours or max(hours) - min(hours) < HOURS_SHOWN_MAX else DAY_S // HOUR_S
    urls, failed = Counter[int](), Counter[int]()
    for hour, count in hours.items():
        urls[hour // step] += count
        failed[hour // step] += counts.failed_hours[hour]
    return [
        {
            "from": moment(at * step * HOUR_S),
            "hours": step,
            "urls": urls[at],
            "failed": failed[at],
        }
        for at in sorted(urls)
    ]


# ---- for people ----------------------------------------------------------------------------------------------


def report_lines(facts: Facts) -> list[str]:
    if not facts["urls"]:
        return ["nothing was asked for"]
    lines = [
        f"{counted(facts['urls'], 'URL')} asked for: {counted(facts['pages'], 'page')}, {facts['failed']:,} failed "
        f"or refused, the others redirects; {size(facts['bytes'])} as last seen"
    ]
    for name, title in TITLES.items():
        if facts[name]:
            lines += ["", *_table(title, facts[name], facts["urls"], is_explained=name == "reasons")]
    lines += ["", f"{'URLs':>10} {'failed':>9} {'bytes':>9}  host"]
    lines += [
        f"{row['urls']:>10,} {row['failed']:>9,} {size(row['bytes']):>9}  {row['host']}" for row in facts["hosts"]
    ]
    step = facts["over_time"][0]["hours"]
    lines += ["", f"{'URLs':>10} {'failed':>9}  {'hour' if step == 1 else 'day'} (UTC), by the last visit"]
    most = max(row["urls"] for row in facts["over_time"])
    for row in facts["over_time"]:
        at = datetime.fromisoformat(row["from"]).astimezone(UTC)
        name = f"{at:%Y-%m-%d %H:00}" if step == 1 else f"{at:%Y-%m-%d}"
        lines.append(f"{row['urls']:>10,} {row['failed']:>9,}  {name}  {_bar(row['urls'] / most)}".rstrip())
    return lines


def _table(title: str, rows: dict[str, int], of: int, *, is_explained: bool) -> list[str]:
    lines = [f"{'URLs':>10} {'share':>8}  {title}"]
    for name, count in rows.items():
        what = f"{name:<20} {explained(name)}" if is_explained else name
        lines.append(f"{count:>10,} {count / of:>8.1%}  {what}")
    return lines


def _bar(share: float) -> str:
    return "#" * round(share * BAR_WIDTH)
