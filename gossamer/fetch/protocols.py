"""Protocols are modules: a table from a URL's scheme to what fetches it.

A new one is one file and one line here, or a package of the user's own with an entry point in its metadata:

    [project.entry-points."gossamer.protocols"]
    gopher = "my_package:Gopher"

It is called with the `Transfers` and the user agent and has to be an `interfaces.Module`. Which schemes are crawled
is a setting (`fetch.schemes`); `http` and `https` unless told otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from importlib.metadata import entry_points

from gossamer.fetch.ftp import Ftp
from gossamer.fetch.http import Http
from gossamer.fetch.transfer import Transfers
from gossamer.interfaces import Module

Make = Callable[[Transfers, str], Module]

BUILT_IN: dict[str, Make] = {
    "http": Http,
    "https": Http,
    "ftp": lambda transfers, _: Ftp(transfers),
}


class UnknownScheme(Exception):
    """The text is for the person who wrote the setting."""


def protocols(schemes: Iterable[str], transfers: Transfers, user_agent: str) -> dict[str, Module]:
    """The modules for these schemes; those of installed packages go before our own."""
    installed = {point.name: point for point in entry_points(group="gossamer.protocols")}
    table: dict[str, Module] = {}
    for scheme in schemes:
        make = installed[scheme].load() if scheme in installed else BUILT_IN.get(scheme)
        if make is None:
            known = ", ".join(sorted({*BUILT_IN, *installed}))
            raise UnknownScheme(f"fetch.schemes: nothing here fetches {scheme}. Known are: {known}")
        table[scheme] = make(transfers, user_agent)
    return table
