"""One text for one page: the canonical form of a URL, and the question whether it can be crawled at all.

Everything that enters the crawl passes here once, so equal text means equal URL everywhere else: in the seen
set, in the queues, in the archive. The standard does most of it (WHATWG URL by ada: scheme and host in lower
case, host in ASCII form, no default port, dot segments resolved, unsafe characters escaped). On top of that:

- user information and fragment are dropped; neither changes what a server sends to a crawler;
- escapes of unreserved characters are decoded (RFC 3986, 6.2.2.2), those of all others are in upper case;
- query parameters are sorted by name. Those of one name keep their order and their number, because forms and
  arrays depend on it. `a` and `a=` stay apart, `+` stays `+`, empty parameters and an empty query vanish;
- tracking and session parameters are dropped (`gossamer.url.parameters`).

Kept on purpose, because servers do tell them apart: the case of the path, a slash at its end or doubled
inside it, `index.html`, `www.`, http against https, a dot after the host.

Invariant: canonicalize(canonicalize(x)) == canonicalize(x) for any text x (tests/property/test_canonical.py).
Cost: parsing takes 2.8 µs, nearly all of it in crossing over to C and back. Most references are so plain that they
need no parser: 1.4 µs in all (docs/urls.md). A test compares the two ways.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import lru_cache
from hashlib import sha256

from ada_url import join_url

from gossamer.records import Url
from gossamer.settings import Tree
from gossamer.url.parameters import Parameters

URL_CHARS_MAX = 8192  # RFC 9110, 4.1 asks servers for 8000; the filters refuse much earlier, with a reason
INPUT_CHARS_MAX = 65536  # an image or a whole page in an href is not worth parsing
NOWHERE = "about:blank"  # a base against which no relative reference leads to http

# An escape, unless it follows `%` or `%` and one digit: decoding `%%34%31` to `%41` would make up an escape
# that was never there, and a second pass would turn it into `A`.
_ESCAPE = re.compile(r"(?<!%)(?<!%[0-9A-Fa-f])%([0-9A-Fa-f]{2})|%[0-9A-Fa-f]{2}")
_UNRESERVED = {f"%{ord(c):02X}": c for c in "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"}

# A reference that means what it says, letter by letter: a name of letters as host, no port; parts of a path that are
# neither empty nor `.` or `..` in any spelling; a query without anything that would be escaped.
_PART = r"(?:[A-Za-z0-9_~-]|%(?!2[Ee]))[A-Za-z0-9_~.,%-]*+"
_PLAIN_PATH = re.compile(rf"/?(?:{_PART}/)*+(?:{_PART})?(?:\?[A-Za-z0-9_~.,%&=+;:/-]*+)?")
_PLAIN_ORIGIN = re.compile(r"https?://(?:(?!xn--)[a-z0-9][a-z0-9-]{0,60}\.){1,3}[a-z]{2,20}(?=/)")


_crawled: tuple[str, ...] = ("http://", "https://")
_parameters = Parameters()
when_choice_changes: list[Callable[[], None]] = []  # called by `choose`: for who does the same elsewhere


def choose(schemes: Iterable[str] = ("http", "https"), dropped: Iterable[str] = (), kept: Iterable[str] = ()) -> None:
    """What this process crawls (`fetch.schemes`; URLs of all others are not crawlable), and which parameters it drops
    and keeps besides those that all do (`crawl.parameters_dropped`, `crawl.parameters_kept`)."""
    global _crawled, _parameters  # noqa: PLW0603 - one process, one configuration, and every link on every page asks
    _crawled = tuple(f"{scheme}://" for scheme in schemes)
    _parameters = Parameters(map(_as_in_a_query, dropped), map(_as_in_a_query, kept))
    _parts_of.cache_clear()
    for hear in when_choice_changes:
        hear()


def choice() -> dict[str, Iterable[str]]:
    """What `choose` has chosen, in lists."""
    return {"schemes": _crawled, **_parameters.lists()}


def is_crawled(url: Url) -> bool:
    """Whether a canonical URL has a scheme that this process crawls; it had one when it was accepted."""
    return url.startswith(_crawled)


def choose_for(tree: Tree) -> None:
    choose(tree.fetch.schemes, tree.crawl.parameters_dropped, tree.crawl.parameters_kept)


def canonicalize(url: str, base: str | None = None) -> Url | None:
    """The canonical form of a URL, or of a reference seen on the page `base`; None: cannot be crawled."""
    href = _joined_if_plain(url[: url.index("#")] if "#" in url else url, base)
    if href is None:
        if len(url) > INPUT_CHARS_MAX:
            return None
        try:
            href = join_url(base or NOWHERE, url)
        except ValueError:
            return None
    if not href.startswith(_crawled):
        return None
    if "?" in href or "%" in href or ";" in href or "#" in href or "@" in href:
        href = _apply_rules(href)
    return href if len(href) <= URL_CHARS_MAX else None


def _joined_if_plain(url: str, base: str | None) -> str | None:
    """What the parser would make of a plain reference; None: not plain."""
    page, origin, folder = _parts_of(base) if base else ("", "", "")
    if base and not page:
        return None
    if url[:4] != "http":
        if not page or not url:
            return page or None
        is_absolute = url[0] == "/"
        while url[:3] == "../":
            url, folder = url[3:], _above(folder, origin)
        if url[:1] == "?" or (url[:1] == "/" and not is_absolute) or _PLAIN_PATH.fullmatch(url) is None:
            return None
        return origin + url if is_absolute else folder + url
    if base and url.startswith(origin):
        path_at = len(origin)
    elif (found := _PLAIN_ORIGIN.match(url)) is not None:
        path_at = found.end()
    else:
        return None
    # After an origin a path has to start: http://a.test-b.test/ only begins like http://a.test.
    return url if url.startswith("/", path_at) and _PLAIN_PATH.fullmatch(url, path_at) is not None else None


@lru_cache(64)  # links come page by page
def _parts_of(base: str) -> tuple[str, str, str]:
    """A page, its origin and its folder: `http://a.test/b/c`, `http://a.test` and `http://a.test/b/`; empty where a
    page is none that is crawled."""
    page = canonicalize(base)
    if page is None:
        return "", "", ""
    path_at = page.index("/", page.index("//") + 2)
    return page, page[:path_at], page.partition("?")[0].rpartition("/")[0] + "/"


def _above(folder: str, origin: str) -> str:
    """The folder that a folder lies in; above the topmost there is none."""
    return folder[: folder.rindex("/", 0, -1) + 1] if len(folder) > len(origin) + 1 else folder


def _as_in_a_query(name: str) -> str:
    """The name of a parameter as people write it, as it is found in a canonical query."""
    query = join_url("http://a.test/", f"?{name}").partition("?")[2]
    return _ESCAPE.sub(_normal_escape, query).lower()


def _apply_rules(href: str) -> str:
    # As ada writes it, the first `#` starts the fragment, the first `?` the query, and a path has its `/`.
    href = href.partition("#")[0]
    path_at = href.index("/", href.index("//") + 2)
    origin, rest = href[:path_at], href[path_at:]
    if "@" in origin:
        scheme, _, authority = origin.partition("//")
        origin = f"{scheme}//{authority.rpartition('@')[2]}"
    if "%" in rest:
        rest = _ESCAPE.sub(_normal_escape, rest)
    if ";" in rest:
        rest = _parameters.session_in_path.sub("", rest)
    if "?" in rest:
        path, _, query = rest.partition("?")
        query = normal_query(query)
        rest = f"{path}?{query}" if query else path
    return origin + rest


def _normal_escape(escape: re.Match[str]) -> str:
    text = escape[0].upper()
    return text if escape[1] is None else _UNRESERVED.get(text, text)


def normal_query(query: str) -> str:
    """A query whose escapes are as they should be: without noise, and sorted."""
    is_noise = _parameters.is_noise
    kept = [parameter for parameter in query.split("&") if parameter and not is_noise(parameter)]
    if len(kept) > 1:
        kept.sort(key=_name)  # stable: parameters of one name keep their order
    return "&".join(kept)


def _name(parameter: str) -> str:
    return parameter.partition("=")[0]


def digest_of(url: str) -> str:
    """SHA-256: what databases of others know a page by (`url_hash`)."""
    return sha256(url.encode()).hexdigest()
