"""Documents that take parsers long, through the command: no worker dies of them, and none holds up the end."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from tests.crawl.command import gossamer, quick_settings, start, until
from tests.process.documents import slow_pdf

HTML, PDF, RSS = "text/html", "application/pdf", "application/rss+xml"
ATTRIBUTES = b"<p " + b" ".join(b"a%x" % number for number in range(100_000)) + b">text <a href='/more'>more</a>"
HIDDEN_ENDS = b"<p " + b" ".join(b"a%x='>'" % number for number in range(80_000)) + b">text <a href='/more'>more</a>"
NESTING = b"<p><a href='/more'>more</a>" + b"<div x='</div>'>" * 60_000
REFERENCE = b"<rss><item><link>/more</link><title>&amp;#" + b"9" * 5000 + b";</title></item></rss>"


class Documents:
    """A host for each document; whatever else they are asked for is a short page."""

    def __init__(self, documents: list[tuple[str, bytes]]) -> None:
        self.documents = {f"127.2.0.{number}": document for number, document in enumerate(documents, 1)}
        self.port = 0
        self.asked: list[str] = []

    @property
    def urls(self) -> list[str]:
        return [f"http://{host}:{self.port}/" for host in self.documents]

    async def talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        host = writer.get_extra_info("sockname")[0]
        try:
            while path := (await reader.readuntil(b"\r\n\r\n")).split()[1].decode():
                self.asked.append(host + path)
                media_type, body = self.documents[host] if path == "/" else (HTML, f"<p>{host}{path}".encode())
                status = "404 Not Found" if path == "/robots.txt" else "200 OK"
                head = f"HTTP/1.1 {status}\r\nContent-Type: {media_type}\r\nContent-Length: {len(body)}\r\n\r\n"
                writer.write(head.encode() + body)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


@asynccontextmanager
async def serving(*documents: tuple[str, bytes]) -> AsyncIterator[Documents]:
    served = Documents(list(documents))
    servers: list[asyncio.Server] = []
    for host in served.documents:
        servers.append(await asyncio.start_server(served.talk, host, served.port))
        served.port = servers[0].sockets[0].getsockname()[1]
    try:
        yield served
    finally:
        await asyncio.sleep(0.01)
        for server in servers:
            server.close()


async def test_no_document_takes_a_worker_down_and_why_tells_what_could_not_be_read(folder: Path) -> None:
    hostile = ((HTML, ATTRIBUTES), (RSS, REFERENCE), (PDF, slow_pdf()), (HTML, HIDDEN_ENDS), (HTML, NESTING))
    async with serving(*hostile) as served:
        settings = ("--set", "process.time_s_max=1", *quick_settings())
        ran = await gossamer("crawl", *served.urls, "--dir", folder / "crawl", "--allow-private", *settings)
        assert ran.code == 0 and "takes its place" not in ran.err, ran.err
        assert {f"127.2.0.{number}/more" for number in (1, 2, 4, 5)} <= set(served.asked)
        (told,) = (await gossamer("why", folder / "crawl", served.urls[2], "--json")).lines()
    assert (told["state"], told["reason"]) == ("done", "unreadable")
    assert told["detail"] == "it took longer than 1 s to read" and told["archive"]
    assert "unreadable" in ran.out


async def test_documents_in_line_do_not_hold_up_the_end(folder: Path) -> None:
    async with serving(*[(PDF, slow_pdf())] * 12) as served:
        crawl = ("crawl", *served.urls, "--dir", folder / "crawl", "--allow-private", "--workers", 1)
        process = await start(*crawl, *quick_settings())
        await until(lambda: sum(asked.endswith("/") for asked in served.asked) == 12)
        process.send_signal(signal.SIGTERM)
        async with asyncio.timeout(60):
            _, err = await process.communicate()
        assert process.returncode == 0, err
        pages = (await gossamer("pages", folder / "crawl", "--json")).lines()
        assert len(pages) < 3  # the others wait for the next start
        told = [(await gossamer("why", folder / "crawl", url, "--json")).lines()[0] for url in served.urls[-2:]]
    assert {each["state"] for each in told} <= {"queued", "in_flight", "done"}
