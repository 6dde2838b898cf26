"""Nobody can hold all connections to the control API and lock the operator out."""

from __future__ import annotations

import socket
from contextlib import ExitStack, suppress
from pathlib import Path

from gossamer.api.connections import CONNECTIONS_MAX
from tests.api.serving import empty_crawl, served

HALF = b"POST /api/v1/seeds HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 100\r\n\r\n{"


def test_silent_connections_lock_nobody_out(folder: Path) -> None:
    with ExitStack() as opened, served(empty_crawl(folder / "crawl")) as api:
        port = int(api.url.rpartition(":")[2])
        silent = []
        for number in range(CONNECTIONS_MAX + 20):
            silent.append(opened.enter_context(socket.create_connection(("127.0.0.1", port), 20)))
            if number % 2:
                silent[-1].sendall(HALF)  # and nothing more
        for _ in range(3):
            assert api.ask("GET", "/health").status_code == 200
        # The one that has kept us waiting for the longest time had to go.
        with suppress(ConnectionResetError):
            assert silent[0].recv(1) == b""
