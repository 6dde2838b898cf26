"""What changed since a moment: pages that are new, that are other than they were, and that are gone.

The records of URLs say which, in one walk and without the archive: what counts as a change is what the schedule took
for one (schedule/change.py), so another date in the footer is none. Only for `differences` the archive is read, once,
for the last version of before that moment.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from gossamer.archive.content import content, visit_at
from gossamer.archive.opening import open_storage
from gossamer.archive.visits import visits
from gossamer.cluster.partitions import partition_of
from gossamer.export.formats import ExportView
from gossamer.export.stored import StoredPages
from gossamer.records import Place, Url, UrlRecord
from gossamer.schedule.recrawl import again_when_gone_s
from gossamer.text import moment

Facts = dict[str, Any]
KINDS = ("new", "changed", "gone")
NOT_STORED = "the version before is not in the archive"
NO_TEXT = "it has no text to compare"


class Change(NamedTuple):
    kind: str
    at: float  # as far as known
    known: UrlRecord


def changes(asked: Iterable[UrlRecord], since: float) -> Iterator[Change]:
    for known in asked:
        if (change := change_of(known, since)) is not None:
            yield change


def change_of(known: UrlRecord, since: float) -> Change | None:
    history, fetched_at = known.history, known.fetched_at
    if history is None or fetched_at is None or fetched_at < since:
        return None
    if history.gone:
        # When it was first missed is not kept, but how long it was left alone each time since is known.
        missed_at = fetched_at - sum(again_when_gone_s(times) or 0.0 for times in range(1, history.gone))
        return Change("gone", missed_at, known) if missed_at >= since else None
    if not history.visits or (known.found_at or 0.0) >= since:
        return Change("new", (known.found_at if history.visits else None) or fetched_at, known)
    is_seen = history.changes or history.dated  # else `changed_at` is the first visit, to the second
    return Change("changed", history.changed_at, known) if is_seen and history.changed_at >= since else None


def change_facts(change: Change) -> Facts:
    known = change.known
    return {
        "change": change.kind,
        "url": known.url,
        "at": moment(change.at),
        "status": known.status,
        "title": known.title or None,
        "bytes": known.body_bytes,
    }


def differences(view: ExportView, changed: Iterable[Change], since: float) -> Iterator[tuple[Change, list[str]]]:
    """Lines of text that went (`-`) and came (`+`), with two of those around them."""
    found = list(changed)
    before = _places_before(view, {change.known.url for change in found}, since)
    tree = view.configuration.tree
    storage = open_storage(tree.archive, view.folder.archive)
    with StoredPages(tree) as pages:
        for change in found:
            place, now = before.get(change.known.url), content(storage, change.known, view.state)
            if place is None or now is None:
                yield change, [NOT_STORED]
                continue
            old, new = pages.text(visit_at(storage, place)), pages.text(now)
            if old is None or new is None:
                yield change, [NO_TEXT]
                continue
            lines = difflib.unified_diff(old.splitlines(), new.splitlines(), lineterm="", n=2)
            yield change, [line for line in lines if not line.startswith(("---", "+++"))]


def _places_before(view: ExportView, wanted: set[Url], since: float) -> dict[Url, Place]:
    """Of each the last version with a body that is older than that."""
    found: dict[Url, Place] = {}
    ends = view.archive_ends()
    storage = open_storage(view.configuration.tree.archive, view.folder.archive)
    for partition in {partition_of(url, len(view.partitions)) for url in wanted}:
        for visit in visits(storage, partition, None, ends.get(partition)):
            if visit.url in wanted and visit.at < since and visit.kind != "revisit" and not visit.is_redirect:
                found[visit.url] = visit.place  # in the order of time
    return found
