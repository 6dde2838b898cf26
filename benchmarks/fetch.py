"""How many transfers a second, and what does one cost? Our client beside two others, in the same run.

    python -m benchmarks.fetch [--rounds 3] [--seconds 2] [--hosts 64] [--json]

The clients are `gossamer.fetch.http.Http`, aiohttp and httpx. The other two are not among the project's dependencies:
`pip install aiohttp httpx` in the same environment brings them; one that is missing is left out, and that is said.

All three do the same: 64 hosts (127.0.0.1 and on) are asked at once, each for one page of 21 KB at a time, with the
same headers, and the whole body is read. With TLS they verify the server's certificate against the same authority.
The event loop is uvloop for all. Each measurement has a fresh client and begins when every host has answered once.
The clients take turns, in another order each round, because the machine is never quite quiet.

The server is a process of its own, so that its CPU time is not counted. It speaks HTTP/1.1, keeps a connection or
closes it as the path wants it, and gives no TLS sessions to resume: a new connection is a whole handshake for all.
As it is written in Python too, it may be what limits the transfers a second; the CPU time is the figure to compare.
httpx looks through all its connections at every request, so that its figures get worse with the number of hosts.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import gc
import importlib
import importlib.util
import json
import platform
import resource
import socket
import ssl
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import pycurl
import uvloop

from gossamer.clock import RealClock
from gossamer.fetch.coding import ACCEPT_ENCODING
from gossamer.fetch.dns import Dns
from gossamer.fetch.http import Http
from gossamer.fetch.transfer import Transfers
from gossamer.records import Fetched
from gossamer.settings import DnsSettings, FetchSettings
from tests.fetch.certificates import Authority

BODY = b"<p>A page of ordinary length, as the web has them on average.</p>\n" * 320  # 21 KB
AGENT = "gossamer-benchmark/1"
SETTINGS = FetchSettings()
HEADERS = {
    "User-Agent": AGENT,
    "Accept": SETTINGS.accept,
    "Accept-Language": SETTINGS.accept_language,
    "Accept-Encoding": ACCEPT_ENCODING,
}
KINDS = {
    "plain, kept connections": ("http", "/keep"),
    "plain, new connections": ("http", "/close"),
    "TLS, kept connections": ("https", "/keep"),
    "TLS, new connections": ("https", "/close"),
}

Get = Callable[[str], Awaitable[int]]
"""One transfer: a URL, and the length of the body that came."""


# --- The clients ---


@contextlib.asynccontextmanager
async def gossamer(ca_file: Path) -> AsyncIterator[Get]:
    clock = RealClock()
    dns = Dns(clock, DnsSettings())
    transfers = Transfers(dns, clock, FetchSettings(ca_file=str(ca_file)), allow_private=True)
    http = Http(transfers, AGENT)

    async def get(url: str) -> int:
        answer = await http.fetch(url)
        if not isinstance(answer, Fetched):
            raise RuntimeError(f"{url}: {answer}")
        return len(answer.body)

    yield get
    await transfers.close()
    await dns.close()


@contextlib.asynccontextmanager
async def aiohttp(ca_file: Path) -> AsyncIterator[Get]:
    library = importlib.import_module("aiohttp")
    connector = library.TCPConnector(limit=0, ssl=ssl.create_default_context(cafile=str(ca_file)))
    jar = library.DummyCookieJar()  # we keep no cookies either
    async with library.ClientSession(connector=connector, headers=HEADERS, cookie_jar=jar) as session:

        async def get(url: str) -> int:
            async with session.get(url, allow_redirects=False) as answer:
                return len(await answer.read())

        yield get


@contextlib.asynccontextmanager
async def httpx(ca_file: Path) -> AsyncIterator[Get]:
    library = importlib.import_module("httpx")
    async with library.AsyncClient(
        headers=HEADERS,
        verify=ssl.create_default_context(cafile=str(ca_file)),
        limits=library.Limits(max_connections=None, max_keepalive_connections=None),
        timeout=60.0,
        trust_env=False,
    ) as client:

        async def get(url: str) -> int:
            return len((await client.get(url)).content)

        yield get


CLIENTS: dict[str, Callable[[Path], AbstractAsyncContextManager[Get]]] = {
    "gossamer": gossamer,
    "aiohttp": aiohttp,
    "httpx": httpx,
}


# --- The measurement ---


@dataclass(frozen=True)
class Sample:
    per_s: float
    cpu_us: float  # a transfer, of this process: user and system


async def measure(client: AbstractAsyncContextManager[Get], urls: list[str], seconds: float) -> Sample:
    """Every URL again and again, one transfer a host at a time, until the time is up."""
    async with client as get:
        await asyncio.gather(*(_whole(get, url) for url in urls))
        gc.collect()
        started, cpu_before_s = time.perf_counter(), cpu_s()
        counts = await asyncio.gather(*(_repeat(get, url, started + seconds) for url in urls))
        spent_s, cpu_spent_s = time.perf_counter() - started, cpu_s() - cpu_before_s
    return Sample(sum(counts) / spent_s, cpu_spent_s / sum(counts) * 1e6)


async def _repeat(get: Get, url: str, until: float) -> int:
    count = 0
    while time.perf_counter() < until:
        await _whole(get, url)
        count += 1
    return count


async def _whole(get: Get, url: str) -> None:
    length = await get(url)
    if length != len(BODY):
        raise RuntimeError(f"{url}: {length} bytes came instead of {len(BODY)}")


def cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


# --- The server ---


class Page(asyncio.Protocol):
    """Answers each request with the same page, and looks at nothing but the path."""

    HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: %d\r\n" % len(BODY)
    KEEP = HEAD + b"\r\n" + BODY
    CLOSE = HEAD + b"Connection: close\r\n\r\n" + BODY

    def __init__(self) -> None:
        self._transport: asyncio.Transport | None = None
        self._received = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's is one in all but name

    def data_received(self, data: bytes) -> None:
        self._received += data
        if self._transport is None or not self._received.endswith(b"\r\n\r\n"):
            return
        is_last = self._received.startswith(b"GET /close ")
        self._received = b""
        self._transport.write(self.CLOSE if is_last else self.KEEP)
        if is_last:
            self._transport.close()


async def serve(folder: Path, hosts: int) -> None:
    """Until the standard input ends: whoever started this closes it, or is dead."""
    loop = asyncio.get_running_loop()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "chain.pem", folder / "key.pem")
    context.options |= ssl.OP_NO_TICKET
    context.num_tickets = 0
    ports = {}
    for scheme, tls in (("http", None), ("https", context)):
        listening = _listeners(hosts)
        ports[scheme] = listening[0].getsockname()[1]
        for listener in listening:
            await loop.create_server(Page, sock=listener, ssl=tls, backlog=128)
    print(json.dumps(ports), flush=True)
    await loop.run_in_executor(None, sys.stdin.read)


def _listeners(hosts: int) -> list[socket.socket]:
    """One port on every address; a port that is taken on one of them is given up for another."""
    while True:
        listening = [socket.create_server(("127.0.0.1", 0))]
        port = listening[0].getsockname()[1]
        try:
            return listening + [socket.create_server((address, port)) for address in addresses(hosts)[1:]]
        except OSError:
            listening[0].close()


def addresses(hosts: int) -> list[str]:
    return [f"127.0.0.{number}" for number in range(1, hosts + 1)]


@contextlib.contextmanager
def server(folder: Path, hosts: int) -> Iterator[dict[str, int]]:
    """The port of each scheme, and the authority's certificate in the folder."""
    authority = Authority()
    authority.issue(*addresses(hosts)).save(folder)
    (folder / "ca.pem").write_bytes(authority.pem)
    command = [sys.executable, "-m", "benchmarks.fetch", "--hosts", str(hosts), "--serve", str(folder)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield json.loads(process.stdout.readline())


# --- The run ---


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure transfers, ours beside others'.")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=2.0, help="of each measurement")
    parser.add_argument("--hosts", type=int, default=64, choices=range(1, 255), metavar="1..254")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--serve", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.serve is not None:
        run(serve(arguments.serve, arguments.hosts))
        return
    missing = [name for name in CLIENTS if importlib.util.find_spec(name) is None]
    if missing:
        print(f"left out: {', '.join(missing)}; to have them: pip install {' '.join(missing)}", file=sys.stderr)
    with tempfile.TemporaryDirectory() as folder, server(Path(folder), arguments.hosts) as ports:
        names = [name for name in CLIENTS if name not in missing]
        facts = run(rounds(Path(folder) / "ca.pem", ports, names, arguments))
    facts |= {"left_out": missing, "versions": {name: version_of(name) for name in names}}
    print(json.dumps(facts) if arguments.json else "\n".join(table(facts)))


async def rounds(
    ca_file: Path, ports: dict[str, int], names: list[str], arguments: argparse.Namespace
) -> dict[str, Any]:
    samples: dict[str, dict[str, list[Sample]]] = {kind: {name: [] for name in names} for kind in KINDS}
    for number in range(arguments.rounds):
        turn = number % len(names)
        for kind, (scheme, path) in KINDS.items():
            urls = [f"{scheme}://{address}:{ports[scheme]}{path}" for address in addresses(arguments.hosts)]
            for name in names[turn:] + names[:turn]:
                sample = await measure(CLIENTS[name](ca_file), urls, arguments.seconds)
                samples[kind][name].append(sample)
                line = f"{kind}, {name}: {sample.per_s:,.0f}/s, {sample.cpu_us:,.0f} µs"
                print(f"round {number + 1}, {line}", file=sys.stderr, flush=True)
    return {
        "rounds": arguments.rounds,
        "seconds": arguments.seconds,
        "hosts": arguments.hosts,
        "body_bytes": len(BODY),
        "results": {
            kind: {name: summary(by_name[name], by_name["gossamer"]) for name in names}
            for kind, by_name in samples.items()
        },
    }


def summary(samples: list[Sample], ours: list[Sample]) -> dict[str, Any]:
    """Medians with the least and the most; ratios are taken round by round, against what we needed in the same."""
    rates, cpu = [sample.per_s for sample in samples], [sample.cpu_us for sample in samples]
    return {
        "transfers_per_s": round(statistics.median(rates)),
        "transfers_per_s_spread": [round(min(rates)), round(max(rates))],
        "cpu_us": round(statistics.median(cpu)),
        "cpu_us_spread": [round(min(cpu)), round(max(cpu))],
        "cpu_ratio": round(
            statistics.median(one.cpu_us / our.cpu_us for one, our in zip(samples, ours, strict=True)), 2
        ),
    }


def table(facts: dict[str, Any]) -> Iterator[str]:
    yield f"{facts['hosts']} hosts, {facts['body_bytes']:,} bytes a page, {facts['rounds']} rounds"
    yield "Given are medians, with the least and the most between brackets."
    yield ", ".join(f"{name} {version}" for name, version in facts["versions"].items())
    for kind, by_name in facts["results"].items():
        yield f"\n{kind:<26}{'transfers/s':>24}{'CPU µs a transfer':>26}{'CPU, ours = 1':>16}"
        for name, figures in by_name.items():
            rate = _spread(figures["transfers_per_s"], *figures["transfers_per_s_spread"])
            cpu = _spread(figures["cpu_us"], *figures["cpu_us_spread"])
            yield f"  {name:<24}{rate:>24}{cpu:>26}{figures['cpu_ratio']:>16.2f}"


def _spread(middle: int, least: int, most: int) -> str:
    return f"{middle:,} ({least:,}-{most:,})"


def version_of(name: str) -> str:
    if name == "gossamer":
        return f"with {pycurl.version.split(' libssh2')[0]}"
    return f"{importlib.import_module(name).__version__} on Python {platform.python_version()}"


def run(work: Any) -> Any:
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(work)


if __name__ == "__main__":
    main()
