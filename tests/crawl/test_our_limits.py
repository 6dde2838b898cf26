"""What this machine lacks is not blamed on servers: with few files, ports or little memory every host gets its pages.

Each story is a crawl of live hosts that would all be asked at once. It ends with every page, no host is asked for
anything twice, and no worker dies.
"""

from __future__ import annotations

import asyncio
import ctypes
import fcntl
import os
import resource
import socket
import struct
import sys
import threading
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.crawl.command import ROOT, gossamer, quick_settings, until
from tests.fetch.dns_server import addresses, dns_server
from tests.hostile.crowd import descendants
from tests.hostile.server import Connection, Scenario, playing
from tests.hostile.web import NOT_FOUND, page

HOSTS = 150
FILES = 448  # a worker has some 200 open before its first request
PORTS, PORT_HOSTS = 40, 52
LARGE_HOSTS, LARGE_BYTES = 40, 250_000
MEMORY_BYTES = 72 << 20  # beyond what the worker has by then: the reserve, and some thirty pages
ANSWER_S = 0.3  # so that all hosts would be asked at once
WORKER, READER = b"gossamer.worker", b"sandbox_process"  # in their names or command lines
CLONE_NEWNET = 0x40000000  # linux/sched.h
SIOCSIFFLAGS, IFF_UP = 0x8914, 1  # linux/sockios.h, linux/if.h


class Crawled(NamedTuple):
    code: int | None
    said: str
    asked: int
    pages: list[dict[str, Any]]

    @property
    def statuses(self) -> list[int]:
        return [page["status"] for page in self.pages]


async def slow_site(connection: Connection) -> None:
    while True:
        request = await connection.request()
        await asyncio.sleep(ANSWER_S)
        await connection.send(NOT_FOUND if b" /robots.txt " in request else page(text=request.decode()))


async def closing_site(connection: Connection) -> None:
    """It hangs up first: otherwise our port would wait for a minute, by TCP's rules, before it is free again."""
    request = await connection.request()
    await asyncio.sleep(ANSWER_S)
    await connection.send(NOT_FOUND if b" /robots.txt " in request else page(text=request.decode()))


async def crawl(
    folder: Path,
    scenario: Scenario = slow_site,
    hosts: int = HOSTS,
    before: tuple[str, ...] = (),
    while_it_runs: Callable[[int], Awaitable[None]] | None = None,
    **more: object,
) -> Crawled:
    """`before`: a command that gets ours as its arguments."""
    async with dns_server() as names, playing(scenario) as stage:
        names.otherwise = lambda query: addresses("127.0.0.1")
        seeds = folder / "seeds.txt"
        seeds.write_text("".join(f"http://h{number}.test:{stage.port}/\n" for number in range(hosts)))
        settings = quick_settings(
            dns__servers=names.address,
            politeness__ip_requests_per_s=100_000,
            politeness__ip_burst=100_000,
            politeness__site_requests_per_s=100_000,
            fetch__timeout_s=10,
            fetch__connect_timeout_s=10,
            **more,
        )
        command = [sys.executable, "-m", "gossamer", "crawl", "--file", seeds, "--dir", folder / "crawl", *settings]
        process = await asyncio.create_subprocess_exec(
            *map(str, [*before, *command, "--allow-private", "--workers", "1"]),
            cwd=ROOT,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        talk = asyncio.create_task(process.communicate())
        try:
            if while_it_runs is not None:
                await asyncio.wait_for(while_it_runs(process.pid), 60)
            await asyncio.wait({talk}, timeout=60)
        finally:
            if not talk.done():
                process.terminate()
            _, said = await asyncio.wait_for(talk, 60)
    pages = (await gossamer("pages", folder / "crawl", "--json")).lines()
    return Crawled(process.returncode, said.decode(), len(stage.requests), pages)


async def test_with_few_open_files_fewer_are_asked_at_once_and_no_host_is_blamed(folder: Path) -> None:
    crawled = await crawl(folder, before=("sh", "-c", f'ulimit -n {FILES}; exec "$@"', "sh"))
    assert crawled.code == 0
    assert f"ulimit -n is {FILES}" in crawled.said and "fewer requests at once" in crawled.said
    assert crawled.statuses == [200] * HOSTS
    assert crawled.asked == 2 * HOSTS  # robots.txt and the page, each once


@pytest.mark.long
def test_with_few_ports_fewer_are_asked_at_once_and_no_host_is_blamed(folder: Path) -> None:
    crawled: list[Crawled] = []

    def story() -> None:
        """In a thread, whose network becomes one of its own; the crawl inherits it."""
        if ctypes.CDLL(None).unshare(CLONE_NEWNET):
            return
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
            fcntl.ioctl(any_socket, SIOCSIFFLAGS, struct.pack("16sh22x", b"lo", IFF_UP))
        try:
            Path("/proc/sys/net/ipv4/ip_local_port_range").write_text(f"40000 {40000 + PORTS - 1}")
        except OSError:
            return
        crawled.append(asyncio.run(crawl(folder, closing_site, PORT_HOSTS)))

    alone = threading.Thread(target=story)
    alone.start()
    alone.join()
    if not crawled:
        pytest.skip("a network with few ports is for root alone")
    [found] = crawled
    assert found.code == 0
    assert "no free ports: fewer requests at once" in found.said
    assert found.statuses == [200] * PORT_HOSTS
    assert found.asked == 2 * PORT_HOSTS


def bound_memory(pid: int, name: bytes, more_bytes: int) -> list[int]:
    """From now on processes of this name get so much more memory, and then nothing. Which they are.

    A reader is ready once it has bounded itself, and is bounded in another way."""
    kind, has = (resource.RLIMIT_AS, "VmSize:") if name == READER else (resource.RLIMIT_DATA, "VmData:")
    bound = []
    for each in descendants(pid)[1:]:
        with suppress(OSError):
            is_ready = name != READER or resource.prlimit(each, resource.RLIMIT_DATA)[0] != resource.RLIM_INFINITY
            is_called = any(name in Path(f"/proc/{each}/{file}").read_bytes() for file in ("comm", "cmdline"))
            if is_ready and is_called:
                status = Path(f"/proc/{each}/status").read_text()
                limit = int(status.partition(has)[2].split()[0]) * 1024 + more_bytes
                resource.prlimit(each, kind, (limit, limit))
                bound.append(each)
    return bound


class LargeSite:
    """Its hosts have nothing to say until all of them were asked for robots.txt; then each has a large page."""

    def __init__(self, hosts: int, content: bytes, media_type: str) -> None:
        self.hosts = hosts
        self.content, self.media_type = content, media_type
        self.asked: Counter[str] = Counter()
        self.is_full, self.may_answer, self.may_go_on = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def play(self, connection: Connection) -> None:
        while True:
            request = (await connection.request()).decode()
            path, host = request.split(" ", 2)[1], request.partition("Host: ")[2].partition(".")[0]
            self.asked[f"{host}{path}"] += 1
            if path == "/robots.txt":
                if len(self.asked) == self.hosts:
                    self.is_full.set()
                await self.may_answer.wait()
                await connection.send(NOT_FOUND)
            else:
                if host != "h0" or self.hosts > 3:
                    await self.may_go_on.wait()
                head = f"HTTP/1.1 200 OK\r\nContent-Type: {self.media_type}\r\n"
                first = (
                    (f"<title>{host}</title>" if self.media_type == "text/html" else f"\0{host}").encode().ljust(100)
                )
                head += f"Content-Length: {len(first) + len(self.content)}\r\n\r\n"
                await connection.send(head.encode() + first, self.content)

    async def until_nobody_asks(self) -> None:
        """All that may be asked at once has been."""
        before = -1
        while before != (before := self.asked.total()):  # noqa: ASYNC110
            await asyncio.sleep(0.5)


@pytest.mark.long
async def test_with_little_memory_fewer_are_asked_at_once_and_no_host_is_blamed(folder: Path) -> None:
    site = LargeSite(LARGE_HOSTS, os.urandom(LARGE_BYTES), "application/octet-stream")

    async def bound(pid: int) -> None:
        await site.is_full.wait()
        bound_memory(pid, WORKER, MEMORY_BYTES)
        site.may_answer.set()
        await site.until_nobody_asks()
        site.may_go_on.set()

    found = await crawl(folder, site.play, LARGE_HOSTS, while_it_runs=bound)
    assert found.code == 0
    assert "no memory: fewer requests at once" in found.said and "another takes its place" not in found.said
    assert found.statuses == [200] * LARGE_HOSTS, found.said
    assert set(site.asked.values()) == {1}, site.asked  # we knew before we asked


async def test_a_document_for_which_there_was_no_memory_is_read_by_the_next_reader(folder: Path) -> None:
    site = LargeSite(3, b"<p>so much to say</p>" * 60_000, "text/html")  # so large that another process reads it

    async def bound(pid: int) -> None:
        site.may_answer.set()
        await until(lambda: bound_memory(pid, READER, 0))
        site.may_go_on.set()

    found = await crawl(folder, site.play, 3, while_it_runs=bound)
    assert found.code == 0
    assert {page["title"] for page in found.pages} == {"h0", "h1", "h2"}
    assert not any(page.get("fault") for page in found.pages)


class PagesOfOneSize:
    """It counts how many pages are being asked for. Some hosts do not answer before all others have."""

    def __init__(self, size_bytes: int, slow: set[str], hosts: int) -> None:
        self.text, self.slow, self.hosts = "so much to say " * (size_bytes // 15), slow, hosts
        self.at_once, self.most = 0, 0
        self.quick, self.all_quick_are_done = 0, asyncio.Event()

    async def play(self, connection: Connection) -> None:
        while True:
            request = (await connection.request()).decode()
            if " /robots.txt " in request:
                await connection.send(NOT_FOUND)
                continue
            host = request.partition("Host: ")[2].partition(".")[0]
            self.at_once += 1
            self.most = max(self.most, self.at_once)
            if host in self.slow:
                await self.all_quick_are_done.wait()
            else:
                await asyncio.sleep(ANSWER_S)
                self.quick += 1
            self.at_once -= 1
            await connection.send(page(text=f"{host} {self.text}"))
            if self.quick == self.hosts - len(self.slow):
                self.all_quick_are_done.set()


async def test_pages_in_flight_are_bounded_by_their_bytes_and_slow_servers_hold_up_nobody(folder: Path) -> None:
    site = PagesOfOneSize(200_000, {"h0", "h1", "h2", "h3", "h4"}, LARGE_HOSTS)
    found = await crawl(folder, site.play, LARGE_HOSTS, fetch__in_flight_bytes_max="1MiB")
    assert found.code == 0 and found.statuses == [200] * LARGE_HOSTS, found.said
    assert site.most <= 4 + len(site.slow)  # four of the first guess; after a second those that are slow do not count


async def test_pages_that_are_larger_than_the_bound_are_crawled(folder: Path) -> None:
    site = PagesOfOneSize(200_000, set(), 12)
    found = await crawl(folder, site.play, 12, fetch__in_flight_bytes_max="1KiB")
    assert found.code == 0 and found.statuses == [200] * 12, found.said
    assert site.most == 1
