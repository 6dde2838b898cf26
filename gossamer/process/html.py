"""HTML to a page: title, text, links with their anchors, canonical URL, and what its author asks of robots.

lexbor builds the tree that a browser would build, however broken the markup; one walk over that tree in
document order then gathers everything. References are resolved after the walk, since a `<base>` counts for the
whole document wherever it stands. Scripting is off, as it is for us: what `<noscript>` holds is markup, and its
links count, while its text ("please enable JavaScript") does not.

What counts as a link: `a`, `area`, frames, a refresh, and those `link` elements that lead to other pages.
Pictures, style sheets and scripts are parts of this page; forms are questions that only a person can answer.

The text is the visible text. Elements such as `<b>` do not end a word and all others do: `H<sub>2</sub>O` is
one word, two cells of a table are two.

Nothing here raises, whatever the bytes, and hostile nesting is cut off before the parser sees it (`nesting.py`).
Cost of a page of 21 KB with 50 links: lexbor 110 µs, the walk 250 µs, links 80 µs.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from selectolax.lexbor import LexborHTMLParser, LexborNode

from gossamer.process.links import ANCHOR_CHARS_MAX, Links
from gossamer.process.nesting import cut_where_nesting_explodes
from gossamer.process.text import decode, fold
from gossamer.records import Link, Page, Url

AGENT = "gossamer"  # the name by which a page may speak to us alone
FRAME = "frame"  # rel of a link to a frame
REFRESH = "refresh"  # rel of a link that the page itself would go to after a while
TITLE_CHARS_MAX = 1000
LINKS_MAX = 20_000  # the longest honest index pages; 0.1 s


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _tags(names: str) -> frozenset[int]:
    """lexbor's numbers for these elements; comparing numbers spares a string for every node."""
    document = LexborHTMLParser("")
    return frozenset(document.create_node(name).tag_id for name in names.split())


def _tag(name: str) -> int:
    return next(iter(_tags(name)))


_TEXT, _COMMENT = 2, 4  # LXB_TAG__TEXT and LXB_TAG__EM_COMMENT: not elements, so they cannot be asked for by name
_INLINE = _tags(
    "a abbr acronym b bdi bdo big cite code data del dfn em font i ins kbd label mark nobr q rp rt ruby s samp "
    "small span strike strong sub sup time tt u var wbr"
) | {_COMMENT}
_FLOWING = _INLINE | {_TEXT}
# Text for programs. (lexbor keeps what is inside a <template> out of the tree altogether.)
_HIDDEN = _tags("script style title textarea iframe noembed noframes")
_A, _IMG, _SVG = _tag("a"), _tag("img"), _tag("svg")

# A <link> leads to another page if its rel is one of these. The rest is for browsers.
_FOLLOWED_RELS = _names(
    "alternate amphtml author bookmark canonical chapter contents first help home index last license next prev "
    "previous section shortlink start toc up"
)
# Alternates in other types are for programs: oEmbed, the JSON of a content system.
_FOLLOWED_ALTERNATES = _names("text/html application/xhtml+xml application/rss+xml application/atom+xml")

_REFRESH = re.compile(  # the HTML standard's "shared declarative refresh steps", S being its white space
    r"S*(?=[0-9.])([0-9]*)[0-9.]*(?:\Z|(?=[;,]|S))S*[;,]?S*(?:urlS*=S*)?(.*)".replace("S", r"[ \t\n\f\r]"),
    re.IGNORECASE | re.DOTALL,
)


def process(body: bytes, url: Url, content_type: str | None = None) -> Page:
    text, codec = decode(body, content_type)
    root = LexborHTMLParser(cut_where_nesting_explodes(text)).root
    reading = _Reading()
    if root is not None:
        _walk(root, reading)
    links = Links(url, reading.base, codec)
    for href, anchor, rel in reading.links:
        links.add(href, anchor, rel)
        if len(links) >= LINKS_MAX:
            break
    return Page(
        url,
        media_type="text/html",
        title=reading.title or "",
        text=_joined(reading.text),
        links=list(links),
        canonical=links.resolve(reading.canonical) if reading.canonical else None,
        noindex=forbids(reading.robots, "noindex"),
        nofollow=forbids(reading.robots, "nofollow"),
    )


def robots_words(content: str) -> set[str]:
    return set(content.lower().replace(",", " ").replace(";", " ").split())


def forbids(words: set[str], word: str) -> bool:
    return word in words or "none" in words


def refresh(content: str) -> tuple[int, str | None] | None:
    """The seconds and the target of a refresh; target None: this page again. None: not a refresh."""
    found = _REFRESH.match(content)
    if found is None:
        return None
    target = found[2]
    if target[:1] in ('"', "'"):
        target = target[1:].partition(target[0])[0]
    target = re.sub(r"[\t\n\r]", "", target).strip(" \f")
    return int(found[1][:9] or 0), target or None


def refresh_link(target: str, url: Url) -> list[Link]:
    """What a Refresh header adds to a page, which is nothing where the target cannot be crawled."""
    links = Links(url)
    links.add(target, "", REFRESH)
    return list(links)


class _Reading:
    """What the walk has come across so far."""

    def __init__(self) -> None:
        self.title: str | None = None
        self.base: str | None = None
        self.canonical: str | None = None
        self.robots: set[str] = set()
        self.links: list[tuple[str, str, str]] = []  # href, anchor, rel
        self.text: list[str] = []
        self.mute: set[int] = set()  # nodes whose text is not read

    def a(self, node: LexborNode) -> None:
        attributes = node.attributes
        if href := attributes.get("href"):
            anchor = fold(node.text()) or _picture_text(node)
            rel = attributes.get("rel")
            self.links.append((href, anchor[:ANCHOR_CHARS_MAX], rel.lower() if rel else ""))

    def area(self, node: LexborNode) -> None:
        attributes = node.attributes
        if href := attributes.get("href"):
            anchor = fold(attributes.get("alt") or "")
            self.links.append((href, anchor[:ANCHOR_CHARS_MAX], (attributes.get("rel") or "").lower()))

    def frame(self, node: LexborNode) -> None:
        if src := node.attributes.get("src"):
            self.links.append((src, "", FRAME))

    def link(self, node: LexborNode) -> None:
        attributes = node.attributes
        href, rel = attributes.get("href"), (attributes.get("rel") or "").lower()
        rels = rel.split()
        if not href or _FOLLOWED_RELS.isdisjoint(rels) or "stylesheet" in rels:
            return
        if "alternate" in rels:
            media_type = (attributes.get("type") or "").partition(";")[0].strip().lower()
            if media_type and media_type not in _FOLLOWED_ALTERNATES:
                return
        self.links.append((href, fold(attributes.get("title") or "")[:ANCHOR_CHARS_MAX], rel))
        if "canonical" in rels and self.canonical is None:
            self.canonical = href

    def meta(self, node: LexborNode) -> None:
        attributes = node.attributes
        content = attributes.get("content") or ""
        if (attributes.get("name") or "").strip().lower() in ("robots", AGENT):
            self.robots |= robots_words(content)
        elif (attributes.get("http-equiv") or "").strip().lower() == "refresh":
            found = refresh(content)
            if found is not None and found[1] is not None:
                self.links.append((found[1], "", REFRESH))

    def first_base(self, node: LexborNode) -> None:
        if self.base is None:
            self.base = node.attributes.get("href")

    def first_title(self, node: LexborNode) -> None:
        parent = node.parent
        if self.title is None and not (parent is not None and parent.tag_id == _SVG):
            self.title = fold(node.text())[:TITLE_CHARS_MAX]

    def noscript(self, node: LexborNode) -> None:
        if node.mem_id not in self.mute:  # else it is inside another, and all of it is known
            self.mute.update(inner.mem_id for inner in node.traverse(include_text=True))


_READERS: dict[int, Callable[[_Reading, LexborNode], None]] = {
    _A: _Reading.a,
    _tag("area"): _Reading.area,
    _tag("iframe"): _Reading.frame,
    _tag("frame"): _Reading.frame,
    _tag("link"): _Reading.link,
    _tag("meta"): _Reading.meta,
    _tag("base"): _Reading.first_base,
    _tag("title"): _Reading.first_title,
    _tag("noscript"): _Reading.noscript,
}


def _walk(root: LexborNode, reading: _Reading) -> None:
    text, mute = reading.text, reading.mute
    tag_before = 0  # of the last element
    word_ended = True  # since the last text
    opened: LexborNode | None = None  # the first inline element since the last text
    for node in root.traverse(include_text=True):
        tag = node.tag_id
        if tag == _TEXT:
            piece = node.text_content or ""
            words = piece.strip()
            if not words:
                word_ended = word_ended or piece != ""
            elif not ((tag_before in _HIDDEN and _is_hidden(node)) or (mute and node.mem_id in mute)):
                if word_ended or piece[0] != words[0] or _starts_a_word(node if opened is None else opened):
                    text.append(" ")
                text.append(words)
                word_ended = piece[-1] != words[-1]
                opened = None
            continue
        tag_before = tag
        if tag not in _INLINE:
            word_ended = True
        elif opened is None:
            opened = node
        if (read := _READERS.get(tag)) is not None:
            read(reading, node)


def _starts_a_word(node: LexborNode) -> bool:
    """The walk does not say when an element ends. If one that ends words has just ended, then it stands before the
    text that was met, or before the first of the inline elements that lead down to that text."""
    neighbour = node.prev
    if neighbour is None:
        return False
    tag = neighbour.tag_id
    return tag not in _FLOWING or (tag == _A and node.tag_id == _A)  # link by link, as in menus


def _joined(pieces: list[str]) -> str:
    text = "".join(pieces).strip()
    for space in "\n\t\r\f\xa0":
        text = text.replace(space, " ")
    return fold(text) if "  " in text else text  # folding costs as much as parsing, and most pages need none


def _is_hidden(text: LexborNode) -> bool:
    parent = text.parent
    return parent is not None and parent.tag_id in _HIDDEN


def _picture_text(anchor: LexborNode) -> str:
    for node in anchor.traverse():
        if node.tag_id == _IMG:
            return fold(node.attributes.get("alt") or "")
    return ""
