"""A URL cut into the columns that Common Crawl's index has for it, from `url_surtkey` to `url_query`.

Two readings of the public suffix list stand side by side there: the registries' suffixes alone (`registered_domain`),
and those of companies that hand out names as well (`private_domain`, which is our site). An address has none of these
parts. Pages of a host come one after another, so its part of the work is remembered.
"""

from __future__ import annotations

from functools import cache, lru_cache
from typing import NamedTuple

from publicsuffixlist import PublicSuffixList

from gossamer.export.surt import surt_key
from gossamer.records import Url
from gossamer.url.site import host_of, is_address


class HostColumns(NamedTuple):
    """Named as in Common Crawl's index, with `url_host_` in front."""

    name: str
    tld: str | None = None
    second_last_part: str | None = None
    third_last_part: str | None = None
    fourth_last_part: str | None = None
    fifth_last_part: str | None = None
    registry_suffix: str | None = None
    registered_domain: str | None = None
    private_suffix: str | None = None
    private_domain: str | None = None
    name_reversed: str | None = None


UrlColumns = tuple[str | int | None, ...]


def url_columns(url: Url) -> UrlColumns:
    """In the order of rows.PAGES: url_surtkey, url, the host's, url_protocol, url_port, url_path, url_query."""
    scheme, _, rest = url.partition("://")
    authority, _, tail = rest.partition("/")
    path, mark, query = tail.partition("?")
    _, colon, port = authority.rpartition(":")
    has_port = bool(colon) and not authority.endswith("]")
    return (
        surt_key(url),
        url,
        *host_columns(host_of(url)),
        scheme,
        int(port) if has_port else None,
        f"/{path}",
        query if mark else None,
    )


@lru_cache(4096)
def host_columns(host: str) -> HostColumns:
    if is_address(host):
        return HostColumns(host)
    name = host.removesuffix(".")
    parts = name.split(".")[::-1]
    tld, second, third, fourth, fifth = [*parts, None, None, None, None][:5]
    registries, all_suffixes = _suffixes(only_icann=True), _suffixes(only_icann=False)
    return HostColumns(
        host,
        tld,
        second,
        third,
        fourth,
        fifth,
        registries.publicsuffix(name),
        registries.privatesuffix(name),
        all_suffixes.publicsuffix(name),
        all_suffixes.privatesuffix(name),
        ".".join(parts),
    )


@cache
def _suffixes(*, only_icann: bool) -> PublicSuffixList:
    return PublicSuffixList(accept_unknown=True, only_icann=only_icann)
