"""A crawl of hostile pages from which every private address can be reached, and none may be.

    unshare --net python -m tests.render.private_run --dir D

In a network namespace of its own the web has a public address, as far as a crawler can know: the crawl needs no leave
to go anywhere private. On addresses of every private kind gates count who knocks, by TCP and by UDP, and so does a
name server. The pages try all ways that browsers have. First an ordinary browser goes there, and knocks: that
shows that the gates are open and the pages hostile. Then the crawl.

Prints what it found as JSON.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from playwright.async_api import Error, async_playwright

from gossamer.synthetic_web import Server, Web, WebOptions, serve
from gossamer.synthetic_web.scripted.hostile import LEAKED, PREFETCHED
from tests.crawl.command import gossamer, quick_settings
from tests.debian import program
from tests.node.network import run

PUBLIC = "45.60.0.1"  # of nobody in this namespace but us
BEHIND = "127.1.0.1"
PRIVATE = ("127.0.0.9", "10.9.8.7", "192.168.7.7", "169.254.169.254", "::1")
NAMED = "inside.test"  # leads to the second of them
GATE_PORT, WEB_PORT = 8808, 8800
REFUSED = "private_address"
KINDS = ("reaches", "goes", "pops_up", "serves")
CONTROL_S = 8.0  # an ordinary browser has knocked everywhere long before


class Gates:
    """What knocked at private addresses, by address and protocol; and the names that were looked up."""

    def __init__(self) -> None:
        self.knocks: Counter[str] = Counter()
        self.names: set[str] = set()

    @asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        loop = asyncio.get_running_loop()
        async with AsyncExitStack() as stack:
            for address in PRIVATE:
                server = await asyncio.start_server(self._knocked(address), address, GATE_PORT)
                await stack.enter_async_context(server)
                datagrams = await loop.create_datagram_endpoint(lambda: Datagrams(self), (address, GATE_PORT))
                stack.callback(datagrams[0].close)
            for address in name_servers():
                datagrams = await loop.create_datagram_endpoint(lambda: Names(self), (address, 53))
                stack.callback(datagrams[0].close)
            yield

    def _knocked(self, address: str) -> Any:
        async def knocked(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            self.knocks[address] += 1
            writer.close()

        return knocked


class Datagrams(asyncio.DatagramProtocol):
    def __init__(self, gates: Gates) -> None:
        self.gates = gates

    def datagram_received(self, data: bytes, addr: Any) -> None:
        self.gates.knocks["udp"] += 1


class Names(Datagrams):
    """A name server to which no name is known."""

    transport: asyncio.DatagramTransport

    def connection_made(self, transport: Any) -> None:
        self.transport = transport

    def datagram_received(self, data: bytes, addr: Any) -> None:
        labels, at = [], 12
        with suppress(IndexError):
            while data[at]:
                labels.append(data[at + 1 : at + 1 + data[at]].decode("ascii", "replace"))
                at += 1 + data[at]
        self.gates.names.add(".".join(labels).lower())
        self.transport.sendto(data[:2] + b"\x81\x83" + data[4:6] + bytes(6) + data[12 : at + 5], addr)


def name_servers() -> list[str]:
    lines = Path("/etc/resolv.conf").read_text(encoding="utf-8").splitlines()
    return [words[1] for words in map(str.split, lines) if words[:1] == ["nameserver"] and ":" not in words[1]]


def lay_network() -> None:
    run("ip", "link", "set", "dev", "lo", "up")
    # WebRTC wants an interface that is not the loopback: one that leads nowhere.
    run("ip", "link", "add", "nowhere", "type", "veth", "peer", "name", "nobody")
    for address in sorted({PUBLIC, *PRIVATE, *name_servers()}):
        if not address.startswith("127.") and address != "::1":
            run("ip", "addr", "add", f"{address}/32", "dev", "nowhere")
    for end in ("nowhere", "nobody"):
        run("ip", "link", "set", "dev", end, "up")
    run("ip", "route", "add", "default", "dev", "nowhere", "src", PUBLIC)


@asynccontextmanager
async def in_front(port: int) -> AsyncIterator[None]:
    """The web's public address: what comes there is passed on."""

    async def pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            behind_reader, behind_writer = await asyncio.open_connection(BEHIND, port)
            async with asyncio.TaskGroup() as both:
                both.create_task(pump(reader, behind_writer))
                both.create_task(pump(behind_reader, writer))

    async with await asyncio.start_server(pass_on, PUBLIC, port):
        yield


async def pump(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while data := await source.read(65_536):
            target.write(data)
            await target.drain()
    target.close()


async def ordinary_browser(web: Web) -> None:
    rules = f"--host-resolver-rules=MAP {NAMED} {PRIVATE[1]}, MAP *.test {PUBLIC}"
    path = program("chromium", "chromium")
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(
            executable_path=path,
            args=["--no-sandbox", "--disable-gpu", rules],
        )
        page = await browser.new_page()
        with suppress(Error):
            await page.goto(web.url(web.options.first_hostile), wait_until="load")
            await page.wait_for_timeout(CONTROL_S * 1000)
        await browser.close()


async def crawl(web: Web, folder: Path) -> dict[str, Any]:
    names = ",".join(f"{name}={PUBLIC}" for name in web.names())
    settings = quick_settings(
        dns__overrides=f"{names},{NAMED}={PRIVATE[1]}", render__seconds=10, render__when="always"
    )
    flags = ["--dir", folder, "--scope", "any", "--contact", "test@example.org", *settings]
    ran = await gossamer("crawl", web.url(0), *flags, timeout_s=400)
    listed = await gossamer("pages", folder, "--json")
    # What the scripts put into frames are links of the rendered pages: refused, as any others.
    told = {url: json.loads((await gossamer("why", folder, url, "--json")).out) for url in web.options.targets}
    pages = {page["url"]: page for page in listed.lines()}
    return {"code": ran.code, "said": ran.err[-1500:], "pages": pages, "told": told}


def verdict(web: Web, server: Server, gates: Gates, found: dict[str, Any]) -> list[str]:
    wrong = [f"{count} knocks at {gate}" for gate, count in gates.knocks.items()]
    wrong += [f"looked up {name}" for name in gates.names if PREFETCHED in name]
    wrong += [f"asked for {entry.url}" for entry in server.log.entries if entry.path.startswith(LEAKED)]
    wrong += [f"{url}: {facts['reason']}" for url, facts in found["told"].items() if facts["reason"] != REFUSED]
    if not any(entry.path.startswith("/away") for entry in server.log.entries):
        wrong.append("no script was led away by a redirect: that it was not followed shows nothing")
    if found["code"] != 0:
        wrong.append(found["said"])
    for place, kind in enumerate(KINDS):
        for path in ("/", "/item/1"):
            page = found["pages"].get(web.url(web.options.first_hostile + place, path))
            if page is None or page["state"] != "done" or not page.get("rendered"):
                wrong.append(f"{kind}{path} was not rendered: {page}")
    return wrong


async def judged(folder: Path) -> dict[str, Any]:
    lay_network()
    targets = tuple(f"http://{f'[{each}]' if ':' in each else each}:{GATE_PORT}/" for each in (*PRIVATE, NAMED))
    options = WebOptions(hosts=2, pages_per_host=2, hostile_hosts=len(KINDS), hostile_kinds=KINDS, targets=targets)
    web, gates = Web(replace(options, link_by_name=True)), Gates()
    async with serve(web, host=BEHIND, port=WEB_PORT) as server, in_front(WEB_PORT), gates.open():
        await ordinary_browser(web)
        control: dict[str, Any] = {"knocks": dict(gates.knocks), "names": sorted(gates.names)}
        gates.knocks.clear()
        gates.names.clear()
        server.log.entries.clear()
        found = await crawl(web, folder)
        wrong = verdict(web, server, gates, found)
    wanted = {*PRIVATE, "udp"} - control["knocks"].keys()
    wrong += [f"an ordinary browser did not knock at {each}" for each in wanted]
    return {"wrong": wrong, "control": control, "pages": len(found["pages"])}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--dir", type=Path, required=True)
    result = asyncio.run(judged(parser.parse_args().dir))
    json.dump(result, sys.stdout)


if __name__ == "__main__":
    main()
