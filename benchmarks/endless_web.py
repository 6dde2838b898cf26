"""A web without end, answered from memory by a process of its own; for the benchmarks beside it, never for users.

    python -m benchmarks.endless_web --port 0 [--hosts 1000] [--latency 0] [--links 30] [--new 10] [--log F]

The hosts are 127.1.0.1, 127.1.0.2, ... as in the synthetic web. Every page /p/N exists and leads to the next pages of
a tree, which nobody has seen before, and to some that are known already, one in five of them on another host.
Its text is its own, so that no two pages are near. It prints its port, and ends with SIGTERM; then the log, if one is
wanted, is written in one go: a line for each request with its moments and its host.

An answer ends just before it is written: the client may have it before the write returns. So whoever waits from the
end of an answer on is never accused wrongly.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import random
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import cast
from zlib import crc32

import uvloop

from gossamer.bench.versions import ROOT
from gossamer.synthetic_web.access_log import Entry
from gossamer.synthetic_web.atlas import Atlas

WORDS = [
    f"{a}{b}{c}" for a in ("ra", "mo", "ti", "lu", "se") for b in ("n", "ld", "st", "k") for c in ("a", "or", "is")
]
ROBOTS = b"User-agent: *\nDisallow: /private/\n"
FILES_MAX = 65_536
FROM_HERE = ("env", f"PYTHONPATH={ROOT}")  # a command that begins with it finds this tree, wherever it runs


class EndlessWeb:
    def __init__(self, hosts: int, links: int, new: int, words: int) -> None:
        self.hosts, self.links, self.new, self.words = hosts, links, new, words
        self.addresses = [Atlas.address(host) for host in range(hosts)]
        self.port = 0

    def page(self, host: str, path: str) -> bytes:
        number = int(path[3:]) if path.startswith("/p/") else 0
        chance = random.Random(crc32(f"{host}/{number}".encode()))
        anchors = [f"/p/{child}" for child in range(number * self.new + 1, (number + 1) * self.new + 1)]
        for _ in range(self.links - self.new):
            place = "" if chance.random() < 0.8 else f"http://{chance.choice(self.addresses)}:{self.port}"
            anchors.append(f"{place}/p/{int(chance.random() * (number + 1))}")
        text = " ".join(chance.choices(WORDS, k=self.words))
        items = "".join(
            f'<li><a href="{anchor}">{word}</a></li>'
            for anchor, word in zip(anchors, chance.choices(WORDS, k=len(anchors)), strict=True)
        )
        return (
            f"<!DOCTYPE html><html lang=en><head><title>{host} {number}</title></head>"
            f"<body><main><p>{text}</p></main><ul>{items}</ul></body></html>"
        ).encode()


class Connection(asyncio.Protocol):
    def __init__(self, web: EndlessWeb, latency_s: float, log: list[tuple[float, float, str]] | None) -> None:
        self.web, self.latency_s, self.log = web, latency_s, log
        self.received = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        self.received += data
        while b"\r\n\r\n" in self.received:
            head, _, self.received = self.received.partition(b"\r\n\r\n")
            path = head.split(b" ", 2)[1].decode()
            at = head.lower().index(b"\r\nhost:") + 7
            host = (
                head[at : head.find(b"\r\n", at) if b"\r\n" in head[at:] else None].strip().decode().partition(":")[0]
            )
            moment = time.time()
            if self.latency_s:
                asyncio.get_running_loop().call_later(self.latency_s, self.answer, path, host, moment)
            else:
                self.answer(path, host, moment)

    def answer(self, path: str, host: str, came_at: float) -> None:
        is_robots = path == "/robots.txt"
        body = ROBOTS if is_robots else self.web.page(host, path)
        kind = b"text/plain" if is_robots else b"text/html; charset=utf-8"
        head = b"HTTP/1.1 200 OK\r\nContent-Type: %b\r\nContent-Length: %d\r\n\r\n" % (kind, len(body))
        if self.log is not None:
            self.log.append((came_at, time.time(), host))
        if not self.transport.is_closing():
            self.transport.write(head + body)


async def serve(web: EndlessWeb, port: int, latency_s: float, log_file: Path | None) -> None:
    log: list[tuple[float, float, str]] | None = [] if log_file else None
    loop, stop = asyncio.get_running_loop(), asyncio.Event()
    loop.add_signal_handler(signal.SIGTERM, stop.set)
    server = await loop.create_server(lambda: Connection(web, latency_s, log), "0.0.0.0", port, backlog=16_384)
    web.port = server.sockets[0].getsockname()[1]
    print(web.port, flush=True)
    await stop.wait()
    server.close()
    if log_file is not None and log is not None:
        log_file.write_text("".join(f"{came:.6f} {ended:.6f} {host}\n" for came, ended, host in log))


def more_files() -> None:
    """As many open files as the system lets us have: a connection is one."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = FILES_MAX if hard == resource.RLIM_INFINITY else min(hard, FILES_MAX)
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


@contextmanager
def serving(folder: Path, *, hosts: int, log: Path | None = None, **options: float) -> Iterator[Path]:
    """Serve in a process of its own; gives a file with the seeds, a root page of each host."""
    more_files()
    words = [word for name, value in options.items() for word in (f"--{name}", str(value))]
    command = [*FROM_HERE, sys.executable, "-m", "benchmarks.endless_web", "--hosts", str(hosts), *words]
    command += ["--log", str(log)] if log else []
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            port = int(server.stdout.readline())
            seeds = folder / "seeds.txt"
            seeds.write_text("".join(f"http://{Atlas.address(host)}:{port}/\n" for host in range(hosts)))
            yield seeds
        finally:
            server.terminate()


def entries(log: Path) -> list[Entry]:
    rows = (line.split() for line in log.read_text().splitlines())
    return [Entry(float(came), float(ended), host, 0, "", 200) for came, ended, host in rows]


def crawl_command(seeds: Path, *words: str, **settings: object) -> list[str]:
    """Of a crawl into `crawl` of the current folder. `politeness__delay_s=0` is `--set politeness.delay_s=0`."""
    flags = [word for key, value in settings.items() for word in ("--set", f"{key.replace('__', '.')}={value}")]
    start = [sys.executable, "-m", "gossamer", "crawl", "--allow-private", "--dir", "crawl", "--file", str(seeds)]
    return [*FROM_HERE, *start, *flags, *words]


def show(rows: list[dict[str, float | int | str]], *, as_json: bool, last: bool = False) -> None:
    """One row as soon as it is there, in columns; as JSON all of them at the end."""
    if as_json:
        if last:
            print(json.dumps(rows))
        return
    if len(rows) == 1 and not last:
        print("  ".join(f"{name:>12}" for name in rows[0]))
    if rows and not last:
        print(
            "  ".join(
                f"{value:>12,.4g}" if isinstance(value, float) else f"{value:>12}" for value in rows[-1].values()
            ),
            flush=True,
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--hosts", type=int, default=1000)
    parser.add_argument("--latency", type=float, default=0.0)
    parser.add_argument("--links", type=int, default=30)
    parser.add_argument("--new", type=int, default=10)
    parser.add_argument("--words", type=int, default=300)
    parser.add_argument("--log", type=Path)
    chosen = parser.parse_args()
    more_files()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    uvloop.run(
        serve(
            EndlessWeb(chosen.hosts, chosen.links, chosen.new, chosen.words), chosen.port, chosen.latency, chosen.log
        )
    )
