"""What comes in during one transfer, and how much of it may: the callbacks that libcurl calls.

They keep three promises. `open_socket` has the last word on where we connect. `on_request` sees to it that one
transfer is one request. `on_header` and `on_body` keep to the limits, so that no answer is too long to bear.
"""

from __future__ import annotations

import socket
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pycurl

from gossamer.fetch.address import is_forbidden
from gossamer.fetch.idle_connections import Ends, IdleConnections, has_unread_bytes
from gossamer.fetch.multi import Multi
from gossamer.fetch.proxies import Trouble
from gossamer.fetch.sockets import open_socket
from gossamer.fetch.spool import Spool
from gossamer.records import Body
from gossamer.settings import FetchSettings
from gossamer.shortage import no_memory

# libcurl calls us for each chunk of a body, and a chunk of six bytes on the wire can hold one: 27,000 calls in a row,
# 20 ms. While a transfer is paused libcurl gathers what it has read, and hands it over in one piece afterwards.
CRUMB_BYTES = 256
CRUMBS_MAX = 256


class Incoming:
    """What one transfer has received so far, and the limits it is held to. libcurl calls the `on_` methods."""

    def __init__(
        self, limits: FetchSettings, body_bytes_max: int, folder: Path | None, idle: IdleConnections
    ) -> None:
        self.head: list[bytes] = []
        self.spool = Spool(folder)
        self.requests = 0
        # What went wrong, where libcurl's own word would not tell.
        self.truncated = ""
        self.refused_address: str | None = None
        self.headers_are_too_large = False
        self.is_unasked = False  # 101: it would talk about something else from here on
        self.unwanted_type = ""  # the answer's media type, where we do not want its body
        self.distrusts = False  # the server's certificate
        self.had_news = False  # on a kept connection, before anything was asked
        self.is_too_late = False  # we may not ask this host any more
        self.trouble: Trouble | None = None  # of the proxy, or on the way behind it
        self.our_fault: OSError | None = None  # our disk, memory, files or ports have no room

        self._head_room = limits.header_bytes_max
        self._body_room = body_bytes_max
        self._idle = idle
        self._ends: Ends = ()
        self._connection: socket.socket | None = None  # our end of the connection
        self._opened: list[socket.socket] = []  # libcurl has its own copies
        self._crumbs = 0
        self._may_ask: Callable[[], bool]
        self._asked: Callable[[], None]
        self._answers: Callable[[], None]
        self._pauses: Callable[[], None]

    def attach(
        self,
        curl: pycurl.Curl,
        multi: Multi,
        *,
        allow_private: bool,
        unheard_s: float,
        may_ask: Callable[[], bool] = lambda: True,
    ) -> None:
        self._may_ask = may_ask
        self._asked, self._answers = partial(multi.asked, curl), partial(multi.answers, curl)
        self._pauses = partial(multi.pauses, curl)
        curl.setopt(pycurl.OPENSOCKETFUNCTION, partial(self.open_socket, allow_private, unheard_s))
        curl.setopt(pycurl.PREREQFUNCTION, self.on_request)
        curl.setopt(pycurl.HEADERFUNCTION, self.on_header)
        curl.setopt(pycurl.WRITEFUNCTION, self.on_body)

    def open_socket(self, allow_private: bool, unheard_s: float, _purpose: int, address: Any) -> Any:
        """The last word on where we connect, at connect time. Where a proxy is set libcurl connects to that and to
        nobody else, and it may well be at a private address."""
        ip = address.addr[0]
        if not allow_private and is_forbidden(ip):
            self.refused_address = ip
            return pycurl.SOCKET_BAD
        try:
            opened = open_socket(address.family, address.socktype, address.protocol, unheard_s)
        except OSError as fault:
            self.our_fault = fault
            return pycurl.SOCKET_BAD
        self._opened.append(opened)
        return opened

    def on_request(self, *ends: object) -> int:
        """One fetch, one request: libcurl would ask again by itself where a kept connection breaks under it."""
        if not self.requests:
            self._ends, self._connection = ends, self._idle.take(ends)
            if self._connection is not None and has_unread_bytes(self._connection):
                self.had_news = True
                return int(pycurl.PREREQFUNC_ABORT)
        if not self._may_ask():
            self.is_too_late = True
            return int(pycurl.PREREQFUNC_ABORT)
        self.requests += 1
        self._asked()
        return int(pycurl.PREREQFUNC_OK if self.requests == 1 else pycurl.PREREQFUNC_ABORT)

    def on_header(self, line: bytes) -> int | None:
        if not self.head:
            self._answers()
        self.head.append(line)
        self._head_room -= len(line)
        if self._head_room < 0:
            self.headers_are_too_large = True
            return -1
        return None

    def on_body(self, chunk: bytes) -> int | None:
        """A body that is too large is cut: what has come is worth more than nothing."""
        if len(chunk) < CRUMB_BYTES:
            self._crumbs += 1
            if self._crumbs > CRUMBS_MAX:
                self._crumbs = 0
                self._pauses()
                return int(pycurl.WRITEFUNC_PAUSE)
        room, self._body_room = self._body_room, self._body_room - len(chunk)
        try:
            self.spool.write(chunk[:room] if self._body_room < 0 else chunk)
        except OSError as fault:
            self.our_fault = fault
            return -1
        except MemoryError:
            self.our_fault = no_memory()
            return -1
        if self._body_room < 0:
            self.truncated = "length"
        return -1 if self.truncated else None

    def body(self) -> Body:
        try:
            return self.spool.body()
        except OSError as fault:
            self.our_fault = fault
        except MemoryError:
            self.our_fault = no_memory()
        return b""

    def is_in_trouble(self, trouble: Trouble | None) -> None:
        """On the way, where a proxy is; that is not to be mended by trusting the server."""
        self.trouble = trouble
        self.distrusts = self.distrusts and trouble is None

    @property
    def is_cut_by_us(self) -> bool:
        """The callbacks have ended the transfer, and there is a word for why."""
        return bool(
            self.truncated or self.headers_are_too_large or self.is_unasked or self.unwanted_type or self.is_too_late
        )

    def hang_up(self, *, is_kept: bool) -> None:
        """Our ends of what was opened may go, but that of a connection which may be used again is watched."""
        is_kept = is_kept and bool(self._ends)
        for opened in self._opened:
            if (
                is_kept
                and self._connection is None
                and opened.fileno() >= 0
                and opened.getsockname()[1] == self._ends[3]
            ):
                self._connection = opened
            else:
                opened.close()
        if self._connection is not None and is_kept:
            self._idle.put(self._ends, self._connection)
        elif self._connection is not None:
            self._connection.close()
