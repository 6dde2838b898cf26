"""The native reader of pages, where it was built: one call for a page, with the results of html.py to the byte.

It is a small library in Rust (native/ in the repository), called by ctypes with plain C. It uses the lexbor that
selectolax carries and the ada of ada-url, so that tree and URLs are those of the Python code; their functions, and
all tables of words, are handed over here. Python remains the reference and the fallback: it reads what the library
refuses (a page that must be cut, queries in an encoding of their own), and everything where there is no library,
where it does not fit, or where `GOSSAMER_NATIVE=off`. Before it is used, it has to read a page as the reference does.

Text is made into strings only when somebody asks for it, and a long one comes only then: most crawls never do. So
are links: the frontier wants the URLs of those to the page's own origin, and little else (outlinks.py).
"""

from __future__ import annotations

import ctypes
from collections.abc import Collection, Iterable, Iterator
from functools import cache, partial
from hashlib import sha256
from pathlib import Path
from types import MemberDescriptorType
from typing import Any

import ada_url._ada_wrapper
import msgspec
import numpy as np
import selectolax.lexbor
from msgspec.structs import force_setattr

from gossamer.process import html
from gossamer.process.fingerprints.shingles import LETTERS
from gossamer.process.markup import context, language, main_text, reading
from gossamer.process.markup.nesting import harmless, with_growing_references_spelled_out
from gossamer.process.text import as_utf8, declared
from gossamer.process.which_reader import FILE, why_python
from gossamer.records import Link, LinksApart, Page, Url
from gossamer.url import canonical, site

_IMAGES, _SCRIPTS, _UTF8, _HARMLESS, _GUESS, _TEXTS = 1, 2, 4, 8, 16, 32
_MUST_BE_CUT, _IS_NOT_UTF8 = 1, 4  # refusals after which the library is asked again
_WHY_BYTES = 200
_LEXBOR = (
    "lxb_html_document_create lxb_html_document_destroy lxb_html_document_dom_opt_set_noi lxb_html_document_parse "
    "lxb_dom_document_root lxb_dom_attr_qualified_name"
)
_ADA = "ada_parse_with_base ada_is_valid ada_get_href ada_free"
# In the order of `Name` in native/src/tables.rs, from 1 on.
_ATTRIBUTES = (
    "href rel class id role hidden aria-hidden style lang xml:lang name property content http-equiv type hreflang "
    "title alt src"
)
_TAGS = (
    "a area article base br frame h1 header html iframe img input link meta pre script source svg td th title video"
)
_CHARACTERS = 0x40000  # behind them are no letters
_GAPS = {"\n\n": 1, "\n": 2, "\t": 3}
_SITE_OF = ctypes.CFUNCTYPE(
    ctypes.c_size_t, ctypes.POINTER(ctypes.c_char), ctypes.c_size_t, ctypes.POINTER(ctypes.c_char), ctypes.c_size_t
)

PROBE_URL = "http://www.a.test/folder/page.html"
PROBE = """<!doctype html><html lang=en-GB><head><title>A  page &amp; more</title><base href="/b/"><meta name=robots
content="noarchive"><meta name=description content="What it says"><link rel=canonical href="?b=1&a=2&utm_source=x">
<body><nav class="site-nav"><ul><li><a href="/">Home</a><li><a href="one">One</a><li><a href=two>Two</a></ul></nav>
<main id=content><h1>The title&nbsp;of it</h1><p>There is enough of text in here to know that it is <b>En</b>glish,
with a <a href="https://other.test/x%7Ey?q=1#top" rel="NoFollow ugc">link</a> and 12:34 o'clock.<br>A line</p>
<table><tr><td>one<td>two<tr><td><td>four</table><pre> code
  of two lines</pre></main><footer aria-hidden=true>Über uns <a href="//B.test"><img alt="a picture"></a></footer>"""

# Of what the reference makes of it. To ask the reference itself would load all of its tables, in every process.
PROBE_DIGEST = "ba770a86fc5505af24c22f2658f9f8601e5a4af8c743d1df657c28260b930c36"

_TEXT: MemberDescriptorType = Page.__dict__["text"]
_MAIN_TEXT: MemberDescriptorType = Page.__dict__["main_text"]
_LINKS: MemberDescriptorType = Page.__dict__["links"]
_decode_links = msgspec.msgpack.Decoder(list[Link]).decode


class ReadPage(Page, frozen=True):
    """A page whose text is made when it is first asked for; a long one by reading its body once more."""

    text_utf8: bytes = b""
    main_text_utf8: bytes = b""
    written_links: bytes = b""  # type: ignore[misc]
    packed_links: msgspec.Raw = msgspec.Raw(b"\x90")
    link_count: int = 0
    own_urls: list[Url] = msgspec.field(default_factory=list)
    own_rels: list[str] = msgspec.field(default_factory=list)
    own_contexts: list[float] = msgspec.field(default_factory=list)
    other_links: list[Link] = msgspec.field(default_factory=list)
    has_texts: bool = True
    has_scripts: bool = True  # type: ignore[misc]
    again: Any = None  # reads the page with its texts

    @property  # type: ignore[misc]
    def text(self) -> str:
        return self._string(_TEXT, "text_utf8")

    @property  # type: ignore[misc]
    def links(self) -> list[Link]:
        links: list[Link] = _LINKS.__get__(self)
        if not links and self.link_count:
            links = _decode_links(self.packed_links)
            _LINKS.__set__(self, links)
        return links

    @property
    def links_apart(self) -> LinksApart:  # type: ignore[override]
        return LinksApart(self.own_urls, self.own_rels, self.own_contexts, self.other_links)

    @property  # type: ignore[misc]
    def main_text(self) -> str:
        return self._string(_MAIN_TEXT, "main_text_utf8")

    @property
    def text_bytes(self) -> int:
        return len(self.text_utf8) + len(self.main_text_utf8)

    def _string(self, slot: MemberDescriptorType, utf8: str) -> str:
        if not self.has_texts:
            page = self.again()  # it may be the reference that reads it now
            _TEXT.__set__(self, page.text)
            _MAIN_TEXT.__set__(self, page.main_text)
            force_setattr(self, "has_texts", True)
            force_setattr(self, "again", None)
        text: str = slot.__get__(self)
        if not text and (written := getattr(self, utf8)):
            text = written.decode()
            slot.__set__(self, text)
        return text


class Reader:
    """The library, ready to read; `OSError`, `AttributeError` or `ValueError` where it cannot be used."""

    def __init__(self, file: Path) -> None:
        self._library = ctypes.CDLL(str(file))
        self._site_of = _SITE_OF(_write_site)  # it has to live as long as the library is used
        self._read = self._library.gossamer_read
        self._read.restype = ctypes.c_void_p
        text, size = ctypes.c_char_p, ctypes.c_size_t
        self._read.argtypes = (text, size, text, size, text, size, ctypes.c_uint32, ctypes.POINTER(size))
        self._decode = msgspec.msgpack.Decoder(ReadPage).decode
        self._hand_over()
        self.choose()
        canonical.when_choice_changes.append(self.choose)
        site.when_list_changes.append(self.choose)

    def read(
        self,
        body: bytes,
        url: Url,
        content_type: str | None = None,
        *,
        agent: str = html.AGENT,
        links_from: Collection[str] = (),
        texts: bool = False,
    ) -> Page:
        """As `html.process`. `texts`: long ones as well, at once."""
        flags = (_IMAGES if "images" in links_from else 0) | (_SCRIPTS if "scripts" in links_from else 0)
        flags |= _TEXTS if texts else 0
        markup, codec = declared(body, content_type)
        answer: bytes | int = _IS_NOT_UTF8
        if codec is None or codec == "utf-8":
            answer = self._answer(markup, url, agent, flags | _UTF8 | (_GUESS if codec is None else 0))
        if answer == _IS_NOT_UTF8:
            markup, codec = as_utf8(body, content_type)
            # In UTF-16, too, queries are not escaped in the encoding of the page.
            answer = self._answer(markup, url, agent, flags | (_UTF8 if codec.startswith("utf-") else 0))
        if isinstance(answer, int):
            return html.process(body, url, content_type, agent=agent, links_from=links_from)
        page = self._decode(answer)
        if not page.has_texts:
            again = partial(self.read, body, url, content_type, agent=agent, links_from=links_from, texts=True)
            force_setattr(page, "again", again)
        return page

    def _answer(self, markup: bytes, url: Url, agent: str, flags: int) -> bytes | int:
        """What the library says, or why it refuses."""
        where, name, length = url.encode(), agent.lower().encode(), ctypes.c_size_t()
        asked = (where, len(where), name, len(name))
        answer = self._read(markup, len(markup), *asked, flags, length)
        if answer is None and length.value == _MUST_BE_CUT:
            markup = harmless(with_growing_references_spelled_out(markup))
            answer = self._read(markup, len(markup), *asked, flags | _HARMLESS, length)
        return length.value if answer is None else ctypes.string_at(answer, length.value)

    def choose(self) -> None:
        """What this process crawls may have changed, or the list of public suffixes."""
        text = "\n".join("\t".join((name, *values)) for name, values in canonical.choice().items()).encode()
        self._library.gossamer_choose(text, ctypes.c_size_t(len(text)))

    def _hand_over(self) -> None:
        kept: list[Any] = []  # alive until the library has copied them
        lines = [*self._functions(), *_of_elements(), *_of_words(), *_of_languages(kept)]
        lines.append(("shingle_letters", LETTERS.ctypes.data, len(LETTERS)))
        text = "\n".join("\t".join(map(str, line)) for line in lines).encode()
        why = ctypes.create_string_buffer(_WHY_BYTES)
        wrong = self._library.gossamer_tables(text, ctypes.c_size_t(len(text)), why, ctypes.c_size_t(_WHY_BYTES))
        if wrong:
            raise ValueError(why.raw[:wrong].decode(errors="replace"))

    def _functions(self) -> Iterator[tuple[object, ...]]:
        for module, names in ((selectolax.lexbor, _LEXBOR), (ada_url._ada_wrapper, _ADA)):
            library = ctypes.CDLL(module.__file__)
            for name in names.split():
                yield "function", name, ctypes.cast(getattr(library, name), ctypes.c_void_p).value
        yield "function", "site_of", ctypes.cast(self._site_of, ctypes.c_void_p).value


def _write_site(host: Any, length: int, room: Any, most: int) -> int:
    name = ctypes.string_at(host, length).decode()
    written = site.site_of(name).encode()[:most]
    ctypes.memmove(room, written, len(written))
    return len(written)


def _of_elements() -> Iterator[tuple[object, ...]]:
    yield "block", reading.BLOCK
    for tag, kind in reading.KINDS.items():
        yield "kind", tag, kind
    for tag, gap in reading.GAPS.items():
        yield "gap", tag, _GAPS[gap]
    for name, area in main_text.AREA_OF_ELEMENT.items():
        yield "area", reading.tag_id(name), area
    for name in _TAGS.split():
        yield "tag", name, reading.tag_id(name)
    attributes = _ATTRIBUTES.split()
    for number, name in enumerate(attributes, 1):
        yield "attribute", name, number
    for name in html.ONE_PICTURE - {"src"}:
        yield "attribute", name, len(attributes) + 1
    for name in html.PICTURES:
        yield "attribute", name, len(attributes) + 2


def _of_words() -> Iterator[tuple[object, ...]]:
    sets: dict[str, Iterable[str]] = {
        "navigation_names": main_text.NAVIGATION_NAMES,
        "navigation_words": main_text.NAVIGATION_WORDS,
        "footer_words": main_text.FOOTER_WORDS,
        "not_the_area": main_text.NOT_THE_AREA,
        "followed_rels": html.FOLLOWED_RELS,
        "followed_alternates": html.FOLLOWED_ALTERNATES,
        "generic": context.GENERIC_WORDS,
        "codes": language.CODES,
    }
    for name, members in sets.items():
        yield "set", name, *members
    for role, area in main_text.AREA_OF_ROLE.items():
        yield "role", role, area
    for word, worth in context.RELATIONS.items():
        yield "relation", word, worth
    yield "no_letters", context.NO_LETTERS


def _of_languages(kept: list[Any]) -> Iterator[tuple[object, ...]]:
    for written, meant in language.MEANT.items():
        yield "meant", written, meant
    for start, end, script in language.SCRIPTS:
        yield "script", ord(start), ord(end), script
    for name, letters in language.ARABIC:
        yield "arabic", name, letters.pattern.strip("[]")
    for script, others in language.SAME_SCRIPT.items():
        yield "same_script", script, *others
    # What is a letter is as this version of Python has it: half a surrogate pair is none.
    characters = np.arange(_CHARACTERS, dtype="<u4").tobytes().decode("utf-32-le", "surrogatepass")
    for found in language.WORD.finditer(characters):
        yield "letters", found.start(), len(found[0])
    known = {script for _, _, script in language.SCRIPTS}
    for languages, runs, columns in language.model():
        words = "\n".join(runs).encode()
        buffers = [ctypes.create_string_buffer(each, len(each)) for each in (words, columns)]
        kept += buffers
        places = [part for buffer in buffers for part in (ctypes.addressof(buffer), len(buffer))]
        yield "model", " ".join(languages), *places
        known.update(languages)
    yield "set", "known_languages", *known


@cache
def loaded() -> tuple[Reader | None, str]:
    """The reader, or why there is none."""
    if why := why_python():
        return None, why
    try:
        found = Reader(FILE)
        page = found.read(PROBE.encode(), PROBE_URL)
        same = digest_of(page) == PROBE_DIGEST and has_all_links(page)
    except (OSError, AttributeError, ValueError, msgspec.MsgspecError) as fault:
        return None, f"the native reader cannot be used: {fault}"
    return (found, "") if same else (None, "the native reader does not fit this lexbor or ada, and is not used")


def has_all_links(page: Page) -> bool:
    """A library of an earlier version does not tell them apart, and none of them would be followed."""
    apart = page.links_apart
    return apart is not None and len(apart.urls) + len(apart.others) == page.link_count == len(page.links)


def digest_of(page: Page) -> str:
    """Of all its fields but those that the reference makes elsewhere: the fingerprint, and what a browser showed."""
    others = {"simhash", "words", "sketch", "rendered"}
    fields = [getattr(page, name) for name in Page.__struct_fields__ if name not in others]
    return sha256(msgspec.msgpack.encode(fields)).hexdigest()
