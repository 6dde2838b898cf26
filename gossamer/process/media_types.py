"""Media types are modules: a table from a type to what reads it.

A new one is one file and one line here, or the user's own:

    @gossamer.processes("text/x-recipe")
    def recipe(body: bytes, url: str, content_type: str | None) -> Page: ...

A crawl runs in processes of its own, which have to find the function: a package says in its metadata where it is, and
every process of the crawl loads it. Whoever builds a `Processor` in their own program needs no package.

    [project.entry-points."gossamer.processors"]
    recipes = "my_package:recipe"

The user's own go before ours. What they raise costs the page, with a fault that says so, and their links are made
canonical. What ours raise beside the few exceptions by which parsers say that they cannot read on is a bug; it costs
the page, too, with the place of the bug in its fault, and never the worker.
"""

from __future__ import annotations

import re
import sys
import traceback
from collections.abc import Callable, Collection
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from msgspec.structs import replace
from selectolax.lexbor import SelectolaxError

from gossamer.interfaces import Process
from gossamer.process import feed, html, image, pdf, sitemap, text
from gossamer.process.sniffing import HTML, PDF, TEXT, URI_LIST, XHTML, XML
from gossamer.records import Page, Url
from gossamer.settings import ProcessSettings
from gossamer.url.canonical import canonicalize

GROUP = "gossamer.processors"
FAULT_CHARS_MAX = 500  # of a message that may hold half the page


class Reader(NamedTuple):
    process: Process
    is_risky: bool = False  # always read in the sandbox (`sandbox.py`), whatever its size
    head_bytes: int | None = None  # all that it looks at
    is_own: bool = False  # of the user
    swiftness: int = 1  # how many times `process.aside_bytes` it reads in the time that others take for that

    @property
    def can_be_sandboxed(self) -> bool:
        """Another process can find it: its module can be imported there, and defines it at once."""
        name = getattr(self.process, "__qualname__", "<locals>")
        return not self.is_own or (self.process.__module__ != "__main__" and "<locals>" not in name)


# Pages of 300 to 480 KB, sizes as on the web: 23 µs a KB natively, 85 in Python; the worst of 25 kinds of hostile
# pages takes 250 ms for a MiB, and 170 ms for a quarter of that in Python.
NATIVE_SWIFTNESS = 4

PICTURE = Reader(image.process, head_bytes=image.HEAD_BYTES)

TYPES: dict[str, Reader] = {
    HTML: Reader(html.process),
    XHTML: Reader(html.process),
    XML: Reader(sitemap.process),
    "text/xml": Reader(sitemap.process),
    URI_LIST: Reader(sitemap.process),
    "application/rss+xml": Reader(feed.process),
    "application/atom+xml": Reader(feed.process),
    "application/rdf+xml": Reader(feed.process),
    TEXT: Reader(text.process),
    PDF: Reader(pdf.process, is_risky=True),
    "image/png": PICTURE,
    "image/gif": PICTURE,
    "image/jpeg": PICTURE,
    "image/webp": PICTURE,
    "image/bmp": PICTURE,
    "image/svg+xml": PICTURE,
}

OWN: dict[str, Reader] = {}  # filled by `processes`

# What parsers raise for a body that they cannot read; any other exception of ours is a bug.
UNREADABLE = (SelectolaxError, UnicodeError)

_MEDIA_TYPE = re.compile(r"[a-z0-9][a-z0-9.+-]*/[a-z0-9][a-z0-9.+-]*")
P = TypeVar("P", bound=Process)


def processes(*media_types: str, sandbox: bool = False) -> Callable[[P], P]:
    """A decorator: this function reads these media types. `sandbox`: always in a process of its own, under limits."""

    def register(process: P) -> P:
        reader = Reader(process, is_risky=sandbox, is_own=True)
        if sandbox and not reader.can_be_sandboxed:
            raise ValueError(
                f"{_name(process)} cannot be read in the sandbox: it has to be in a module that can be imported"
            )
        for media_type in media_types:
            if _MEDIA_TYPE.fullmatch(media_type) is None:
                raise ValueError(f"{media_type!r} is not a media type such as text/html, in small letters")
            known = OWN.setdefault(media_type, reader)
            if _name(known.process) != _name(process):
                raise ValueError(f"two processors for {media_type}: {_name(known.process)} and {_name(process)}")
            OWN[media_type] = reader
        return process

    return register


@cache
def _installed(path: tuple[str, ...]) -> Collection[Any]:
    """Entry points. `path`: where packages are. Kept, since the files of all of them are read: 10 ms and more."""
    from importlib.metadata import entry_points  # noqa: PLC0415 - 20 ms of the start of the sandbox

    return entry_points(group=GROUP)


def load_own() -> None:
    """Load the processors of installed packages, so that they are in `OWN`. Raises `ConfigError`."""
    from gossamer.config import ConfigError  # noqa: PLC0415 - 50 ms

    for point in _installed(tuple(sys.path)):
        of_package = f" of {point.dist.name}" if point.dist else ""
        try:
            loaded = point.load()
        except Exception as fault:  # whatever a stranger's module raises when it is imported
            raise ConfigError(
                f"{GROUP}: {point.name} = {point.value}{of_package} cannot be loaded: {type(fault).__name__}: {fault}"
            ) from fault
        if callable(loaded) and all(reader.process is not loaded for reader in OWN.values()):
            raise ConfigError(
                f"{GROUP}: {point.name} = {point.value}{of_package} says of no media type that it reads it: "
                'it needs @gossamer.processes("...")'
            )


class Readers:
    """The whole table as a crawl wants it: ours with its choices made, the user's own before them."""

    def __init__(
        self,
        agent: str,
        process: ProcessSettings,
        read_html: Callable[..., Page] = html.process,
        *,
        as_markdown: bool = False,
    ) -> None:
        """`read_html`: html.process, or the native reader, which does the same. `as_markdown`: the main text is."""
        self._as_markdown: Callable[[Page], Page] | None = None  # of pages that are no HTML
        if as_markdown:
            from gossamer.process.markdown import document  # noqa: PLC0415 - 20 ms that no crawl needs

            read_html, self._as_markdown = document.process, document.text_as_markdown
        chosen = partial(read_html, agent=agent, links_from=process.links_from)
        swiftness = 1 if as_markdown or read_html is html.process else NATIVE_SWIFTNESS
        self._readers = {
            name: reader._replace(process=chosen, swiftness=swiftness) if reader.process is html.process else reader
            for name, reader in TYPES.items()
        } | OWN

    def get(self, media_type: str) -> Reader | None:
        return self._readers.get(media_type)

    def read(self, media_type: str, body: bytes, url: Url, content_type: str | None) -> Page:
        """In this process, whatever comes of it."""
        reader = self._readers[media_type]
        try:
            page = reader.process(body, url, content_type)
            if reader.is_own:
                page = _checked(page, url)
            if self._as_markdown is not None and (reader.is_own or media_type not in (HTML, XHTML)):
                page = self._as_markdown(page)
        except UNREADABLE as fault:
            return Page(url, media_type=media_type, fault=f"it cannot be read: {fault}")
        except MemoryError:
            raise  # nobody knows what is left of this process
        except (Exception, SystemExit) as fault:
            if reader.is_own:
                return Page(url, media_type=media_type, fault=f"{_name(reader.process)} failed: {described(fault)}")
            return Page(url, media_type=media_type, fault=bug(fault))
        return page if page.media_type == media_type else replace(page, media_type=media_type)


def bug(fault: BaseException) -> str:
    """A bug of ours, for the record of its page: what, and where."""
    frame = traceback.extract_tb(fault.__traceback__)[-1]
    return f"a bug in {Path(frame.filename).name}, line {frame.lineno}: {described(fault)}"[:FAULT_CHARS_MAX]


def described(fault: BaseException) -> str:
    return f"{type(fault).__name__}: {fault}" if str(fault) else type(fault).__name__


def _checked(page: object, url: Url) -> Page:
    """What a user's processor gave, as everybody else may rely on it: the right URL, and links that are canonical."""
    if not isinstance(page, Page):
        raise TypeError(f"it gave {type(page).__name__} and not a Page")
    links = [replace(link, url=found) for link in page.links if (found := canonicalize(link.url, url))]
    return replace(page.plain(), url=url, links=links)


def _name(process: Process) -> str:
    return f"{process.__module__}.{getattr(process, '__qualname__', type(process).__qualname__)}"
