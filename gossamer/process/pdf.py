"""PDF to a page: title, text, and the links that somebody can click on.

PDFium does the reading. It is a large program in C++ that reads what strangers wrote, so it is called only in the
sandbox (`sandbox.py`), and imported only there. It is built without scripting and without a network: actions,
forms and attachments are left alone, and a link is read, never followed.

A link is an annotation with a URI, and its anchor is the text under it. Addresses that are merely printed are not
links, here as in plain text. Bounded: `PAGES_MAX` pages, `TEXT_CHARS_MAX` characters, `LINKS_MAX` links.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from typing import Any

from gossamer.process.links import ANCHOR_CHARS_MAX, Links
from gossamer.process.text import fold
from gossamer.records import Page, Url

PAGES_MAX = 1000
TEXT_CHARS_MAX = 2_000_000  # a thousand full pages
LINKS_MAX = 20_000
TITLE_CHARS_MAX = 1000
DESCRIPTION_CHARS_MAX = 5000
ADDRESS_BYTES_MAX = 65_536

FAULTS = {  # FPDF_GetLastError, in words
    3: "it is not a PDF, or broken beyond repair",
    4: "the PDF wants a password",
    5: "the PDF is locked in a way that nobody here knows",
}


def process(body: bytes, url: Url, content_type: str | None = None) -> Page:
    import pypdfium2  # type: ignore[import-untyped]  # noqa: PLC0415 - 40 ms, until there is a PDF

    try:
        document = pypdfium2.PdfDocument(body)
    except pypdfium2.PdfiumError as fault:
        return Page(url, media_type="application/pdf", fault=FAULTS.get(fault.err_code, FAULTS[3]))
    with document:
        text: list[str] = []
        room = TEXT_CHARS_MAX
        links = Links(url)
        for number in range(min(len(document), PAGES_MAX)):
            try:
                page = document[number]
                words = page.get_textpage()
            except pypdfium2.PdfiumError:
                continue  # one page that is broken leaves the others
            text.append(fold(words.get_text_bounded())[:room])
            room -= len(text[-1]) + 1
            for address, anchor in _links(document, page, words):
                links.add(address, fold(anchor)[:ANCHOR_CHARS_MAX])
                if len(links) >= LINKS_MAX:
                    break
            page.close()  # and all that was made of it
            if room <= 0 or len(links) >= LINKS_MAX:
                break
        whole = " ".join(piece for piece in text if piece)
        return Page(
            url,
            media_type="application/pdf",
            title=fold(document.get_metadata_value("Title"))[:TITLE_CHARS_MAX],
            description=fold(document.get_metadata_value("Subject"))[:DESCRIPTION_CHARS_MAX],
            text=whole,
            main_text=whole,
            links=list(links),
        )


def _links(document: Any, page: Any, words: Any) -> Iterator[tuple[str, str]]:
    """Every annotation of a page that leads to a URI, and the text that it covers."""
    from pypdfium2 import raw  # noqa: PLC0415 - as above

    position, link = ctypes.c_int(0), raw.FPDF_LINK()
    while raw.FPDFLink_Enumerate(page, position, link):
        action = raw.FPDFLink_GetAction(link)
        if not action or raw.FPDFAction_GetType(action) != raw.PDFACTION_URI:
            continue
        size = raw.FPDFAction_GetURIPath(document, action, None, 0)
        if not 1 < size <= ADDRESS_BYTES_MAX:
            continue
        address = ctypes.create_string_buffer(size)
        raw.FPDFAction_GetURIPath(document, action, address, size)
        place = raw.FS_RECTF()
        anchor = ""
        if raw.FPDFLink_GetAnnotRect(link, place):
            anchor = words.get_text_bounded(place.left, place.bottom, place.right, place.top)
        yield address.value.decode("utf-8", "replace").strip(), anchor
