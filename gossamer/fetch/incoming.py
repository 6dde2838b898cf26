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
from gossamer.fetch.lines import Ends, Lines, has_news
from gossamer.fetch.multi import Multi
from gossamer.fetch.spool import Spool
from gossamer.settings import FetchSettings


class Incoming:
    """What one transfer has received so far, and the limits it is held to. libcurl calls the `on_` methods."""

    def __init__(self, limits: FetchSettings, body_bytes_max: int, folder: Path | None, lines: Lines) -> None:
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
        self.no_room: OSError | None = None

        self._head_room = limits.header_bytes_max
        self._body_room = body_bytes_max
        self._lines = lines
        self._ends: Ends = ()
        self._line: socket.socket | None = None  # our end of the connection
        self._opened: list[socket.socket] = []  # libcurl has its own copies
        self._asked: Callable[[], None]
        self._answers: Callable[[], None]

    def attach(self, curl: pycurl.Curl, multi: Multi, *, allow_private: bool) -> None:
        self._asked, self._answers = partial(multi.asked, curl), partial(multi.answers, curl)
        curl.setopt(pycurl.OPENSOCKETFUNCTION, partial(self.open_socket, allow_private))
        curl.setopt(pycurl.PREREQFUNCTION, self.on_request)
        curl.setopt(pycurl.HEADERFUNCTION, self.on_header)
        curl.setopt(pycurl.WRITEFUNCTION, self.on_body)

    def open_socket(self, allow_private: bool, _purpose: int, address: Any) -> Any:
        """The last word on where we connect, at connect time."""
        ip = address.addr[0]
        if not allow_private and is_forbidden(ip):
            self.refused_address = ip
            return pycurl.SOCKET_BAD
        opened = socket.socket(address.family, address.socktype, address.protocol)
        self._opened.append(opened)
        return opened

    def on_request(self, *ends: object) -> int:
        """One fetch, one request: libcurl would ask again by itself where a kept connection breaks under it."""
        if not self.requests:
            self._ends, self._line = ends, self._lines.take(ends)
            if self._line is not None and has_news(self._line):
                self.had_news = True
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
        room, self._body_room = self._body_room, self._body_room - len(chunk)
        try:
            self.keep(chunk[:room] if self._body_room < 0 else chunk)
        except OSError as full:
            self.no_room = full
            return -1
        if self._body_room < 0:
            self.truncated = "length"
        return -1 if self.truncated else None

    def keep(self, chunk: bytes) -> None:
        self.spool.write(chunk)

    def end(self) -> None:
        """Nothing more will come."""

    def hang_up(self, *, is_kept: bool) -> None:
        """Our ends of what was opened may go, but that of a connection which may be used again is watched."""
        is_kept = is_kept and bool(self._ends)
        for opened in self._opened:
            if is_kept and self._line is None and opened.fileno() >= 0 and opened.getsockname()[1] == self._ends[3]:
                self._line = opened
            else:
                opened.close()
        if self._line is not None and is_kept:
            self._lines.put(self._ends, self._line)
        elif self._line is not None:
            self._line.close()
