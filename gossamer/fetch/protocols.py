"""Protocols: a table from a URL's scheme to what fetches it.

A new one is one file and one line here, or a package of the user's own with an entry point in its metadata:

    [project.entry-points."gossamer.protocols"]
    gopher = "my_package:Gopher"

It is called with the `Transfers` and the user agent and has to be an `interfaces.SchemeFetcher`. Which schemes are
crawled is a setting (`fetch.schemes`); `http` and `https` unless told otherwise.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from functools import cache
from importlib.metadata import EntryPoint, entry_points

from gossamer.config import ConfigError
from gossamer.fetch.ftp import Ftp
from gossamer.fetch.http import Http
from gossamer.fetch.transfer import Transfers
from gossamer.interfaces import SchemeFetcher

Make = Callable[[Transfers, str], SchemeFetcher]

BUILT_IN: dict[str, Make] = {
    "http": Http,
    "https": Http,
    "ftp": lambda transfers, _: Ftp(transfers),
}


def protocols(schemes: Iterable[str], transfers: Transfers, user_agent: str) -> dict[str, SchemeFetcher]:
    return {scheme: make(transfers, user_agent) for scheme, make in makers(schemes).items()}


@cache
def _installed(path: tuple[str, ...]) -> dict[str, EntryPoint]:
    """By scheme. `path`: where packages are. Kept, since the files of all of them are read: 10 ms and more."""
    return {point.name: point for point in entry_points(group="gossamer.protocols")}


def makers(schemes: Iterable[str]) -> dict[str, Make]:
    """What makes the scheme fetchers; those of installed packages go before our own."""
    installed = _installed(tuple(sys.path))
    found: dict[str, Make] = {}
    for scheme in schemes:
        if scheme in installed:
            found[scheme] = installed[scheme].load()
        elif scheme in BUILT_IN:
            found[scheme] = BUILT_IN[scheme]
        else:
            known = ", ".join(sorted({*BUILT_IN, *installed}))
            raise ConfigError(f"fetch.schemes: nothing here fetches {scheme}; it knows {known}")
    return found
