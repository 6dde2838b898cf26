"""A name server on loopback that answers as a test tells it, name by name, well or badly, and logs every query.

It speaks just enough of RFC 1035: one question in, records or an error code out, over UDP and over TCP. An answer
too long for UDP is cut with the TC bit set, as real servers do, so that the asker has to come back over TCP.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
import struct
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import cast

KINDS = {"A": 1, "CNAME": 5, "AAAA": 28}
UDP_BYTES, EDNS_BYTES = 512, 1232  # largest answer over UDP: RFC 1035, and what EDNS askers announce today

Send = Callable[[bytes], None]


@dataclass(frozen=True)
class Record:
    kind: str
    value: str
    ttl: int = 300
    owner: str = ""  # the name that was asked for, unless it is said

    def wire(self, asked: str) -> bytes:
        content = labels(self.value) if self.kind == "CNAME" else ipaddress.ip_address(self.value).packed
        head = struct.pack("!HHIH", KINDS[self.kind], 1, self.ttl, len(content))
        return labels(self.owner or asked) + head + content


@dataclass(frozen=True)
class Say:
    """One answer. `spoilt` gets the packet before it leaves; None: nothing leaves."""

    records: tuple[Record, ...] = ()
    code: int = 0
    spoilt: Callable[[bytes], bytes] | None = bytes


@dataclass(frozen=True)
class Query:
    name: str
    kind: str
    over: str  # udp | tcp
    id: int
    port: int  # of the asker


def addresses(*ips: str, ttl: int = 300, owner: str = "") -> Say:
    kinds = {4: "A", 6: "AAAA"}
    return Say(tuple(Record(kinds[ipaddress.ip_address(ip).version], ip, ttl, owner) for ip in ips))


def alias(target: str, then: Say | None = None, *, ttl: int = 300, owner: str = "") -> Say:
    """A CNAME, and what the target has, as a recursive server puts both into one answer."""
    return Say((Record("CNAME", target, ttl, owner), *(then.records if then else ())))


EMPTY = Say()
FORMERR, SERVFAIL, NXDOMAIN, NOTIMP, REFUSED = (Say(code=code) for code in range(1, 6))
SILENCE = Say(spoilt=None)


def labels(name: str) -> bytes:
    parts = [part.encode() for part in name.rstrip(".").split(".")]
    return b"".join(bytes([len(part)]) + part for part in parts) + b"\0"


class DnsServer(asyncio.DatagramProtocol):
    def __init__(self) -> None:
        self.port = 0
        self.queries: list[Query] = []
        self.otherwise: Callable[[Query], Say] = lambda query: NXDOMAIN
        self._script: dict[str, tuple[Say, ...]] = {}
        self._turns: Counter[tuple[str, str]] = Counter()
        self._held: list[Callable[[], None]] | None = None
        self._arrived = asyncio.Event()
        self._writers: set[asyncio.StreamWriter] = set()
        self._udp: asyncio.DatagramTransport | None = None

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    def says(self, name: str, *turns: Say) -> None:
        """To the first query of each kind the first answer, and so on; the last one stays."""
        self._script[name] = turns
        for kind in KINDS:
            self._turns.pop((name, kind), None)

    def asked(self, name: str) -> list[str]:
        """The kinds that were asked of a name, in order."""
        return [query.kind for query in self.queries if query.name == name]

    async def until_asked(self, queries: int) -> None:
        while len(self.queries) < queries:
            self._arrived.clear()
            await self._arrived.wait()

    def hold(self) -> None:
        """Answer nothing until `release`, however many ask."""
        self._held = []

    def release(self) -> None:
        held, self._held = self._held or [], None
        for answer in held:
            answer()

    # --- The wire ---

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._udp = cast(asyncio.DatagramTransport, transport)

    def datagram_received(self, packet: bytes, sender: tuple[str, int]) -> None:
        udp = self._udp
        assert udp is not None
        self._hear(packet, "udp", sender[1], lambda answer: udp.sendto(answer, sender))

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        port = writer.get_extra_info("peername")[1]
        try:
            while True:
                (length,) = struct.unpack("!H", await reader.readexactly(2))
                packet = await reader.readexactly(length)
                self._hear(packet, "tcp", port, lambda answer: writer.write(struct.pack("!H", len(answer)) + answer))
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            self._writers.discard(writer)
            writer.close()

    def _hear(self, packet: bytes, over: str, port: int, send: Send) -> None:
        parts, at = [], 12
        while packet[at]:
            parts.append(packet[at + 1 : at + 1 + packet[at]].decode("latin-1"))
            at += 1 + packet[at]
        (number,) = struct.unpack_from("!H", packet, at + 1)
        kind = next((kind for kind, value in KINDS.items() if value == number), str(number))
        query = Query(".".join(parts), kind, over, int.from_bytes(packet[:2]), port)
        self.queries.append(query)
        self._arrived.set()
        if self._held is not None:
            self._held.append(lambda: self._answer(query, packet, at + 5, send))
        else:
            self._answer(query, packet, at + 5, send)

    def _answer(self, query: Query, packet: bytes, question_end: int, send: Send) -> None:
        say = self._next(query)
        if say.spoilt is None:
            return
        records = [record.wire(query.name) for record in say.records if record.kind in (query.kind, "CNAME")]
        has_edns = packet[11] > 0  # the only additional record that askers send
        room = 65_535 if query.over == "tcp" else EDNS_BYTES if has_edns else UDP_BYTES
        is_cut = question_end + sum(map(len, records)) > room
        if is_cut:
            records = []
        flags = 0x8180 | (0x0200 if is_cut else 0) | say.code
        head = packet[:2] + struct.pack("!HHHHH", flags, 1, len(records), 0, 0)
        send(say.spoilt(head + packet[12:question_end] + b"".join(records)))

    def _next(self, query: Query) -> Say:
        turns = self._script.get(query.name.lower())
        if turns is None:
            return self.otherwise(query)
        turn = self._turns[query.name, query.kind]
        self._turns[query.name, query.kind] += 1
        return turns[min(turn, len(turns) - 1)]

    def close(self) -> None:
        for writer in self._writers:
            writer.close()


@asynccontextmanager
async def dns_server() -> AsyncIterator[DnsServer]:
    server = DnsServer()
    tcp = await asyncio.start_server(server._talk, "127.0.0.1", 0)
    server.port = tcp.sockets[0].getsockname()[1]
    loop = asyncio.get_running_loop()
    udp, _ = await loop.create_datagram_endpoint(lambda: server, local_addr=("127.0.0.1", server.port))
    udp.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2**20)  # a burst must not be lost
    try:
        yield server
    finally:
        udp.close()
        tcp.close()
        server.close()
        await tcp.wait_closed()
