"""What a browser made of a page, in the archive: the document it showed, its picture, and what was loaded for it.

    response      what the server sent, always; with Gossamer-Rendered: yes, and where the document that was shown is
                  another URL's or that of an earlier visit, with Gossamer-Same-As (the URL) and -Same-As-Date
    conversion    the document that was shown, of urn:rendered:URL, WARC-Refers-To the response; not where it is the
                  same as another
    resource      a picture of it (render.screenshot), of urn:view:URL
    metadata      beside links, what it took:  rendered: {"why":"shell","requests":2,...}
                  and each request of the page:  loaded: URL Script 200 5120 cache

Names of their own, because pywb takes any record of a URL for that URL: it would replay either.
"""

from __future__ import annotations

import msgspec

from gossamer.archive.record import date_text, member, one_line, record_id, uri_text
from gossamer.records import Outcome, Verdict
from gossamer.rendered import Rendered

RENDERED, SAME_AS, SAME_AS_DATE = "Gossamer-Rendered", "Gossamer-Same-As", "Gossamer-Same-As-Date"
SHOWN, VIEW = "urn:rendered:", "urn:view:"


def fields(verdict: Verdict) -> list[str]:
    """Of the response."""
    of_page = [f"{RENDERED}: yes"]
    if verdict.is_reference and verdict.of:
        of_page.append(f"{SAME_AS}: {uri_text(verdict.of)}")
        if verdict.at is not None:
            of_page.append(f"{SAME_AS_DATE}: {date_text(verdict.at)}")
    return of_page


def members(outcome: Outcome, page_id: str, target: list[str]) -> bytes:
    """`target`: the fields of its URL and date."""
    rendered = outcome.page.rendered if outcome.page is not None else None
    if rendered is None:
        return b""
    uri, date = target[0].partition(": ")[2], target[1]
    records = b""
    if rendered.document and not outcome.verdict.is_reference:
        own = [f"WARC-Record-ID: {record_id('conversion', uri, date)}", f"WARC-Target-URI: {SHOWN}{uri}", date]
        own += [f"WARC-Refers-To: {page_id}", f"WARC-Refers-To-Target-URI: {uri}"]
        records += member("conversion", [*own, "Content-Type: text/html; charset=utf-8"], rendered.document)
    if rendered.screenshot:
        own = [f"WARC-Record-ID: {record_id('view', uri, date)}", f"WARC-Target-URI: {VIEW}{uri}", date]
        own += [f"WARC-Concurrent-To: {page_id}", "Content-Type: image/png"]
        records += member("resource", own, rendered.screenshot)
    return records


def notes(rendered: Rendered) -> bytes:
    """Lines of the metadata."""
    lines = ["rendered: " + msgspec.json.encode(msgspec.structs.asdict(rendered.cost)).decode()]
    for each in rendered.loaded:
        line = f"loaded: {uri_text(each.url)} {each.kind} {each.status} {each.bytes} {each.why}"
        lines.append(one_line(line))
    return "".join(f"{line}\r\n" for line in lines).encode(errors="replace")
