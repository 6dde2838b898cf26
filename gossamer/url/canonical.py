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
Cost: about 3 µs a link, nearly all of it parsing; the rules run only on URLs with one of `@ # ? % ;` in them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from ada_url import join_url

from gossamer.records import Url
from gossamer.url.parameters import SESSION_IN_PATH, is_noise

URL_CHARS_MAX = 8192  # RFC 9110, 4.1 asks servers for 8000; the filters refuse much earlier, with a reason
INPUT_CHARS_MAX = 65536  # an image or a whole page in an href is not worth parsing
NOWHERE = "about:blank"  # a base against which no relative reference leads to http

_HAS_WORK = re.compile(r"[@#?%;]")

# An escape, unless it follows `%` or `%` and one digit: decoding `%%34%31` to `%41` would make up an escape
# that was never there, and a second pass would turn it into `A`.
_ESCAPE = re.compile(r"(?<!%)(?<!%[0-9A-Fa-f])%([0-9A-Fa-f]{2})|%[0-9A-Fa-f]{2}")
_UNRESERVED = {f"%{ord(c):02X}": c for c in "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"}


_crawled: tuple[str, ...] = ("http://", "https://")


def crawl_schemes(schemes: Iterable[str]) -> None:
    """Which schemes this process crawls (`fetch.schemes`); URLs of all others are not crawlable."""
    global _crawled  # noqa: PLW0603 - one process, one configuration, and every link on every page asks
    _crawled = tuple(f"{scheme}://" for scheme in schemes)


def canonicalize(url: str, base: str | None = None) -> Url | None:
    """The canonical form of a URL, or of a reference seen on the page `base`; None: cannot be crawled."""
    if len(url) > INPUT_CHARS_MAX:
        return None
    try:
        href = join_url(base or NOWHERE, url)
    except ValueError:
        return None
    if not href.startswith(_crawled):
        return None
    if _HAS_WORK.search(href) is not None:
        href = _apply_rules(href)
    return href if len(href) <= URL_CHARS_MAX else None


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
        rest = SESSION_IN_PATH.sub("", rest)
    if "?" in rest:
        path, _, query = rest.partition("?")
        query = _normal_query(query)
        rest = f"{path}?{query}" if query else path
    return origin + rest


def _normal_escape(escape: re.Match[str]) -> str:
    text = escape[0].upper()
    return text if escape[1] is None else _UNRESERVED.get(text, text)


def _normal_query(query: str) -> str:
    kept = [parameter for parameter in query.split("&") if parameter and not is_noise(parameter)]
    if len(kept) > 1:
        kept.sort(key=_name)  # stable: parameters of one name keep their order
    return "&".join(kept)


def _name(parameter: str) -> str:
    return parameter.partition("=")[0]
