"""All at once: hosts that each want our time or memory for themselves, beside twenty friendly ones; and a crawl.

The friendly hosts are the judges. At each of their requests it is noted how long the worker's event loop has worked
(its own CPU time, so that a machine with other things to do makes no difference), and all the time how much memory
all processes of the crawl hold together: supervisor, worker and its reader of documents. A page or an answer that
holds the event loop up is then a long pause of all friendly hosts, whatever the clock on the wall says.
"""

from __future__ import annotations

import asyncio
import gzip
import os
import time
import zlib
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import brotli

from tests.crawl.command import gossamer, quick_settings, start
from tests.fetch.dns_server import addresses, dns_server
from tests.hostile.behaviours.codings import MIB, coded, words
from tests.hostile.server import IN_CHUNKS, Connection, playing
from tests.hostile.web import NOT_FOUND, page

FRIENDLY_HOSTS, FRIENDLY_PAGES = 20, 10
DELAY_S = 0.25
CRAWL_S_MAX = 120.0  # it takes about eight
HOSTILE_PAGES = 1  # of each host
TICKS_PER_S = os.sysconf("SC_CLK_TCK")

# ---- hostile answers: each is made once -------------------------------------------------------------------


def bomb(*layers: Callable[[bytes], bytes], size_bytes: int = 64 * MIB) -> bytes:
    packer = zlib.compressobj(9, wbits=31)
    packed = b"".join(packer.compress(bytes(MIB)) for _ in range(size_bytes // MIB)) + packer.flush()
    for layer in layers:
        packed = layer(packed)
    return packed


def damaged(size_bytes: int) -> bytes:
    packed = bytearray(gzip.compress(words(size_bytes), 1))
    packed[-1000:-900] = bytes(100)
    return bytes(packed)


@dataclass(frozen=True)
class Hostile:
    """A head, and a body that is sent once or for ever."""

    head: bytes
    body: bytes
    is_endless: bool = False

    async def answer(self, connection: Connection) -> None:
        await connection.send(self.head)
        if self.is_endless:
            await connection.send_for_ever(self.body)
        await connection.send(self.body)


def packed(body: bytes, codings: str) -> Hostile:
    head, _, rest = coded(body, codings).partition(b"\r\n\r\n")
    return Hostile(head + b"\r\n\r\n", rest)


HTML = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"


def hostile() -> dict[str, Hostile]:
    """Made before anything is served: a server that packs a bomb answers nobody else meanwhile."""
    return {
        "one-byte-chunks": Hostile(IN_CHUNKS, b"1\r\nx\r\n" * MIB + b"0\r\n\r\n"),
        "nested-bomb": packed(bomb(gzip.compress, gzip.compress), "gzip, gzip, gzip"),
        "bomb-in-brotli": packed(bomb(lambda body: brotli.compress(body, quality=4)), "gzip, br"),
        "damaged-gzip": packed(damaged(9 * MIB), "gzip"),
        "never-ends": Hostile(HTML + b"\r\n", words(MIB // 4), is_endless=True),
        "never-ends-packed": Hostile(
            HTML + b"Content-Encoding: gzip\r\n\r\n", gzip.compress(words(MIB // 2), 1), is_endless=True
        ),
        "large-brotli": packed(brotli.compress(words(9 * MIB), quality=1, lgwin=24), "br"),
        "many-streams": packed(gzip.compress(b"x") * 200_000, "gzip"),
        # Documents.
        "attributes": document("text/html", b"<a %b href=/>x</a>" % b" ".join(b"a%d" % n for n in range(100_000))),
        "attributes-with-ends": document("text/html", hidden(b"<p %b>", b" a%d='>'")),
        "quoted-ends": document("text/html", hidden(b"%b", b"<div x%d='</div>'>")),
        "ends-of-nothing": document("text/html", hidden(b"%b", b"<dt><li></a%d></a>")),
        "srcset": document("text/html", b'<img alt="%b" srcset="%b">' % (b"a," * 200_000, b"a " * 200_000)),
        "links": document("text/html", b"".join(b"<a href=/?%d>" % n for n in range(600_000))),
        "reference": document(
            "application/rss+xml", b"<rss><channel><item><title>&#%b;</title></item></channel></rss>" % (b"9" * 5000)
        ),
        "pdf": document("application/pdf", large_pdf()),
    }


def hidden(page: bytes, unit: bytes) -> bytes:
    """As large as what is read in the worker itself may be."""
    return page % b"".join([unit % number for number in range((MIB - 1000) // (len(unit) + 4))])


def document(media_type: str, body: bytes) -> Hostile:
    """Its ETag, in Latin-1, would have to be sent back by us."""
    head = b'HTTP/1.1 200 OK\r\nContent-Type: %b\r\nETag: "caf\xe9"\r\nContent-Length: %d\r\n\r\n'
    return Hostile(head % (media_type.encode(), len(body)), body)


def large_pdf() -> bytes:
    """A page of a gigabyte, packed a thousand to one."""
    packer = zlib.compressobj(9)
    line = b"BT (so much to say) Tj ET\n" * 40_000
    page = packer.compress(line) + b"".join(packer.compress(line) for _ in range(200)) + packer.flush()
    parts = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 99 99] /Contents 4 0 R /Resources << >> >>",
        b"<< /Length %d /Filter /FlateDecode >>\nstream\n%b\nendstream" % (len(page), page),
    ]
    body, places = b"%PDF-1.4\n", []
    for number, part in enumerate(parts, 1):
        places.append(len(body))
        body += b"%d 0 obj\n%b\nendobj\n" % (number, part)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    end = b"trailer\n<< /Size 5 /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % len(body)
    return body + b"xref\n0 5\n0000000000 65535 f \n" + table + end


# ---- the web ---------------------------------------------------------------------------------------------


class Asked(NamedTuple):
    host: str
    path: str
    worked_s: float  # of the worker's event loop by now


@dataclass
class Crawled:
    asked: list[Asked] = field(default_factory=list)  # of friendly hosts
    memory_bytes: int = 0  # the most that supervisor, worker and the process that reads documents held together
    hostile: dict[str, int] = field(default_factory=dict)  # how often each was asked for a hostile page
    pages: list[dict[str, Any]] = field(default_factory=list)
    code: int | None = None
    summary: str = ""
    said: str = ""
    slowness: float = 1.0  # how much more CPU time the same work took than at its best, while others used the caches

    def pauses_s(self, host: str) -> list[float]:
        worked_s = [each.worked_s for each in self.asked if each.host == host]
        return [later - earlier for earlier, later in pairwise(worked_s)]


class Crowd:
    def __init__(self) -> None:
        self.crawled = Crawled()
        self.hostile = hostile()
        self.crawled.hostile = dict.fromkeys(self.hostile, 0)
        self._worker = 0  # pid

    async def play(self, connection: Connection) -> None:
        while True:
            request = (await connection.request()).decode("latin-1")
            path = request.split(" ", 2)[1]
            host = request.partition("Host: ")[2].partition("\r\n")[0].partition(".test")[0]
            if path == "/robots.txt":
                await connection.send(NOT_FOUND)
            elif host.startswith("friendly"):
                worked_s = main_thread_s(self._worker) if self._worker else 0.0
                self.crawled.asked.append(Asked(host, path, worked_s))
                links = [f"/p{number}" for number in range(1, FRIENDLY_PAGES)]
                await connection.send(page(*links, text=f"welcome to {path} of {host}"))
            elif path == "/":
                links = [f"/{number}" for number in range(HOSTILE_PAGES)]
                await connection.send(page(*links, text=f"{host} seems harmless"))
            else:
                self.crawled.hostile[host] += 1
                await self.hostile[host].answer(connection)
                return

    async def watch_memory(self, process: asyncio.subprocess.Process) -> None:
        while True:
            held = 0
            for pid in descendants(process.pid):
                with suppress(OSError):  # gone meanwhile
                    held += held_bytes(pid)
                    if Path(f"/proc/{pid}/comm").read_text() == "gossamer.worker\n":
                        self._worker = pid
            self.crawled.memory_bytes = max(self.crawled.memory_bytes, held)
            await asyncio.sleep(0.05)


async def measure_slowness(crawled: Crawled) -> None:
    """A fixed piece of work, again and again in a thread."""
    took_s: list[float] = []
    while True:
        took_s.append(await asyncio.to_thread(fixed_work_s))
        crawled.slowness = median(took_s) / min(took_s)
        await asyncio.sleep(0.1)


def fixed_work_s() -> float:
    started = time.thread_time()
    Counter(str(number) for number in range(5000))
    return time.thread_time() - started


def descendants(pid: int) -> list[int]:
    found = [pid]
    for each in found:
        try:
            found += map(int, Path(f"/proc/{each}/task/{each}/children").read_text().split())
        except OSError:
            continue
    return found


def held_bytes(pid: int) -> int:
    """Resident memory; what processes share, such as their libraries, counts once among them."""
    return int(Path(f"/proc/{pid}/smaps_rollup").read_text().partition("\nPss:")[2].split()[0]) * 1024


def main_thread_s(pid: int) -> float:
    """CPU time of the thread that runs the event loop."""
    fields = Path(f"/proc/{pid}/task/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS_PER_S


async def crawl_crowd(folder: Path) -> Crawled:
    crowd = Crowd()
    async with dns_server() as names, playing(crowd.play) as stage:
        names.otherwise = lambda query: addresses("127.0.0.1")
        hosts = [*crowd.hostile, *(f"friendly{number}" for number in range(FRIENDLY_HOSTS))]
        settings = quick_settings(
            dns__servers=names.address,
            politeness__delay_s=DELAY_S,
            politeness__latency_factor=0,
            politeness__ip_requests_per_s=100_000,
            politeness__ip_burst=100_000,
            politeness__site_requests_per_s=100_000,
            fetch__timeout_s=10,
            fetch__connect_timeout_s=10,
            frontier__retries_s="",
            process__links_from="images",
            process__time_s_max=2,
        )
        flags = ["--dir", folder, "--allow-private", "--workers", "1", *settings]
        process = await start("crawl", *(f"http://{host}.test:{stage.port}/" for host in hosts), *flags)
        watching = asyncio.create_task(crowd.watch_memory(process))
        measuring = asyncio.create_task(measure_slowness(crowd.crawled))
        talk = asyncio.create_task(process.communicate())
        await asyncio.wait({talk}, timeout=CRAWL_S_MAX)
        watching.cancel()
        measuring.cancel()
        if not talk.done():
            process.kill()
        out, err = await talk
        crawled = crowd.crawled
        crawled.code, crawled.summary, crawled.said = process.returncode, out.decode(), err.decode()
        crawled.pages = (await gossamer("pages", folder, "--json")).lines()
    return crawled
