"""Outgoing proxies: how they are written, where their passwords are, and which of them a URL goes through.

A proxy is written as `http://host:port`, `https://`, `socks5://` or `socks5h://`. One with a password stands in a
variable of the environment (`env:NAME`) or in a file (`file:PATH`) as a whole, because settings and policies are
written down in the crawl's folder. `environment` means the variables that all programs know: `http_proxy`,
`https_proxy`, `all_proxy` and `no_proxy`. `direct`, in a policy, means no proxy.

What a proxy does with names decides what can be promised (docs/proxies.md): with `socks5` we resolve, and the proxy
is told the very address that was checked. All others get the name, and resolve it themselves.
"""

from __future__ import annotations

import ipaddress
import os
import re
from collections.abc import Mapping, Sequence
from functools import cache

from msgspec import Struct

from gossamer.config import ConfigError
from gossamer.records import Url
from gossamer.url.site import host_of
from gossamer.visitor.credentials import secret_in

DIRECT, ENVIRONMENT = "direct", "environment"
_WRITTEN = re.compile(
    r"(?P<scheme>https?|socks5h?)://(?:(?P<user>[^\s/]*)@)?(?P<place>(?P<host>\[[^\]\s]+\]|[^\s/@:\[\]]+):(?P<port>\d{1,5}))/?"
)
_PORTS = {"http": 80, "https": 443}


class ProxyNow(Struct, frozen=True, array_like=True):
    """A proxy as people are told of it."""

    proxy: str  # without its password
    trouble: str = ""  # why nothing goes through it; empty: it does


class Proxy(Struct, frozen=True):
    """One proxy. `url` is for libcurl alone, because it has the password; `shown` is for everybody else."""

    scheme: str
    host: str
    port: int
    url: str

    @property
    def shown(self) -> str:
        return f"{self.scheme}://{self.host}:{self.port}"

    @property
    def is_socks(self) -> bool:
        return self.scheme.startswith("socks")

    @property
    def is_told_addresses(self) -> bool:
        """It connects to the address that we have chosen."""
        return self.scheme == "socks5"

    @property
    def hides_names(self) -> bool:
        """No name server of ours may hear of the names."""
        return self.scheme == "socks5h"

    def __repr__(self) -> str:
        return f"Proxy({self.shown})"


class EnvironmentProxies(Struct, frozen=True):
    """What the environment says, by the scheme of a URL."""

    by_scheme: dict[str, Proxy]
    exceptions: tuple[str, ...]

    def of(self, url: Url) -> Proxy | None:
        proxy = self.by_scheme.get(url.partition(":")[0]) or self.by_scheme.get("all")
        return None if proxy is None or self._is_exception(url) else proxy

    def _is_exception(self, url: Url) -> bool:
        host, port = host_of(url), port_of(url)
        return any(_matches(each, host, port) for each in self.exceptions)


def read(texts: Sequence[str], where: str = "fetch.proxy") -> tuple[Proxy | EnvironmentProxies, ...]:
    """What these texts stand for; nothing: no proxy. Raises ConfigError, with the place and without any secret."""
    if DIRECT in texts or ENVIRONMENT in texts:
        if len(texts) > 1:
            raise ConfigError(f"{where}: {DIRECT} and {ENVIRONMENT} stand alone")
        return (in_environment(os.environ),) if texts[0] == ENVIRONMENT else ()
    found = []
    for text in texts:
        is_kept_apart = text.startswith(("env:", "file:"))
        found.append(proxy_in(secret_in(where, "a proxy", text) if is_kept_apart else text, f"{where}: {text}"))
    return tuple(found)


def proxy_in(text: str, where: str) -> Proxy:
    written = _WRITTEN.fullmatch(text)
    if written is None or not 0 < int(written["port"]) < 65_536:
        raise ConfigError(f"{where}: wanted a proxy, such as http://host:port or socks5://user:password@host:port")
    return Proxy(written["scheme"], written["host"], int(written["port"]), text.rstrip("/"))


def in_environment(environment: Mapping[str, str]) -> EnvironmentProxies:
    """As curl reads it: names in small letters go before those in capitals, and of `HTTP_PROXY`, which a header of a
    request to a CGI program could set, there are only small ones."""
    by_scheme = {}
    for scheme, names in (
        ("http", ("http_proxy",)),
        ("https", ("https_proxy", "HTTPS_PROXY")),
        ("all", ("all_proxy", "ALL_PROXY")),
    ):
        name = next((name for name in names if environment.get(name)), None)
        if name is not None:
            text = environment[name]
            by_scheme[scheme] = proxy_in(text if "://" in text else f"http://{text}", f"{name} in the environment")
    exceptions = environment.get("no_proxy") or environment.get("NO_PROXY") or ""
    return EnvironmentProxies(by_scheme, tuple(exceptions.lower().replace(",", " ").split()))


def port_of(url: Url) -> int:
    scheme, _, rest = url.partition("://")
    written = rest.partition("/")[0].rpartition("]")[2].rpartition(":")
    return int(written[2]) if written[1] else _PORTS.get(scheme, 0)


def _matches(exception: str, host: str, port: int) -> bool:
    """`*`, a name and all below it, an address, a network, each perhaps with a port."""
    if exception == "*":
        return True
    with_port = re.fullmatch(r"(.*[^:]|\[.*\]):(\d{1,5})", exception)
    if with_port is not None and (exception.count(":") == 1 or exception.startswith("[")):
        if int(with_port[2]) != port:
            return False
        exception = with_port[1]
    name = exception.strip("[]").removeprefix("*").strip(".")
    bare = host.strip("[]").removesuffix(".")
    network = _network(name)
    if network is not None:
        try:
            return ipaddress.ip_address(bare) in network
        except ValueError:
            return False
    return bool(name) and (bare == name or bare.endswith(f".{name}"))


@cache
def _network(text: str) -> ipaddress.IPv4Network | ipaddress.IPv6Network | None:
    try:
        return ipaddress.ip_network(text, strict=False)
    except ValueError:
        return None
