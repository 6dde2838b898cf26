"""The key that web archives sort URLs by: `com,example)/path?query`.

The host stands first and backwards, so that one site's pages lie together. Sort-friendly URI reordering transform is
its full name; what it folds together beyond that is the Internet Archive's custom, which pywb and Common Crawl follow
too, and a replay finds a page only where both sides fold alike:

    no scheme, no default port, no `www.` or `www2.`; small letters throughout; no empty or dot path parts, no slash
    at the end; escapes undone until none is left, then only what must be escaped; parameters sorted; well-known
    session ids dropped.

A key therefore stands for several URLs. tests/export compares it with the `surt` package over many thousand URLs.
"""

from __future__ import annotations

import re
from urllib.parse import quote_from_bytes, unquote_to_bytes

from gossamer.records import Url

DEFAULT_PORTS = {"http": "80", "https": "443"}
SAFE = "!\"$&'()*+,-./:;<=>?@[\\]^_`{|}~"  # everything that can be seen, but # and %
WWW = re.compile(r"www\d*\.")
# Each is cut out of a query together with the & behind it.
SESSION_PARAMETERS = [
    re.compile(pattern)
    for pattern in (
        r"(.*)jsessionid=[0-9a-z]{32}(?:&(.*))?",
        r"(.*)phpsessid=[0-9a-z]{32}(?:&(.*))?",
        r"(.*)sid=[0-9a-z]{32}(?:&(.*))?",
        r"(.*)aspsessionid[a-z]{8}=[a-z]{24}(?:&(.*))?",
        r"(.*)cfid=[^&]+&cftoken=[^&]+(?:&(.*))?",
    )
]
SESSION_FOLDERS = re.compile(r"(.*/)\((?:(?:[a-z]\([0-9a-z]{24}\))+|[0-9a-z]{24})\)/([^?]+\.aspx.*)")


def surt_key(url: Url) -> str:
    scheme, _, rest = url.partition("://")
    authority, _, tail = rest.partition("/")
    path, mark, query = tail.partition("?")
    key = f"{host_key(scheme, authority)}){path_key('/' + path)}"
    # Sorted by name and then by value, which is not the order of the texts: `a=1` comes before `a-b=1`.
    parts = sorted(part.partition("=") for part in without_session(folded(query)).split("&")) if mark else []
    query = "&".join(map("".join, parts))
    return f"{key}?{query}" if query else key


def host_key(scheme: str, authority: str) -> str:
    host, port = authority, ""
    if not authority.endswith("]") and ":" in authority:
        host, _, port = authority.rpartition(":")
    if host.startswith("["):
        backwards = host.strip("[]")
    else:
        backwards = ",".join(reversed(WWW.sub("", host.strip("."), count=1).split(".")))
    return f"{backwards}:{port}" if port and port != DEFAULT_PORTS.get(scheme) else backwards


def path_key(path: str) -> str:
    parts: list[str] = []
    for part in unescaped(path).decode("latin-1")[1:].split("/"):
        if part == ".." and parts:
            parts.pop()
        elif part != ".":
            parts.append(part)  # an empty one as well: `..` takes it back first
    text = folded_bytes(("/" + "/".join(filter(None, parts))).encode("latin-1"))
    session = SESSION_FOLDERS.fullmatch(text)
    return session[1] + session[2] if session else text


def without_session(query: str) -> str:
    for pattern in SESSION_PARAMETERS:
        if found := pattern.fullmatch(query):
            query = found[1] + (found[2] or "")
    return query


def folded(text: str) -> str:
    return folded_bytes(unescaped(text))


def folded_bytes(text: bytes) -> str:
    return quote_from_bytes(text, safe=SAFE).lower()


def unescaped(text: str) -> bytes:
    last, now = b"", text.encode()
    while b"%" in now and now != last:
        last, now = now, unquote_to_bytes(now)
    return now
