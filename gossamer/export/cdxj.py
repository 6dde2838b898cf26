"""CDXJ: the index that pywb and its kin replay an archive by. One line a visit, sorted.

    com,example)/a 20261116040812 {"url": "http://example.com/a", "mime": "text/html", "mime-detected": "text/html",
        "status": "200", "digest": "sha256:...", "length": "1223", "offset": "858", "filename": "000-00000.warc.gz"}

As pywb's own indexer writes it, down to the spaces, with two differences that make more pages replayable. pywb looks
for the content of a revisit by its digest, so

- a near copy that was not stored, whose own digest nobody else has, gets `-`: it is replayed with the content of the
  page it refers to;
- a page that has not changed (304) gets the digest of what we have of it, which its own record does not say.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from itertools import groupby

from gossamer.archive.visits import Visit
from gossamer.export.surt import surt_key
from gossamer.records import UrlRecord


def cdxj_line(visit: Visit, known: UrlRecord | None) -> bytes:
    fields = {"url": visit.url}
    if visit.kind == "revisit":
        fields["mime"] = "warc/revisit"
    else:
        fields["mime"] = mime_of(visit)
        if visit.media_type:
            fields["mime-detected"] = visit.media_type
        if visit.status is not None:
            fields["status"] = str(visit.status)
    fields |= {
        "digest": digest_of(visit, known),
        "length": str(visit.place.length),
        "offset": str(visit.place.offset),
        "filename": visit.place.file,
    }
    at = datetime.fromtimestamp(visit.at, UTC).strftime("%Y%m%d%H%M%S")
    return f"{surt_key(visit.url)} {at} {json.dumps(fields, ensure_ascii=False)}\n".encode()


def mime_of(visit: Visit) -> str:
    if visit.kind == "resource":
        return visit.media_type or "application/octet-stream"
    return visit.declared[0] or "unk"


def digest_of(visit: Visit, known: UrlRecord | None) -> str:
    digest = visit.content_hash
    if visit.verdict == "near" and visit.kind == "revisit":
        digest = ""
    elif visit.verdict == "unchanged" and known is not None:
        digest = known.content_hash
    return f"sha256:{digest}" if digest else "-"


def file_in(line: bytes) -> str:
    """The file that a line leads to."""
    return line[line.rindex(b': "') + 3 : line.rindex(b'"')].decode()


def without_repeats(lines: Iterable[bytes]) -> Iterator[bytes]:
    """Of sorted lines each once: a visit that was indexed before may be indexed again."""
    return (line for line, _ in groupby(lines))
