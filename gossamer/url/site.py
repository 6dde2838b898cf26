"""Whose URL is it: the host, the origin, and the site that owns them; and the folders that it lies in.

A *host* is a name or an address without port and without the brackets of IPv6: what a resolver is asked for.
An *origin* is scheme, host and port, with brackets: what has one robots.txt. A *site* is the registrable domain by
the public suffix list, private suffixes included, so that a.github.io and b.github.io are two sites just as
a.co.uk and b.co.uk are. An address is its own site, and so is a bare suffix or a single label such as `localhost`.

Partitions are cut by site, so the answers here must not change within a crawl. The list comes bundled with a library
that is updated, so a crawl keeps the list that it began with, and whoever opens the crawl goes by that (`go_by`).
All functions take canonical URLs (`gossamer.url.canonical`); `host_of` and `origin_of` also take an origin.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Callable
from functools import cache, lru_cache
from hashlib import sha256
from pathlib import Path

import publicsuffixlist
from publicsuffixlist import PublicSuffixList

from gossamer.records import Url

# Hosts being crawled now, with room. An entry takes about 200 bytes; a look-up in the list takes 5 µs.
SITES_REMEMBERED = 16_384
FOLDERS_MAX = 32  # from the top; what is deeper looks like a trap long before


def host_of(url: Url) -> str:
    authority = url.split("/", 3)[2]
    if ":" not in authority:  # as most are
        return authority
    if authority[0] == "[":
        return authority[1 : authority.index("]")]
    return authority.partition(":")[0]


def clock_name(host: str) -> str:
    """The name that politeness knows a host by: a dot at the end names the same machine."""
    return host.removesuffix(".") or host


def origin_of(url: Url) -> str:
    scheme, _, rest = url.partition("//")
    return f"{scheme}//{rest.partition('/')[0]}"


def ascending(url: Url) -> list[Url]:
    """The folders that a URL lies in, the nearest first: /a/b/c.html lies in /a/b/, /a/ and /."""
    path = url.partition("?")[0]
    folders: list[Url] = []
    end = path.index("/", path.index("//") + 2)
    # A folder does not lie in itself, though its views do: /a/?page=2.
    while 0 <= end < len(url) - 1 and len(folders) < FOLDERS_MAX:
        folders.append(path[: end + 1])
        end = path.find("/", end + 1)
    return folders[::-1]


@lru_cache(SITES_REMEMBERED)
def site_of(host: str) -> str:
    if is_address(host):
        return host
    # A dot at the end is legal and names the same machine, so it must not lead to another partition.
    name = host.removesuffix(".")
    return _suffixes().privatesuffix(name) or name or host


def is_address(host: str) -> bool:
    if ":" not in host and not host[-1:].isdigit():
        return False  # no name ends in a digit-only label (WHATWG URL, "ends in a number"), and every IPv4 does
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


@cache
def installed_list() -> bytes:
    """The public suffix list that came with the library."""
    return Path(publicsuffixlist.PSLFILE).read_bytes()


@cache
def installed_digest() -> str:
    return sha256(installed_list()).hexdigest()


_list: Path | None = None  # None: the one that came with the library
when_list_changes: list[Callable[[], None]] = []  # called by `go_by`: for what others remember of sites


def go_by(file: Path | None) -> None:
    """From now on this process cuts sites by the list in this file; None: by the installed one."""
    global _list  # noqa: PLW0603 - one process, one crawl, and every link on every page asks
    if file != _list:
        _list = file
        for forget in (_suffixes.cache_clear, site_of.cache_clear, *when_list_changes):
            forget()


@cache
def _suffixes() -> PublicSuffixList:
    # Reading the list takes 40 ms, so not at import. Unknown suffixes count as suffixes, as the list demands.
    rules = (_list.read_bytes() if _list is not None else installed_list()).decode()
    return PublicSuffixList(rules.splitlines(), accept_unknown=True, only_icann=False)
