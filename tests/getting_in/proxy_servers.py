"""Real proxies on loopback, from Debian: tinyproxy (HTTP) and microsocks (SOCKS5).

Each asks servers from a loopback address of its own, which the access log of the synthetic web then tells: so a test
sees who has brought a request.
"""

from __future__ import annotations

import itertools
import socket
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from gossamer.local_servers.process import ServerProcess
from tests.debian import program

USER, PASSWORD = "me", "ox-bow-lantern"
_numbers = itertools.count(1)


class ProxyServer(ServerProcess):
    scheme: str

    def __init__(self, *, wants_password: bool = False) -> None:
        super().__init__()
        self.address = f"127.77.0.{next(_numbers)}"  # that it asks servers from
        self.wants_password = wants_password

    def url(self, scheme: str = "", *, has_password: bool = False) -> str:
        user = f"{USER}:{PASSWORD}@" if has_password else ""
        return f"{scheme or self.scheme}://{user}127.0.0.1:{self.port}"

    def answers(self) -> bool:
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0


class TinyProxy(ProxyServer):
    name, scheme = "tinyproxy", "http"

    def __init__(self, *lines: str, wants_password: bool = False) -> None:
        """`lines`: of its configuration, beside what is always there."""
        super().__init__(wants_password=wants_password)
        self._lines = lines

    def command(self) -> Sequence[str | Path]:
        password = [f"BasicAuth {USER} {PASSWORD}"] if self.wants_password else []
        always = [f"Port {self.port}", "Listen 127.0.0.1", f"Bind {self.address}", "MaxClients 200", "Timeout 60"]
        file = self.folder / "tinyproxy.conf"
        file.write_text("\n".join([*always, *password, *self._lines, ""]))
        return [program("tinyproxy", "tinyproxy-bin"), "-d", "-c", file]


class MicroSocks(ProxyServer):
    name, scheme = "microsocks", "socks5"

    def command(self) -> Sequence[str | Path]:
        password = ["-u", USER, "-P", PASSWORD] if self.wants_password else []
        place = ["-i", "127.0.0.1", "-p", str(self.port), "-b", self.address]
        return [program("microsocks", "microsocks"), *place, *password]


@contextmanager
def running(*servers: ProxyServer) -> Iterator[None]:
    started: list[ProxyServer] = []
    try:
        for server in servers:
            server.start()
            started.append(server)
        yield
    finally:
        for server in started:
            server.remove()
