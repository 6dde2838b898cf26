"""A small FTP server on loopback: anonymous, passive, read-only, over a dictionary of files. RFC 959 and 2428."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from posixpath import join, normpath


class FtpServer:
    def __init__(self, files: dict[str, bytes]) -> None:
        self.files = files
        self.port = 0
        self.commands: list[str] = []
        self.opened: list[asyncio.StreamWriter | asyncio.Server] = []

    def url(self, path: str) -> str:
        return f"ftp://127.0.0.1:{self.port}{path}"

    def listing(self, folder: str) -> bytes:
        inside = {path[len(folder) :] for path in self.files if path.startswith(folder)}
        names = sorted({name.partition("/")[0] + ("/" if "/" in name else "") for name in inside})
        lines = [
            f"{'d' if name.endswith('/') else '-'}rw-r--r-- 1 owner group 42 Nov 15 12:00 {name.rstrip('/')}\r\n"
            for name in names
        ]
        return "".join(lines).encode()

    async def talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        here, data = "/", asyncio.get_running_loop().create_future()
        self.opened.append(writer)

        def say(text: str) -> None:
            writer.write(f"{text}\r\n".encode())

        say("220 ready")
        while line := (await reader.readline()).decode().strip():
            self.commands.append(line)
            verb, _, word = line.partition(" ")
            match verb.upper():
                case "USER":
                    say("331 any password")
                case "PASS":
                    say("230 welcome")
                case "PWD":
                    say(f'257 "{here}"')
                case "CWD":
                    here = normpath(join(here, word))
                    say("250 there")
                case "TYPE":
                    say("200 so be it")
                case "EPSV":
                    data = asyncio.get_running_loop().create_future()
                    listening = await asyncio.start_server(self._hand_to(data), "127.0.0.1", 0)
                    self.opened.append(listening)
                    say(f"229 listening (|||{listening.sockets[0].getsockname()[1]}|)")
                case "LIST" | "RETR":
                    folder = here.rstrip("/") + "/"
                    body = self.listing(folder) if verb.upper() == "LIST" else self.files.get(folder + word)
                    if body is None:
                        say("550 no such file")
                        continue
                    say("150 here it comes")
                    sink: asyncio.StreamWriter = await data
                    sink.write(body)
                    sink.close()
                    say("226 complete")
                case "QUIT":
                    say("221 bye")
                case _:
                    say("502 not here")

    def _hand_to(
        self, data: asyncio.Future[asyncio.StreamWriter]
    ) -> Callable[[asyncio.StreamReader, asyncio.StreamWriter], None]:
        def hand(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            self.opened.append(writer)
            data.set_result(writer)

        return hand


@asynccontextmanager
async def ftp_server(files: dict[str, bytes]) -> AsyncIterator[FtpServer]:
    server = FtpServer(files)
    listening = await asyncio.start_server(server.talk, "127.0.0.1", 0)
    server.port = listening.sockets[0].getsockname()[1]
    try:
        yield server
    finally:
        for each in [listening, *server.opened]:
            each.close()
