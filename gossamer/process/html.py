"""HTML to a page: title, text, main text, links with their places, and what its author asks of robots.

lexbor builds the tree that a browser would build, however broken the markup; one walk over that tree in document
order then gathers everything (reading.py). References are resolved after the walk, since a `<base>` counts for the
whole document wherever it stands. Scripting is off, as it is for us: what `<noscript>` holds is markup, and its links
count, while its text ("please enable JavaScript") does not.

What counts as a link: `a`, `area`, frames, a refresh, and those `link` elements that lead to other pages.
Pictures, style sheets and scripts are parts of this page: pictures and scripts are links where `links_from` says so.
Forms are questions that only a person can answer.

The text is what a reader could see. Elements such as `<b>` do not end a word and all others do: `H<sub>2</sub>O` is
one word, two cells of a table are two. Which of it is main text is decided in main_text.py.

Nothing here raises, whatever the bytes, unless memory is short; hostile nesting and tags with thousands of attributes
are cut before the parser sees them (`nesting.py`, `tags.py`).
docs/processing.md says what each field of a page holds; benchmarks/process.py what it costs.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import cache
from itertools import islice
from typing import NamedTuple

from selectolax.lexbor import LexborDocumentOptions, LexborHTMLParser, SelectolaxError

from gossamer.process.links import Links
from gossamer.process.markup.language import language_of
from gossamer.process.markup.main_text import FOOTER, MAIN, NAVIGATION, OPEN, SILENT, choose
from gossamer.process.markup.nesting import harmless, with_growing_references_spelled_out
from gossamer.process.markup.reading import LINE_END, Attributes, Reading, read, tag_id
from gossamer.process.markup.srcset import candidates
from gossamer.process.text import as_utf8, fold
from gossamer.records import Link, Page, Url

AGENT = "gossamer"  # the name by which a page may speak to us alone
FRAME = "frame"  # rel of a link to a frame
REFRESH = "refresh"  # rel of a link that the page itself would go to after a while
IMAGE, SCRIPT = "image", "script"  # rel of a link to a part of the page, where those are wanted
DESCRIPTION_CHARS_MAX = 1000
ALTERNATES_MAX = 500
CANDIDATES_MAX = 500  # of one srcset; honest ones have a dozen
ALT_CHARS_MAX = 10_000  # of which ANCHOR_CHARS_MAX are kept, folded
LINKS_MAX = 20_000  # the longest honest index pages; 0.1 s


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


# A <link> leads to another page if its rel is one of these. The rest is for browsers.
FOLLOWED_RELS = _names(
    "alternate amphtml author bookmark canonical chapter contents first help home index last license next prev "
    "previous section shortlink start toc up"
)
# Alternates in other types are for programs: oEmbed, the JSON of a content system.
FOLLOWED_ALTERNATES = _names("text/html application/xhtml+xml application/rss+xml application/atom+xml")

_SPACE = r"[ \t\n\f\r]"
_REFRESH = re.compile(  # the HTML standard's "shared declarative refresh steps", S being its white space
    r"S*+(?=[0-9.])([0-9]*+)[0-9.]*+(?:\Z|(?=[;,]|S))S*+[;,]?S*+(?:urlS*+=S*+)?(.*)".replace("S", _SPACE),
    re.IGNORECASE | re.DOTALL,
)


def process(
    body: bytes,
    url: Url,
    content_type: str | None = None,
    *,
    agent: str = AGENT,
    links_from: Collection[str] = (),
) -> Page:
    """`links_from`: `images` and `scripts` also make links (`process.links_from`)."""
    markup, codec = as_utf8(body, content_type)
    return page_of(parsed(markup, agent, links_from), url, codec)


class Parsed(NamedTuple):
    """A document, and what was read of it."""

    tree: LexborHTMLParser
    reading: Reading
    said: _Said
    blocks: list[str]  # with one space where the document has any white space
    full_text: str
    chosen: list[int]  # the numbers of the blocks that are main text; none: all of them


def parsed(markup: bytes, agent: str = AGENT, links_from: Collection[str] = ()) -> Parsed:
    reading = Reading()
    said = _Said(reading, agent.lower(), links_from)
    tree = _tree(markup)
    if (root := tree.root) is not None:
        read(root, reading, said, _told("images" in links_from, "scripts" in links_from))
    blocks = reading.blocks
    full_text = " ".join(blocks)
    if _has_odd_spaces(full_text):
        blocks = [fold(block) for block in blocks]
        full_text = " ".join(blocks)
    return Parsed(tree, reading, said, blocks, full_text, choose(blocks, reading.areas, reading.links))


def page_of(document: Parsed, url: Url, codec: str) -> Page:
    """`codec`: of the body that the markup was made of."""
    _, reading, said, blocks, full_text, chosen = document
    main_text = _in_lines(reading, blocks, chosen or range(len(blocks)))
    links = Links(url, said.base, codec, have_places=True)
    links.add_all(_placed(reading, frozenset(chosen)), LINKS_MAX)
    return Page(
        url,
        media_type="text/html",
        title=reading.title or "",
        text=full_text,
        links=list(links),
        canonical=links.resolve(said.canonical) if said.canonical else None,
        noindex=forbids(said.robots, "noindex"),
        nofollow=forbids(said.robots, "nofollow"),
        noarchive="noarchive" in said.robots,
        main_text=main_text,
        language=language_of(main_text, said.language),
        description=(said.description or said.social_description)[:DESCRIPTION_CHARS_MAX],
        headings=reading.headings,
        alternates=[(name, target) for name, href in said.alternates if (target := links.resolve(href))],
    )


def _in_lines(reading: Reading, blocks: list[str], chosen: Sequence[int]) -> str:
    """Blocks, with the white space that keeps them apart: but for that it is the text of the blocks."""
    gaps, code, raw = reading.gaps, reading.code, reading.blocks
    said = [gaps[number] + blocks[number] for number in chosen]
    for place, number in enumerate(chosen):
        if number in code:
            said[place] = gaps[number] + code[number]
        elif LINE_END in raw[number]:
            said[place] = gaps[number] + "\n".join([fold(line) for line in raw[number].split(LINE_END)])
    return "".join(said)[len(gaps[chosen[0]]) :] if chosen else ""


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


def _tree(markup: bytes) -> LexborHTMLParser:
    try:
        markup = harmless(with_growing_references_spelled_out(markup))
        return LexborHTMLParser(markup, options=LexborDocumentOptions.WO_EVENTS)
    except SelectolaxError as fault:  # there is no markup that it refuses
        raise MemoryError("lexbor got no memory") from fault


class _Said:
    """What elements say about the page as a whole, and the links that are not <a>."""

    def __init__(self, reading: Reading, agent: str, links_from: Collection[str]) -> None:
        self.base: str | None = None
        self.canonical: str | None = None
        self.language = ""
        self.description = ""
        self.social_description = ""
        self.robots: set[str] = set()
        self.alternates: list[tuple[str, str]] = []  # hreflang, href
        self.agent = agent
        self.wants_images = "images" in links_from
        self.add = reading.add

    def html(self, attributes: Attributes) -> None:
        self.language = attributes.get("lang") or attributes.get("xml:lang") or ""

    def meta(self, attributes: Attributes) -> None:
        content = attributes.get("content", "")
        name = (attributes.get("name") or attributes.get("property") or "").strip().lower()
        command = attributes.get("http-equiv", "").strip().lower()
        if name in ("robots", self.agent):
            self.robots |= robots_words(content)
        elif name == "description":
            self.description = self.description or fold(content)
        elif name == "og:description":
            self.social_description = self.social_description or fold(content)
        elif command == "refresh":
            found = refresh(content)
            if found is not None:
                self.add(found[1], "", REFRESH, is_somewhere=False)
        elif command == "content-language":
            self.language = self.language or content

    def link(self, attributes: Attributes) -> None:
        href, rel = attributes.get("href"), attributes.get("rel", "").lower()
        rels = rel.split()
        if self.wants_images and "icon" in rels:
            self.add(href, "", IMAGE, is_somewhere=False)
        if not href or FOLLOWED_RELS.isdisjoint(rels) or "stylesheet" in rels:
            return
        if "alternate" in rels:
            media_type = attributes.get("type", "").partition(";")[0].strip().lower()
            if media_type and media_type not in FOLLOWED_ALTERNATES:
                return
            hreflang = attributes.get("hreflang", "").strip().lower()
            if hreflang and len(self.alternates) < ALTERNATES_MAX:
                self.alternates.append((hreflang, href))
        self.add(href, fold(attributes.get("title", "")), rel, is_somewhere=False)
        if "canonical" in rels and self.canonical is None:
            self.canonical = href

    def first_base(self, attributes: Attributes) -> None:
        if self.base is None:
            self.base = attributes.get("href")

    def image_area(self, attributes: Attributes) -> None:
        self.add(attributes.get("href"), fold(attributes.get("alt", "")), attributes.get("rel", "").lower())

    def frame(self, attributes: Attributes) -> None:
        self.add(attributes.get("src"), "", FRAME)

    def script(self, attributes: Attributes) -> None:
        self.add(attributes.get("src"), "", SCRIPT)

    def picture(self, attributes: Attributes) -> None:
        """Of <img>, <source>, <video> and <input>, with the names that pages use who load pictures late."""
        anchor = fold(attributes.get("alt", "")[:ALT_CHARS_MAX])
        for name, value in attributes.items():
            if name in ONE_PICTURE:
                self.add(value, anchor, IMAGE)
            elif name in PICTURES:
                for candidate in islice(candidates(value), CANDIDATES_MAX):
                    self.add(candidate, anchor, IMAGE)


ONE_PICTURE = _names("src poster data-src data-original data-lazy data-lazy-src data-full-src")
PICTURES = _names("srcset data-srcset data-lazy-srcset data-original-set imagesrcset")

Teller = Callable[[_Said, Attributes], None]
_ALWAYS: dict[str, Teller] = {
    "area": _Said.image_area,
    "base": _Said.first_base,
    "frame": _Said.frame,
    "html": _Said.html,
    "iframe": _Said.frame,
    "link": _Said.link,
    "meta": _Said.meta,
}
_IMAGES: dict[str, Teller] = dict.fromkeys(("img", "input", "source", "video"), _Said.picture)
_SCRIPTS: dict[str, Teller] = {"script": _Said.script}


@cache
def _told(images: bool, scripts: bool) -> dict[int, Teller]:
    """Who is told of an element, by lexbor's number for it."""
    table = _ALWAYS | (_IMAGES if images else {}) | (_SCRIPTS if scripts else {})
    return {tag_id(name): teller for name, teller in table.items()}


# Where a link stands that is not in the main text. In no area at all it is in a list of links, or beside a <main>.
_POSITIONS = {OPEN: "navigation", MAIN: "navigation", NAVIGATION: "navigation", FOOTER: "footer", SILENT: ""}


def _placed(reading: Reading, chosen: frozenset[int]) -> Iterator[tuple[str, str, str, str]]:
    """Links with their positions."""
    areas = [*reading.areas, SILENT]  # a picture behind the last block counts to the one after it
    for href, anchor, rel, area, block in reading.links:
        if areas[block] != area:
            block -= 1  # noqa: PLW2901 - a picture behind the last block of its area
        is_main = area < FOOTER and (not chosen or (block in chosen and areas[block] == area))
        yield href, anchor, rel, "main" if is_main else _POSITIONS[area]


def _has_odd_spaces(text: str) -> bool:
    """Whether folding would change anything; it takes longer than parsing, and many pages need none."""
    if "\n" in text or "\t" in text or "\r" in text or "\xa0" in text or "\u3000" in text or LINE_END in text:
        return True
    return text.rfind("  ") >= 0  # `in` is right too, and takes three times as long
