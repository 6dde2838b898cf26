"""Documents for the tests, written by hand, byte by byte."""

from __future__ import annotations

import zlib
from collections.abc import Iterable

from gossamer.records import Body, Exchange, Fetched


def fetched(body: Body, *headers: str) -> Fetched:
    head = "\r\n".join(["HTTP/1.1 200 OK", *headers, "", ""]).encode("latin-1")
    return Fetched(Exchange(b"", head, 200, "192.0.2.1", 0.0, 1.0, 0.5), body)


def pdf(*objects: bytes, trailer: bytes = b"") -> bytes:
    """A file of these objects, numbered from 1; the first is the catalogue."""
    body, places = b"%PDF-1.7\n", []
    for number, content in enumerate(objects, 1):
        places.append(len(body))
        body += b"%d 0 obj\n%b\nendobj\n" % (number, content)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    return (
        body
        + b"xref\n0 %d\n0000000000 65535 f \n%b" % (len(objects) + 1, table)
        + b"trailer\n<< /Size %d /Root 1 0 R %b >>\nstartxref\n%d\n%%%%EOF\n" % (len(objects) + 1, trailer, len(body))
    )


def stream(content: bytes, extra: bytes = b"") -> bytes:
    return b"<< /Length %d %b >>\nstream\n%b\nendstream" % (len(content), extra, content)


def pdf_of(pages: Iterable[bytes], *, title: bytes = b"", address: bytes = b"", trailer: bytes = b"") -> bytes:
    """Pages with a line of text each, in letters of 24 points; an address is a link over the whole of the first."""
    texts = list(pages)
    font, link, about = 3, 4, 5
    first = 6
    kids = b" ".join(b"%d 0 R" % (first + 2 * number) for number in range(len(texts)))
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [%b] /Count %d >>" % (kids, len(texts)),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
        b"<< /Type /Annot /Subtype /Link /Rect [0 0 612 792] /A << /S /URI /URI (%b) >> >>" % address,
        b"<< /Title (%b) /Subject (a short test) >>" % title,
    ]
    for number, text in enumerate(texts):
        annotations = b"/Annots [%d 0 R]" % link if address and number == 0 else b""
        objects += [
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents %d 0 R "
            b"/Resources << /Font << /F1 %d 0 R >> >> %b >>" % (first + 2 * number + 1, font, annotations),
            stream(b"BT /F1 24 Tf 72 700 Td (%b) Tj ET" % text),
        ]
    return pdf(*objects, trailer=b"/Info %d 0 R %b" % (about, trailer))


def pdf_bomb(size_bytes: int) -> bytes:
    """A page whose content is a few bytes that unpack, twice, to `size_bytes`; a wrong checksum comes too late."""
    packer = zlib.compressobj(9, wbits=-15)
    block = packer.compress(b" " * (1 << 20)) + packer.flush(zlib.Z_FULL_FLUSH)
    packed = b"\x78\xda" + block * (size_bytes >> 20) + b"\x03\x00\0\0\0\0"
    return pdf(
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R >>",
        stream(zlib.compress(packed, 9), b"/Filter [/FlateDecode /FlateDecode]"),
    )


def slow_pdf(levels: int = 9) -> bytes:
    """A page that shows a form eight times, which shows another one eight times, and so on."""
    resources = b"/Resources << /XObject << /X 5 0 R >> >>"
    page = b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 9 9] /Contents 4 0 R %b >>" % resources
    form = b"/Type /XObject /Subtype /Form /BBox [0 0 9 9] /Resources << /XObject << /X %d 0 R >> >>"
    return pdf(
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        page,
        stream(b"/X Do\n" * 8),
        *(stream(b"/X Do\n" * 8, form % (6 + level)) for level in range(levels)),
        stream(b"BT (x) Tj ET", form % 5),
    )
