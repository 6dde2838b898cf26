"""Every request passes one gate: what servers see that have several names, addresses or reasons to be asked."""

from __future__ import annotations

import time
from itertools import pairwise
from pathlib import Path

from tests.crawl.command import gossamer, quick_settings
from tests.fetch.raw_server import raw_server

MOVED, LITERAL = "127.0.0.2", "127.0.0.4"
DELAY_S, RETRY_AFTER_S, IP_PER_S, IP_BURST = 0.1, 2, 4.0, 2
PAGES = 8


async def test_a_host_is_asked_politely_for_whatever_reason(folder: Path) -> None:
    asked: list[tuple[float, str, str]] = []

    def answer(request: bytes) -> list[bytes | float]:
        path = request.split()[1].decode()
        host = request.partition(b"Host: ")[2].partition(b":")[0].decode()
        asked.append((time.monotonic(), host, path))
        if path == "/elsewhere.txt":
            return [f"HTTP/1.1 503 X\r\nRetry-After: {RETRY_AFTER_S}\r\nContent-Length: 0\r\n\r\n".encode()]
        if path == "/robots.txt" and host == "127.0.0.1":
            target = f"http://{MOVED}:{server.port}/elsewhere.txt"
            return [f"HTTP/1.1 301 X\r\nLocation: {target}\r\nContent-Length: 0\r\n\r\n".encode()]
        if path == "/robots.txt":
            return [b"HTTP/1.1 404 X\r\nContent-Length: 0\r\n\r\n"]
        body = f"<p>{host}{path}" + "".join(f'<a href="/{n}">{n}</a>' for n in range(PAGES))
        return [f"HTTP/1.1 200 X\r\nContent-Type: text/html\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode()]

    async with raw_server(also=(MOVED, "127.0.0.3", LITERAL)) as server:
        server.answer = answer
        folder.mkdir(exist_ok=True)
        (folder / "more.toml").write_text('[dns]\noverrides = {"dot.test" = "127.0.0.3"}\n')
        seeds = [server.url("/", host) for host in ("127.0.0.1", MOVED, "dot.test", "dot.test.", LITERAL)]
        flags = ["--allow-private", "--workers", 1, "--config", folder / "more.toml", *quick_settings()]
        more = {"politeness.delay_s": DELAY_S, "politeness.ip_requests_per_s": IP_PER_S}
        for key, value in (more | {"politeness.ip_burst": IP_BURST, "robots.retry_s": 60}).items():
            flags += ["--set", f"{key}={value}"]
        ran = await gossamer("crawl", *seeds, "--dir", folder / "crawl", *flags, "--max-time", "9")
        assert ran.code == 0, ran.err

    # Somebody else's robots.txt: the host that it was moved to asked for less, and gets less.
    of_moved = [(at, path) for at, host, path in asked if host == MOVED]
    elsewhere = next(at for at, path in of_moved if path == "/elsewhere.txt")
    after = [at - elsewhere for at, _ in of_moved if at > elsewhere]
    assert len(of_moved) > 2 and after and min(after) >= RETRY_AFTER_S - 0.05, of_moved

    # A dot at the end names the same machine.
    dotted = [at for at, host, _ in asked if host.startswith("dot.test")]
    assert {host for _, host, _ in asked if host.startswith("dot")} == {"dot.test", "dot.test."}
    assert min(later - before for before, later in pairwise(dotted)) >= DELAY_S - 0.01, dotted

    # An address in the URL counts like one from a name server.
    literal = [at for at, host, _ in asked if host == LITERAL]
    assert len(literal) == PAGES + 2
    assert literal[-1] - literal[0] >= (len(literal) - 1 - IP_BURST) / IP_PER_S - 0.1, literal
