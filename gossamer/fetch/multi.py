"""libcurl's transfers under the event loop, their sockets behind one file descriptor.

libcurl tells which sockets it waits for: each is added when a request goes out and removed when its answer has come,
also where the connection is kept. To add and remove them at the event loop (`pycurl.AsyncCurlMulti` does) is a handle
of the loop and six system calls a page. Here they go to an epoll of our own, which is two, and the loop watches that
one: 62 µs of CPU for a page of 21 KB instead of 100.

Whatever is ready is handled together, and only then is asked which transfers are done.

A fault is a value here and never raised. An exception that a future carries remembers the frames it went through;
they hold that future and all that the transfer has received, and such a circle is only found when Python looks for
them: a hundred bodies that were cut held a gigabyte and their files for minutes.

The first byte of an answer has a limit of its own. It is the same for all, so that whoever asked first is the first
to be given up: one timer for all of them.
"""

from __future__ import annotations

import asyncio
import select
from collections.abc import Iterable
from contextlib import suppress

import pycurl

from gossamer.fetch.sockets import take_back

READY_MAX = 64  # sockets at a time, some 3 ms, before the event loop may do something else


class Multi:
    """Has to be made while the event loop runs."""

    def __init__(self, first_byte_s: float) -> None:
        self._first_byte_s = first_byte_s
        self._answers_by: dict[pycurl.Curl, float] = {}  # the oldest request first
        self._patience: asyncio.TimerHandle | None = None
        self._loop = asyncio.get_running_loop()
        self._waiting: dict[pycurl.Curl, asyncio.Future[Exception | None]] = {}
        self._connections_max = 0  # idle ones included; 0: as many as M_MAXCONNECTS keeps
        self._timer: asyncio.Handle | None = None
        self._events: dict[int, int] = {}  # what each socket is watched for
        self._epoll = select.epoll()
        self._loop.add_reader(self._epoll.fileno(), self._on_ready)
        self._multi = pycurl.CurlMulti()
        self._multi.setopt(pycurl.M_SOCKETFUNCTION, self._on_socket)
        self._multi.setopt(pycurl.M_TIMERFUNCTION, self._on_timer)

    def setopt(self, option: int, value: int) -> None:
        self._multi.setopt(option, value)

    @property
    def under_way(self) -> int:
        return len(self._waiting)

    async def perform(self, curl: pycurl.Curl) -> Exception | None:
        """Returns when the transfer is over: nothing where it is done, `pycurl.error` where it failed, `TimeoutError`
        where no answer came in time after `asked`. May be cancelled."""
        done: asyncio.Future[Exception | None] = self._loop.create_future()
        self._waiting[curl] = done
        if 0 < self._connections_max < len(self._waiting):
            self._bound_connections()
        try:
            self._multi.add_handle(curl)
            return await done
        finally:
            self._answers_by.pop(curl, None)
            if self._waiting.pop(curl, None) is not None:
                self._multi.remove_handle(curl)

    async def aclose(self) -> None:
        for done in list(self._waiting.values()):
            done.cancel()
        for curl in list(self._waiting):
            self._end(curl)
        self._on_timer(-1)
        if self._patience is not None:
            self._patience.cancel()
        self._loop.remove_reader(self._epoll.fileno())
        self._multi.close()
        self._epoll.close()

    def asked(self, curl: pycurl.Curl) -> None:
        """The request goes out now."""
        self._answers_by[curl] = self._loop.time() + self._first_byte_s
        if self._patience is None:
            self._patience = self._loop.call_later(self._first_byte_s, self._give_up)

    def answers(self, curl: pycurl.Curl) -> None:
        """From here on the time for the whole holds."""
        self._answers_by.pop(curl, None)

    def spare(self) -> None:
        """We are short of files or ports: from now on idle connections make room for new ones."""
        self._bound_connections()

    def _bound_connections(self) -> None:
        self._connections_max = max(1, len(self._waiting))
        self._multi.setopt(pycurl.M_MAX_TOTAL_CONNECTIONS, self._connections_max)

    def pauses(self, curl: pycurl.Curl) -> None:
        """Its body is paused, and goes on after whatever else is to be done."""
        self._loop.call_soon(self._go_on, curl)

    # ---- libcurl calls these -----------------------------------------------------------------------------

    def _on_socket(self, wanted: int, socket: int, _multi: object, _data: object) -> None:
        before = self._events.pop(socket, None)
        if wanted == pycurl.POLL_REMOVE:
            take_back(socket)
            if before is not None:
                with suppress(OSError):  # it is closed already
                    self._epoll.unregister(socket)
            return
        events = (select.EPOLLIN if wanted & pycurl.POLL_IN else 0) | (
            select.EPOLLOUT if wanted & pycurl.POLL_OUT else 0
        )
        self._events[socket] = events
        if before is None:
            self._epoll.register(socket, events)
        elif before != events:
            self._epoll.modify(socket, events)

    def _on_timer(self, timeout_ms: int) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if timeout_ms == 0:  # later all the same: libcurl must not be called from its own callback
            self._timer = self._loop.call_soon(self._on_time)
        elif timeout_ms > 0:
            self._timer = self._loop.call_later(timeout_ms / 1000, self._on_time)

    # ---- the event loop calls these ----------------------------------------------------------------------

    def _on_time(self) -> None:
        self._timer = None
        self._act([(pycurl.SOCKET_TIMEOUT, 0)])

    def _on_ready(self) -> None:
        self._act(
            # What is neither readable nor writable has broken down, and that is heard by reading.
            (socket, (pycurl.CSELECT_OUT if events & select.EPOLLOUT else 0) | (events != select.EPOLLOUT))
            for socket, events in self._epoll.poll(0, READY_MAX)
        )

    def _give_up(self) -> None:
        self._patience, now = None, self._loop.time()
        for curl, answers_by in list(self._answers_by.items()):
            if answers_by > now:
                self._patience = self._loop.call_at(answers_by, self._give_up)
                break
            del self._answers_by[curl]
            if curl in self._waiting:
                self._end(curl, TimeoutError())

    def _go_on(self, curl: pycurl.Curl) -> None:
        if curl not in self._waiting:
            return
        try:
            curl.pause(pycurl.PAUSE_CONT)
        except pycurl.error as fault:
            if curl in self._waiting:
                self._end(curl, fault)

    def _act(self, actions: Iterable[tuple[int, int]]) -> None:
        try:
            for socket, what in actions:
                self._multi.socket_action(socket, what)
            _, done, failed = self._multi.info_read()
        except pycurl.error as fault:  # of the whole, and not of a transfer
            for curl in list(self._waiting):
                self._end(curl, fault)
            return
        for curl in done:
            self._end(curl)
        for curl, code, message in failed:
            self._end(curl, pycurl.error(code, message))

    def _end(self, curl: pycurl.Curl, fault: Exception | None = None) -> None:
        done = self._waiting.pop(curl)
        self._multi.remove_handle(curl)
        if not done.done():  # else it was cancelled just now
            done.set_result(fault)
