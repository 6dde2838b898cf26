"""What was given up does not reach its server later. With a network that is cut: tests/node/failure_run.py."""

from __future__ import annotations

import socket
from typing import Any

import pytest

from gossamer.clock import RealClock
from gossamer.fetch import incoming
from gossamer.fetch.dns import Dns
from gossamer.fetch.sockets import open_socket, take_back
from gossamer.fetch.transfer import Transfers
from gossamer.settings import DnsSettings, FetchSettings
from tests.fetch.raw_server import raw_server


@pytest.mark.parametrize(("unheard_s", "timeout_s", "wanted_ms"), [(3.0, 60.0, 3000), (10.0, 2.0, 2000)])
async def test_the_system_gives_up_what_nobody_acknowledges(
    monkeypatch: pytest.MonkeyPatch, unheard_s: float, timeout_s: float, wanted_ms: int
) -> None:
    opened: list[socket.socket] = []

    def watched(*given: Any) -> socket.socket:
        opened.append(open_socket(*given))
        return opened[-1]

    monkeypatch.setattr(incoming, "open_socket", watched)
    clock = RealClock()
    limits, dns = FetchSettings(timeout_s=timeout_s), Dns(clock, DnsSettings())
    transfers = Transfers(dns, clock, limits, allow_private=True, unheard_s=unheard_s)
    async with raw_server(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n") as server:
        await transfers.perform(server.url())
        [connection] = opened
        assert connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) == wanted_ms
        await transfers.close()
        await dns.close()


@pytest.mark.parametrize("is_heard", [True, False])
def test_a_connection_is_reset_only_where_something_is_on_its_way(is_heard: bool) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        ours = socket.create_connection(listening.getsockname())
        theirs, _ = listening.accept()
    with theirs:
        theirs.settimeout(10)
        ours.setblocking(False)
        sent = ours.send(b"GET / HTTP/1.1\r\n")
        while not is_heard:  # until the server's system takes no more: it does not read
            try:
                sent += ours.send(bytes(1 << 20))
            except BlockingIOError:
                break
        if is_heard:
            assert len(theirs.recv(100)) == sent
        take_back(ours.fileno())
        ours.close()
        if is_heard:
            assert theirs.recv(100) == b""
        else:
            with pytest.raises(ConnectionResetError):
                while theirs.recv(1 << 20):
                    pass
