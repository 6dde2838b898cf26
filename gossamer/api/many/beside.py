"""The servers behind: one for each crawl that is looked at, started when it is first asked for.

It is `gossamer serve CRAWL`, on a socket in a folder that nobody else can enter, and ends with this process, as a
child of a crawl does. What is asked below /crawls/NAME/ goes there as it came, without keys: those were looked at
here. The answer is handed on while it comes, so that events are heard at once.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

import h11
from starlette.responses import Response, StreamingResponse

from gossamer.api.route import NoAnswer

STOP_S = 5.0
CHUNK_BYTES = 64 << 10
ONWARD = {b"content-type", b"last-event-id", b"accept", b"host", b"origin", b"sec-fetch-site"}
BACK = {"connection", "transfer-encoding", "date", "server"}


class Beside:
    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="gossamer-serve-")
        self._servers: dict[Path, tuple[subprocess.Popen[str], Path]] = {}
        self._starting = asyncio.Lock()

    async def socket_of(self, crawl: Path) -> Path:
        async with self._starting:
            known = self._servers.get(crawl)
            if known is None or known[0].poll() is not None:
                socket = Path(self._folder.name) / str(len(self._servers))
                socket.unlink(missing_ok=True)
                server = await asyncio.to_thread(self._start, crawl, socket)
                known = self._servers[crawl] = (server, socket)
            return known[1]

    def _start(self, crawl: Path, socket: Path) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "gossamer", "serve", str(crawl), "--child", "--socket", str(socket)]
        server = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True, text=True
        )
        assert server.stdout is not None
        if not server.stdout.readline():
            server.wait()
            raise NoAnswer(503, "unreadable", f"{crawl.name} cannot be shown; the log of this server says why")
        return server

    def close(self) -> None:
        for server, _ in self._servers.values():
            assert server.stdin is not None
            server.stdin.close()
        for server, _ in self._servers.values():
            try:
                server.wait(STOP_S)
            except subprocess.TimeoutExpired:
                server.kill()
                server.wait()
            if server.stdout is not None:
                server.stdout.close()
        self._folder.cleanup()

    async def ask(
        self, crawl: Path, method: str, target: str, headers: list[tuple[bytes, bytes]], content: bytes
    ) -> Response:
        reader, writer = await asyncio.open_unix_connection(await self.socket_of(crawl))
        connection = h11.Connection(h11.CLIENT)
        onward = [(name, value) for name, value in headers if name.lower() in ONWARD]
        onward += [(b"content-length", b"%d" % len(content)), (b"connection", b"close")]
        for event in (
            h11.Request(method=method, target=target, headers=onward),
            h11.Data(content),
            h11.EndOfMessage(),
        ):
            writer.write(connection.send(event) or b"")

        async def next_event() -> h11.Event | type[h11.NEED_DATA] | type[h11.PAUSED]:
            while (event := connection.next_event()) is h11.NEED_DATA:
                connection.receive_data(await reader.read(CHUNK_BYTES))
            return event

        async def body() -> AsyncIterator[bytes]:
            try:
                while isinstance(event := await next_event(), h11.Data):
                    yield bytes(event.data)
            except h11.RemoteProtocolError:
                pass  # the server behind has ended; so does the answer
            finally:
                writer.close()

        try:
            head = await next_event()
        except (h11.RemoteProtocolError, OSError):
            writer.close()
            raise NoAnswer(503, "no_answer", f"{crawl.name} does not answer; try again", retry_after="2") from None
        assert isinstance(head, h11.Response)
        back = {name.decode(): value.decode("latin-1") for name, value in head.headers if name.decode() not in BACK}
        return StreamingResponse(body(), head.status_code, back)
