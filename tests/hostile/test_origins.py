"""One dead port of a host: the pages of its other port are all fetched, at the host's delay, and nothing is lost.

Waits are seconds instead of minutes here (`quick_settings`), but the first of them are longer than the whole of the
living port takes: whoever waits for the dead one is seen in the access log of the living one.
"""

from __future__ import annotations

import asyncio
import json
import signal
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.crawl.command import gossamer, quick_settings, start, until
from tests.crawl.judge import DELAY_S
from tests.fetch.certificates import self_signed

HOST = "127.8.0.1"
PAGES = 30
WAIT_S = 90.0  # of robots.txt, and of a failed page: a crawl does not stay for so long


class Port:
    """A server whose front page links to `links` first, then to its own pages. Its log has the requests it got."""

    def __init__(self, links: list[str] | None = None) -> None:
        self.links = links or []
        self.log: list[tuple[float, str]] = []
        self.port = 0

    def __str__(self) -> str:
        return f"http://{HOST}:{self.port}"

    @property
    def pages(self) -> set[str]:
        return {path for _, path in self.log if path != "/robots.txt"}

    @property
    def gaps_s(self) -> list[float]:
        return [later - earlier for (earlier, _), (later, _) in zip(self.log, self.log[1:], strict=False)]

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                path = head.split()[1].decode()
                self.log.append((time.monotonic(), path))
                status, body = (404, "") if path == "/robots.txt" else (200, self.page(path))
                kind = "Content-Type: text/html\r\n"
                writer.write(f"HTTP/1.1 {status} X\r\n{kind}Content-Length: {len(body)}\r\n\r\n{body}".encode())
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    def page(self, path: str) -> str:
        links = [*self.links, *(f"/{n}" for n in range(1, PAGES))] if path == "/" else []
        return f"<title>{path}</title>" + "".join(f"<a href='{link}'>{link}</a>" for link in links)

    @asynccontextmanager
    async def open(self, port: int = 0) -> AsyncIterator[Port]:
        server = await asyncio.start_server(self.answer, HOST, port)
        self.port = server.sockets[0].getsockname()[1]
        try:
            yield self
        finally:
            server.close()


@asynccontextmanager
async def dead(variant: str) -> AsyncIterator[str]:
    """An origin at which nobody answers."""
    hung = asyncio.Event()

    async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1000)
        writer.write(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
        writer.close()

    async def hang(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await hung.wait()
        writer.close()

    if variant == "closed":
        async with Port().open() as port:
            pass
        yield str(port)
    elif variant == "silent":
        server = await asyncio.start_server(hang, HOST, 0)
        yield f"http://{HOST}:{server.sockets[0].getsockname()[1]}"
        hung.set()
        server.close()
    else:
        server = await asyncio.start_server(refuse, HOST, 0)
        yield f"https://{HOST}:{server.sockets[0].getsockname()[1]}"  # it speaks HTTP, and no TLS
        server.close()


def flags(crawl: Path, wait_s: float = WAIT_S) -> list[object]:
    waits = {"robots__retry_s": wait_s, "frontier__retries_s": wait_s, "fetch__first_byte_timeout_s": 1}
    return ["--dir", crawl, "--allow-private", "--workers", 1, *quick_settings(**waits)]


@pytest.mark.parametrize(("variant", "cause"), [("closed", "connect"), ("silent", "timeout"), ("plain", "tls")])
async def test_a_dead_port_does_not_hold_up_the_others_of_its_host(folder: Path, variant: str, cause: str) -> None:
    crawl = folder / "crawl"
    async with dead(variant) as origin:
        links = [f"{origin}/{n}" for n in range(20)]
        async with Port(links).open() as living:
            ran = await gossamer("crawl", f"{living}/", *flags(crawl))
            why, hosts, status = await asyncio.gather(
                gossamer("why", crawl, links[7]), gossamer("hosts", crawl), gossamer("status", crawl, "--json")
            )
    assert living.pages == {"/", *(f"/{n}" for n in range(1, PAGES))}, ran.err
    assert min(living.gaps_s) >= DELAY_S * 0.9 and max(living.gaps_s) < WAIT_S / 3, living.gaps_s
    facts = json.loads(status.out)
    assert (facts["complete"], facts["waiting"], facts["queued"], facts["failed"]) == (False, 20, 0, 0), facts
    assert f"away: {origin}: robots.txt: {cause}" in hosts.out and "its other origins go on" in hosts.out, hosts.out
    assert "waiting: robots.txt could not be fetched" in why.out and f"{origin}: robots.txt: {cause}" in why.out


async def test_the_dead_port_comes_to_life_after_a_kill_and_its_pages_are_fetched(folder: Path) -> None:
    crawl, port = folder / "crawl", Port()
    async with dead("closed") as origin:
        links = [f"{origin}/{n}" for n in range(1, PAGES)]
        async with Port(links).open() as living:
            running = await start("crawl", f"{living}/", *flags(crawl, 10), "--forever")
            await until(lambda: len(living.pages) > PAGES / 2, timeout_s=60)
            running.send_signal(signal.SIGKILL)
            await running.communicate()
            async with port.open(int(origin.rpartition(":")[2])):
                again = await start("crawl", *flags(crawl, 10), "--forever")
                try:
                    await until(lambda: len(living.pages) == PAGES, timeout_s=60)
                    await until(lambda: len(port.pages) == PAGES - 1, timeout_s=60)
                finally:
                    again.send_signal(signal.SIGINT)
                    await again.communicate()
    assert port.log[0][1] == "/robots.txt" and min(port.gaps_s) >= DELAY_S * 0.9
    assert json.loads((await gossamer("status", crawl, "--json")).out)["waiting"] == 0


async def test_retry_asks_a_dead_port_that_has_come_to_life_at_once(folder: Path) -> None:
    crawl, port = folder / "crawl", Port()
    async with dead("closed") as origin:
        links = [f"{origin}/{n}" for n in range(1, PAGES)]
        async with Port(links).open() as living:
            await gossamer("crawl", f"{living}/", *flags(crawl))
            assert len(living.pages) == PAGES
            async with port.open(int(origin.rpartition(":")[2])):
                retried = await gossamer("retry", crawl)
                assert retried.out.startswith(f"{PAGES - 1} URLs queued again"), retried
                await gossamer("crawl", *flags(crawl))
    assert len(port.pages) == PAGES - 1
    assert json.loads((await gossamer("status", crawl, "--json")).out)["complete"]


async def test_where_the_plain_port_is_closed_the_secure_one_is_crawled(folder: Path) -> None:
    """The seeds name both, as links on the web do, and nobody listens any more at the first."""
    crawl = folder / "crawl"
    async with dead("closed") as plain:
        living = Port([f"{plain}/old"])
        server = await asyncio.start_server(living.answer, HOST, 0, ssl=self_signed(HOST).context())
        async with server:
            secure = f"https://{HOST}:{server.sockets[0].getsockname()[1]}"
            trust = ["--set", "fetch.tls=record"]
            ran = await gossamer("crawl", f"{plain}/", f"{secure}/", *flags(crawl), *trust)
    assert len(living.pages) == PAGES, ran.err + ran.out
    assert json.loads((await gossamer("status", crawl, "--json")).out)["waiting"] == 2
