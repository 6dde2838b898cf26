"""Where does the CPU time of a rendered page go? A browser alone, without a crawl: its start, and each page.

    python -m benchmarks.render.costs [--pages 40] [--at-once 4] [--rounds 3] [--vary='--a --b' --vary='~--c']

Each variant is a set of flags that are added to ours, or with ~ before them left out; every round runs all of them,
in another order each time. What pages load comes from the synthetic web in memory, so no time is spent on waiting.
CPU time is that of all processes of the browser, by their type: `zygote` is that of the renderers, which end with
their pages and were its children. `ours` is what this process took to drive it.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

from benchmarks.endless_web import show
from gossamer.bench.running import cpu_s_with_ended, tree
from gossamer.clock import RealClock
from gossamer.records import Answer, Exchange, Fetched, Reason, Refused, Url
from gossamer.render import browser as browsers
from gossamer.render.browser import Browser, find_browser
from gossamer.render.loading import Loading
from gossamer.render.showing import Showing, Shown
from gossamer.settings import RenderSettings
from gossamer.synthetic_web import Web, WebOptions
from gossamer.synthetic_web.answer import Request
from gossamer.synthetic_web.scripted.content import path_of

KINDS = ("requested", "router", "modules", "noscript")
OUR_FLAGS = browsers.FLAGS
TYPES = ("browser", "zygote", "gpu-process", "utility", "renderer")


class Pages:
    """The web of `beside` in comparing.py, without a server."""

    def __init__(self, pages: int) -> None:
        hosts = 10
        options = WebOptions(hosts=1, pages_per_host=1, scripted_hosts=hosts, scripted_kinds=KINDS, port=8000)
        self.web = Web(replace(options, scripted_pages=pages // hosts + 1))
        first = self.web.options.first_scripted
        self.urls = [self.web.url(first + number % hosts, path_of(number // hosts)) for number in range(pages)]

    async def fetch(self, url: Url, _bytes_max: int = 0, *, is_own: bool = True) -> Answer:
        place = self.web.locate(url)
        if place is None:
            return Refused(Reason.SCHEME)
        answer = self.web.answer(Request(*place, now=self.web.options.born_at))
        head = "".join(f"{name}: {value}\r\n" for name, value in answer.headers)
        exchange = Exchange(b"", f"HTTP/1.1 200 OK\r\n{head}\r\n".encode(), 200, "", 0.0, 0.0, 0.0)
        return Fetched(exchange, answer.body)


def cpu_by_type(root: int) -> dict[str, float]:
    found = dict.fromkeys(TYPES, 0.0)
    for pid in tree(root):
        try:
            words = Path(f"/proc/{pid}/cmdline").read_bytes().decode().replace("\0", " ")
        except OSError:
            continue
        kind = next((kind for kind in TYPES if f"--type={kind}" in words), "browser")
        found[kind] += cpu_s_with_ended(pid)
    return found


async def one_run(program: str, pages: Pages, at_once: int, name: str) -> dict[str, float | int | str]:
    added = [flag for flag in name.split() if not flag.startswith("~")]
    left_out = {flag[1:] for flag in name.split() if flag.startswith("~")}
    browsers.FLAGS = (*(flag for flag in OUR_FLAGS if flag not in left_out), *added)
    clock, settings = RealClock(), RenderSettings()
    with tempfile.TemporaryDirectory() as folder:
        load, begun = os.getloadavg()[0], clock.awake()
        browser = await Browser.start(program, Path(folder) / "profile", settings)
        await asyncio.sleep(1)  # what it does by itself once it has started
        start_s, started = clock.awake() - begun - 1, cpu_by_type(browser.process.pid)
        loading, room, faults = Loading(pages.fetch, clock), asyncio.Semaphore(at_once), []

        async def shown(url: Url) -> Shown:
            async with room:
                answer = await pages.fetch(url)
                assert isinstance(answer, Fetched)
                body, kind = answer.body[:], "text/html; charset=utf-8"
                return await Showing(browser, url, body, kind, loading, settings, "bench", clock).show()

        ours, begun = time.process_time(), clock.awake()
        for result in await asyncio.gather(*map(shown, pages.urls)):
            faults += [result.fault] if result.fault else []
        await asyncio.sleep(0.5)  # renderers end a little later
        wall_s, ours_s = clock.awake() - begun, time.process_time() - ours
        ended = cpu_by_type(browser.process.pid)
        await browser.close()
    count = len(pages.urls)
    spent = {f"{kind} ms": (ended[kind] - started[kind]) / count * 1000 for kind in TYPES}
    return {
        "start CPU s": sum(started.values()),
        "start s": start_s,
        "page CPU ms": sum(spent.values()),
        **spent,
        "ours ms": ours_s / count * 1000,
        "pages/s": count / wall_s,
        "faults": len(faults),
        "load": load,
        "flags": name or "ours",
    }


async def measure(asked: argparse.Namespace) -> None:
    program, pages = asked.browser or find_browser(), Pages(asked.pages)
    if program is None:
        raise SystemExit("no browser")
    rows: list[dict[str, float | int | str]] = []
    names = ["", *asked.vary]
    for number in range(asked.rounds):
        for name in names[number % len(names) :] + names[: number % len(names)]:
            rows.append(await one_run(program, pages, asked.at_once, name))
            show(rows, as_json=asked.json)
    show(rows, as_json=asked.json, last=True)


def main() -> None:
    parser = argparse.ArgumentParser(description="the CPU time of a browser: its start and its pages")
    parser.add_argument("--pages", type=int, default=40)
    parser.add_argument("--at-once", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--vary", action="append", default=[])
    parser.add_argument("--browser", default="")
    parser.add_argument("--json", action="store_true")
    asyncio.run(measure(parser.parse_args(sys.argv[1:])))


if __name__ == "__main__":
    main()
