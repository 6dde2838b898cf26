"""The DevTools protocol over a socket pair: JSON texts, each ended by a NUL, both ways (`--remote-debugging-pipe`).

A browser has one connection. Commands and events of its pages carry the id of a session; those without one are the
browser's own. When either side dies the other hears of it: a browser ends by itself when the worker is gone.
"""

from __future__ import annotations

import asyncio
import itertools
import socket
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import msgspec

READ_BYTES = 1 << 16
MESSAGE_BYTES_MAX = 64 << 20  # a document with its escapes

Values = dict[str, Any]
OnEvent = Callable[[str, Values], None]

encode = msgspec.json.Encoder().encode
decode = msgspec.json.Decoder(dict[str, Any]).decode


class BrowserGone(Exception):
    """The browser, or the page in it, has ended; the text says how, as far as it is known."""


class PageDied(BrowserGone):
    """The page alone, and the browser lives."""


class CommandFailed(Exception):
    """The browser did not do it; the text is its own."""


class Session:
    """A page of the browser, or with the id "" the browser itself. `hear` gets its events."""

    def __init__(self, connection: Connection, session_id: str) -> None:
        self.id = session_id
        self.hear: OnEvent = lambda name, values: None
        self.gone = ""  # why nothing more can be asked
        self._connection = connection
        self._answers: dict[int, asyncio.Future[Values]] = {}

    async def ask(self, method: str, **parameters: Any) -> Values:
        if self.gone:
            raise BrowserGone(self.gone)
        answer = self._connection.send(self, method, parameters)
        return await answer

    def tell(self, method: str, **parameters: Any) -> None:
        """The same where the answer tells nothing."""
        if not self.gone:
            self._connection.send(self, method, parameters).add_done_callback(_heard)

    def end(self, why: str) -> None:
        self.gone = self.gone or why
        answers, self._answers = self._answers, {}
        for answer in answers.values():
            if not answer.done():
                answer.set_exception(BrowserGone(self.gone))

    def note(self, number: int, answer: asyncio.Future[Values]) -> None:
        self._answers[number] = answer

    def settle(self, message: Values) -> None:
        answer = self._answers.pop(message["id"], None)
        if answer is None or answer.done():
            return
        if "error" in message:
            answer.set_exception(CommandFailed(str(message["error"].get("message", ""))[:300]))
        else:
            answer.set_result(message.get("result", {}))


class Connection:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.browser = Session(self, "")
        self._sessions = {"": self.browser}
        self._reader = reader
        self._writer = writer
        self._numbers = itertools.count(1)
        self._task = asyncio.ensure_future(self._receive())

    @classmethod
    async def over(cls, ours: socket.socket) -> Connection:
        return cls(*await asyncio.open_connection(sock=ours))

    def session(self, session_id: str) -> Session:
        session = self._sessions[session_id] = Session(self, session_id)
        return session

    def forget(self, session: Session) -> None:
        self._sessions.pop(session.id, None)
        session.end("its page was closed")

    def send(self, session: Session, method: str, parameters: Values) -> asyncio.Future[Values]:
        answer: asyncio.Future[Values] = asyncio.get_running_loop().create_future()
        number = next(self._numbers)
        session.note(number, answer)
        message: Values = {"id": number, "method": method, "params": parameters}
        if session.id:
            message["sessionId"] = session.id
        self._writer.write(encode(message) + b"\0")
        return answer

    async def close(self) -> None:
        self._task.cancel()
        with suppress(asyncio.CancelledError):
            await self._task
        self._writer.close()
        with suppress(OSError):
            await self._writer.wait_closed()

    async def _receive(self) -> None:
        left = bytearray()
        why = "the browser has ended"
        try:
            while chunk := await self._reader.read(READ_BYTES):
                left += chunk
                if b"\0" in chunk:
                    *messages, rest = left.split(b"\0")
                    left = bytearray(rest)
                    for message in messages:
                        self._hear(message)
                if len(left) > MESSAGE_BYTES_MAX:
                    why = "the browser sent a message without end"
                    break
        except (OSError, msgspec.DecodeError) as fault:
            why = f"the browser cannot be understood: {fault}"
        finally:
            for session in list(self._sessions.values()):
                session.end(why)

    def _hear(self, text: bytes | bytearray) -> None:
        message = decode(text)
        session = self._sessions.get(message.get("sessionId", ""))
        if session is None:
            return  # of a page that was closed
        if "id" in message:
            session.settle(message)
        else:
            session.hear(message["method"], message.get("params", {}))


def _heard(answer: asyncio.Future[Values]) -> None:
    if not answer.cancelled():
        answer.exception()  # whoever only tells does not want to know
