"""What pages say about links, about themselves and about their encoding, and documents that are not HTML.

Where it matters that a page was understood, it links to a page under /found/ that nothing else links to:
a crawler that misreads UTF-16, <base href> or noindex never gets there.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable

from gossamer.synthetic_web.answer import Anchor, Answer, Visit
from gossamer.synthetic_web.atlas import Atlas
from gossamer.synthetic_web.html import HTML, leaf, render
from gossamer.synthetic_web.pages import Carried
from gossamer.synthetic_web.text import text

# name -> (Content-Type, a line for the head, encoding of the body)
CHARSETS = {
    "latin-1": ("text/html; charset=iso-8859-1", "", "latin-1"),
    "meta": ("text/html", '<meta charset="iso-8859-1">\n', "latin-1"),
    "bom": ("text/html", "", "utf-16-le"),  # with a byte order mark, see below
    "wrong": ("text/html; charset=utf-8", '<meta charset="utf-8">\n', "latin-1"),
    "none": ("text/html", "", "utf-8"),
}
FOUND = {**dict.fromkeys(CHARSETS, "charsets"), "noindex": "noindex", "base": "bases", "copy": "duplicates"}
TRACKING = ("", "?utm_source=mail", "?fbclid=u7f3a9", "?utm_campaign=spring&utm_source=mail")

Maker = Callable[[Atlas, int, int, list[str]], Answer | None]
"""Atlas, host, the page that carries the behaviour, the parts of the path after it."""


def found(atlas: Atlas, visit: Visit) -> Answer | None:
    match visit.parts:
        case ["found", name, number]:
            page = atlas.page_number(number)
            if page is not None and name in FOUND and atlas.carries(FOUND[name], visit.host, page):
                return leaf(atlas, "found", f"found/{name}/{visit.host}/{page}")
    return None


def charset(atlas: Atlas, host: int, page: int, rest: list[str]) -> Answer | None:
    if len(rest) != 1 or rest[0] not in CHARSETS:
        return None
    content_type, head, encoding = CHARSETS[rest[0]]
    chance, words = atlas.chance(f"charset/{host}/{page}/{rest[0]}"), text(atlas.options.seed)
    anchors = (Anchor("/", "home"), Anchor(f"/found/{rest[0]}/{page}"))
    # A title with accents, so that a wrong guess can be seen in it.
    html = render(f"Crème brûlée {words.title(chance)}", words.sentences(chance, 800), anchors, head)
    if rest == ["bom"]:
        html = "\ufeff" + html
    return Answer("charset", headers=(("Content-Type", content_type),), body=html.encode(encoding), anchors=anchors)


def untyped(atlas: Atlas, host: int, page: int, rest: list[str]) -> Answer | None:
    """HTML without a Content-Type, HTML that calls itself something else, and a picture that calls itself HTML."""
    name = f"untyped/{host}/{page}"
    match rest:
        case []:
            answer = leaf(atlas, "untyped", name)
            return Answer("untyped", body=answer.body, anchors=answer.anchors)
        case ["binary"]:
            body = leaf(atlas, "mistyped", f"{name}/binary").body
            return Answer("mistyped", headers=(("Content-Type", "application/octet-stream"),), body=body)
        case ["picture"]:
            return Answer("mistyped", headers=(("Content-Type", HTML),), body=_png(name))
    return None


def document(atlas: Atlas, host: int, page: int, rest: list[str]) -> Answer | None:
    name = f"files/{host}/{page}"
    match rest:
        case ["note.txt"]:
            chance = atlas.chance(name)
            body = " ".join(text(atlas.options.seed).sentences(chance, 400)).encode()
            return Answer("file", headers=(("Content-Type", "text/plain; charset=utf-8"),), body=body)
        case ["dot.png"]:
            return Answer("file", headers=(("Content-Type", "image/png"),), body=_png(name))
        case ["paper.pdf"]:
            return Answer("file", headers=(("Content-Type", "application/pdf"),), body=_pdf(name))
    return None


def nofollow(atlas: Atlas, host: int, page: int, rest: list[str]) -> Answer | None:
    """/nofollow/N says nofollow about all its links; what is below it is not to be asked for."""
    name = f"nofollow/{host}/{page}/{'/'.join(rest)}"
    match rest:
        case []:
            head = '<meta name="robots" content="nofollow">\n'
            beyond = Anchor(f"/nofollow/{page}/beyond")
            return leaf(atlas, "nofollow", name, [beyond], head=head, nofollow=True)
        case ["beyond"] | ["link"]:
            return leaf(atlas, "nofollow_target", name)
    return None


def noindex(atlas: Atlas, host: int, page: int, rest: list[str]) -> Answer | None:
    if rest:
        return None
    head = '<meta name="robots" content="noindex">\n'
    return leaf(atlas, "noindex", f"noindex/{host}/{page}", [Anchor(f"/found/noindex/{page}")], head=head)


def canonical(atlas: Atlas, host: int, page: int, rest: list[str]) -> Answer | None:
    """/canonical/N is the page itself, /canonical/N/print another view of it that says so."""
    if rest not in ([], ["print"]):
        return None
    head = f'<link rel="canonical" href="{atlas.url(host, f"/canonical/{page}")}">\n'
    name, footer = f"canonical/{host}/{page}", "For your printer." if rest else ""
    return leaf(atlas, "canonical", name, head=head, footer=footer, near_group=name)


def based(atlas: Atlas, host: int, page: int, rest: list[str]) -> Answer | None:
    if rest:
        return None
    base = f"/found/base/{page}/"
    # "../7" from /found/base/7/ is /found/base/7; from the page's own address it would be nowhere.
    head = f'<base href="{base}">\n'
    return leaf(atlas, "base", f"base/{host}/{page}", [Anchor(f"../{page}")], head=head, base=base)


def tracked(atlas: Atlas, host: int, page: int, rest: list[str]) -> Answer | None:
    return None if rest else leaf(atlas, "tracked", f"tracked/{host}/{page}")


# behaviour -> (section, what its pages link to, who makes the answers)
_TABLE: dict[str, tuple[str, tuple[Anchor, ...], Maker]] = {
    "charsets": ("charset", tuple(Anchor("/charset/{page}/" + name) for name in CHARSETS), charset),
    "content_types": (
        "untyped",
        (Anchor("/untyped/{page}"), Anchor("/untyped/{page}/binary"), Anchor("/untyped/{page}/picture")),
        untyped,
    ),
    "files": (
        "files",
        (Anchor("/files/{page}/note.txt"), Anchor("/files/{page}/dot.png"), Anchor("/files/{page}/paper.pdf")),
        document,
    ),
    "nofollow": ("nofollow", (Anchor("/nofollow/{page}"), Anchor("/nofollow/{page}/link", "", "nofollow")), nofollow),
    "noindex": ("noindex", (Anchor("/noindex/{page}"),), noindex),
    "canonical": ("canonical", (Anchor("/canonical/{page}"), Anchor("/canonical/{page}/print")), canonical),
    "bases": ("based", (Anchor("/based/{page}"),), based),
    "tracking": ("tracked", tuple(Anchor("/tracked/{page}" + query) for query in TRACKING), tracked),
}


def _anchors_of(templates: tuple[Anchor, ...]) -> Carried:
    return lambda _atlas, _host, page: [
        anchor._replace(href=anchor.href.replace("{page}", str(page))) for anchor in templates
    ]


def _section(behaviour: str, make: Maker) -> Callable[[Atlas, Visit], Answer | None]:
    def section(atlas: Atlas, visit: Visit) -> Answer | None:
        page = atlas.page_number(visit.parts[1]) if len(visit.parts) > 1 else None
        if page is None or not atlas.carries(behaviour, visit.host, page):
            return None
        return make(atlas, visit.host, page, list(visit.parts[2:]))

    return section


CARRIED = {behaviour: _anchors_of(anchors) for behaviour, (_, anchors, _) in _TABLE.items()}
SECTIONS = {
    "found": found,
    **{section: _section(behaviour, make) for behaviour, (section, _, make) in _TABLE.items()},
}


def _png(name: str) -> bytes:
    """One pixel, with a name in a comment, so that no two pictures are the same file."""

    def chunk(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0))
        + chunk(b"tEXt", f"Comment\0{name}".encode())
        + chunk(b"IDAT", zlib.compress(b"\0\x80"))
        + chunk(b"IEND", b"")
    )


def _pdf(name: str) -> bytes:
    """Enough of a PDF to be taken for one, and with bytes that are no text."""
    return f"%PDF-1.4\n%\u00e2\u00e3\u00cf\u00d3\n% {name}\n1 0 obj<</Type/Catalog>>endobj\n%%EOF\n".encode("latin-1")
