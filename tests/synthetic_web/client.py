"""The smallest HTTP client that tells what really came over the wire, and a few ways to find things in a web."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from gossamer.synthetic_web import Web


@dataclass
class Reply:
    status: int | None = None  # None: the connection ended before an answer came
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""
    complete: bool = False


async def get(
    url: str, headers: dict[str, str] | None = None, *, method: str = "GET", address: str = "", timeout_s: float = 5.0
) -> Reply:
    """One request on a connection of its own; TimeoutError where the answer does not end in time."""
    parts = urlsplit(url)
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    lines = [f"{method} {target} HTTP/1.1", f"Host: {parts.netloc}", "Connection: close"]
    lines += [f"{name}: {value}" for name, value in (headers or {}).items()]
    async with asyncio.timeout(timeout_s):
        reader, writer = await asyncio.open_connection(address or parts.hostname, parts.port)
        try:
            writer.write("\r\n".join([*lines, "", ""]).encode())
            return await read_reply(reader, method)
        except ConnectionResetError:
            return Reply()
        finally:
            writer.close()


async def read_reply(reader: asyncio.StreamReader, method: str = "GET") -> Reply:
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    except asyncio.IncompleteReadError:
        return Reply()
    status_line, *lines = head.strip().split("\r\n")
    headers = {name.lower(): value for name, value in (line.split(": ", 1) for line in lines)}
    reply = Reply(int(status_line.split(" ")[1]), headers)
    try:
        if method == "HEAD" or reply.status == 304:
            pass
        elif headers.get("transfer-encoding") == "chunked":
            while size := int(await reader.readline(), 16):
                reply.body += (await reader.readexactly(size + 2))[:-2]
            await reader.readexactly(2)
        elif "content-length" in headers:
            reply.body = await reader.readexactly(int(headers["content-length"]))
        else:
            reply.body = await reader.read(-1)
    except asyncio.IncompleteReadError as error:
        reply.body += error.partial
        return reply
    reply.complete = True
    return reply


async def until(batch: Callable[[], object]) -> None:
    """Let the event loop go round until something has happened that nobody signals."""
    async with asyncio.timeout(5.0):
        while not batch():  # noqa: ASYNC110
            await asyncio.sleep(0)


def carrier(web: Web, behaviour: str, which: int = 0) -> tuple[int, int]:
    """The host and number of a page that carries a behaviour, on a host that may be crawled."""
    carriers = (
        (host, page)
        for host in range(web.options.hosts)
        for page in range(web.options.pages_per_host)
        if not web.atlas.is_barren(host) and web.atlas.carries(behaviour, host, page)
    )
    return [place for _, place in zip(range(which + 1), carriers, strict=False)][which]


def url_of(web: Web, behaviour: str, path: str, which: int = 0) -> str:
    """The URL of something that a behaviour brings, such as /gone/{page}."""
    host, page = carrier(web, behaviour, which)
    return web.url(host, path.format(page=page))
