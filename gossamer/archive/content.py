"""The content of a page, wherever it lies: with its own record, or with that of the page whose copy it is.

A copy's record has a head and no body. It says whose content it is and from when. Where that page's own record is
still of that moment, or shows the same digest, the body is there. Where that page has changed since, its older
version is in the archive as well, but only a walk through the files would find it, and None is the answer. Objects
are found by their digest, so there only a near copy needs the other page.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import msgspec

from gossamer.archive import reader
from gossamer.archive.objects import content_of, read_entry
from gossamer.archive.series import VISITS, name_in
from gossamer.archive.shelf import Shelf
from gossamer.archive.visits import Visit, of_entry, of_record
from gossamer.records import Known, Place, Url

REFERS_MAX = 4  # "not modified" since a copy of an original: that is three


def content(shelf: Shelf, known: Known, find: Callable[[Url], Known | None]) -> Visit | None:
    """The visit whose body is a page's content; it may be another page's. `find`: all that is known of a URL."""
    asked: Visit | None = None
    for _ in range(REFERS_MAX):
        if known.place is None:
            return None
        visit = visit_at(shelf, known.place)
        if visit.kind != "revisit":
            return visit if asked is None or is_of(visit, asked) else None
        if visit.verdict != "unchanged":
            asked = visit
        if name_in(known.place).kind == VISITS and visit.verdict != "near" and known.content_hash:
            # As soon as a digest is known, it is the name of the object.
            body = partial(content_of, shelf, visit.content_hash or known.content_hash)
            return msgspec.structs.replace(visit, body=body)
        other = find(visit.refers_to) if visit.refers_to else None
        if other is None or other.place == known.place:
            return None
        known = other
    return None


def is_of(visit: Visit, copy: Visit) -> bool:
    return visit.at == copy.refers_at or visit.content_hash == copy.content_hash


def visit_at(shelf: Shelf, place: Place) -> Visit:
    """Without its links."""
    if name_in(place).kind == VISITS:
        return of_entry(shelf, place, read_entry(shelf, place))
    return of_record(reader.read(shelf, place), [])
