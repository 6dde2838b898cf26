"""The content of a page, wherever it lies: with its own record, or with that of the page whose copy it is.

A copy's record has a head and no body. It says whose content it is and from when. Where that page's own record is
still of that moment, or shows the same digest, the body is there. Where that page has changed since, its older
version is in the archive as well, but only a walk through the files would find it, and None is the answer.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice

from gossamer.archive import reader
from gossamer.archive.renderings import VIEW
from gossamer.archive.storage import Storage
from gossamer.archive.visits import Visit, of_record
from gossamer.records import Place, Url, UrlRecord

PNG = b"\x89PNG\r\n\x1a\n"
PICTURE_BYTES_MAX = 8 << 20  # a window without any compression is 5 MiB
REFERS_MAX = 4  # "not modified" since a copy of an original: that is three


def content(storage: Storage, known: UrlRecord, find: Callable[[Url], UrlRecord | None]) -> Visit | None:
    """The visit whose body is a page's content; it may be another page's. `find`: all that is known of a URL."""
    asked: Visit | None = None
    for _ in range(REFERS_MAX):
        if known.place is None:
            return None
        visit = visit_at(storage, known.place)
        if visit.kind != "revisit":
            return visit if asked is None or is_of(visit, asked) else None
        if visit.verdict != "unchanged":
            asked = visit
        other = find(visit.refers_to) if visit.refers_to else None
        if other is None or other.place == known.place:
            return None
        known = other
    return None


def is_of(visit: Visit, copy: Visit) -> bool:
    return visit.at == copy.refers_at or visit.content_hash == copy.content_hash


def visit_at(storage: Storage, place: Place) -> Visit:
    """Without its links."""
    visit = of_record(reader.read(storage, place), [])
    if not visit.is_rendered or visit.refers_to:
        return visit
    behind = list(islice(reader.records(storage, place.file, place.offset), 2))  # itself, and what was shown
    return of_record(behind[0], [], behind[1] if len(behind) > 1 and behind[1].type == "conversion" else None)


def picture(storage: Storage, known: UrlRecord) -> bytes | None:
    """How a browser showed the page, as PNG; None: no such picture is stored with its content."""
    if known.place is None or known.rendered is None or not known.rendered.picture_bytes:
        return None
    # Itself, the document that was shown if that is stored with it, and the picture.
    for record in islice(reader.records(storage, known.place.file, known.place.offset), 3):
        if record.type == "resource" and (record.url or "").startswith(VIEW):
            return record.body if record.body.startswith(PNG) and len(record.body) <= PICTURE_BYTES_MAX else None
    return None
