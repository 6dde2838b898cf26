"""Connections to the control API: nobody can hold them all and lock everybody else out.

Whoever connects has `REQUEST_S` to send a whole request, again after each answer: one that says nothing, or sends a
byte a second, is closed. When there are more connections than `CONNECTIONS_MAX`, the one that has kept us waiting for
the longest time goes, so that a new one, which may be the operator's, is always heard.
"""

from __future__ import annotations

import asyncio

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

CONNECTIONS_MAX = 500
REQUEST_S = 20.0  # for head and body


class Connection(H11Protocol):
    _deadline: asyncio.TimerHandle | None = None
    _since = 0.0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._wait_for_request()
        if len(self.connections) >= CONNECTIONS_MAX:
            others = (each for each in self.connections if isinstance(each, Connection) and each is not self)
            waiting = [each for each in others if each._is_waiting]
            if waiting:
                min(waiting, key=lambda each: each._since).transport.abort()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._wait_for_request()

    def connection_lost(self, exc: Exception | None) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
        super().connection_lost(exc)

    @property
    def _is_waiting(self) -> bool:
        """For a request, or for the rest of it."""
        return self.conn.their_state in (h11.IDLE, h11.SEND_BODY) and not self.transport.is_closing()

    def _wait_for_request(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
        self._since = self.loop.time()
        self._deadline = self.loop.call_later(REQUEST_S, self._give_up)

    def _give_up(self) -> None:
        if self._is_waiting:
            self.transport.abort()
