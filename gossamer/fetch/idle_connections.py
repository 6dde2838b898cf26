"""Connections that libcurl has just put aside, watched by us until libcurl looks after them itself.

Before it uses a kept connection again, libcurl (8.23) looks whether the server has closed it or said something that
nobody asked for, but only once it was idle for a second. Within that second such an answer would be taken for that to
the next request. So we keep our own end of the socket so long, and look ourselves: one poll a request.

Only HTTP/1: in HTTP/2 an answer names its request, and servers talk between requests honestly.
"""

from __future__ import annotations

import select
import socket
from collections import OrderedDict

from gossamer.clock import Clock

LOOKED_AFTER_S = 1.5  # libcurl counts in whole seconds

Ends = tuple[object, ...]  # both addresses and both ports of a connection


class IdleConnections:
    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._idle: OrderedDict[Ends, tuple[socket.socket, float]] = OrderedDict()

    def put(self, ends: Ends, connection: socket.socket) -> None:
        """An answer has come to its end on this connection, and it may be used again."""
        now = self._clock.now()
        self._idle[ends] = (connection, now)
        self.forget(now - LOOKED_AFTER_S)

    def take(self, ends: Ends) -> socket.socket | None:
        """Our end of a connection that is to be used again; None: it has been idle for long."""
        return self._idle.pop(ends, (None, 0.0))[0]

    def forget(self, before: float = float("inf")) -> None:
        while self._idle and (oldest := next(iter(self._idle.values())))[1] < before:
            oldest[0].close()
            self._idle.popitem(last=False)


def has_unread_bytes(connection: socket.socket) -> bool:
    """The server has closed the connection, or said something that nobody asked for."""
    poll = select.poll()
    poll.register(connection, select.POLLIN)
    return bool(poll.poll(0))
