"""What does a browser cost? Pages a second and memory, beside Crawlee on the same pages, and of a web that is mixed.

    python -m benchmarks.render.comparing beside [--hosts 10] [--pages 40] [--browsers 1] [--at-once 8] [--rounds 3]
    python -m benchmarks.render.comparing mixed [--hosts 90] [--pages 50] [--delay 0] [--rounds 3]

`beside`: a web of which every page is made by a script that asks for its data. Each crawler in turn, each round
beginning with another one, every one with the same number of browsers and the same program. A page counts when its
data was asked for. The pace is that of the pages between the first and the last tenth (steady), and of the whole run
with the start of everything. Memory is the proportional share (PSS) of all processes of the browsers at its highest.

`mixed`: one page in ten is made by a script; the same seeds crawled with `render.when` never and auto. Every scripted
page is a seed, so both have the same pages to fetch.

The web is served by this process. The load of the machine before each run is shown: on a busy machine only ratios of
one round say something.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import shutil
import sys
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from benchmarks.endless_web import FROM_HERE, show
from gossamer.bench.environment import Environment
from gossamer.bench.running import Usage, run
from gossamer.bench.versions import NO_DELAY
from gossamer.synthetic_web import AccessLog, Entry, Server, Web, WebOptions, serve
from gossamer.synthetic_web.pages import path_of
from gossamer.synthetic_web.scripted.content import path_of as scripted_path_of
from tests.render.browsers import Browsers

KINDS = ("requested", "router", "modules", "noscript")
CACHE = Path.home() / ".cache" / "gossamer" / "bench"
Row = dict[str, float | int | str]
Command = Callable[[Path, Path], list[str]]
"""Seeds, and the folder to work in."""


def gossamer(when: str, settings: dict[str, str]) -> Command:
    changed = {"render.when": when} | settings
    flags = [word for key, value in changed.items() for word in ("--set", f"{key}={value}")]

    def command(seeds: Path, _folder: Path) -> list[str]:
        python = [*FROM_HERE, sys.executable, "-P", "-m", "gossamer"]
        return [*python, "crawl", "--dir", "D", "--scope", "any", "--file", str(seeds), *flags]

    return command


def crawlee(kind: str, browser: str, at_once: int, browsers: int) -> Command:
    environment = Environment(CACHE / "environment-browser", lambda text: print(text, file=sys.stderr))
    version = environment.need("crawlee", "crawlee[playwright,parsel,adaptive-crawler]")
    print(f"crawlee {version}, {kind}", file=sys.stderr)
    script = Path(__file__).with_name("crawlee_browser.py")

    def command(seeds: Path, _folder: Path) -> list[str]:
        return [str(environment.python), str(script), kind, str(seeds), browser, str(at_once), str(browsers)]

    return command


def is_data(entry: Entry) -> bool:
    return entry.path.startswith("/api/") and entry.status == 200


def is_page(entry: Entry) -> bool:
    return entry.status == 200 and (entry.path == "/" or entry.path.startswith(("/item/", "/p/")))


def steady_per_s(entries: list[Entry]) -> float:
    """Without the first and the last tenth."""
    moments = sorted(entry.time_out for entry in entries)
    part = moments[len(moments) // 10 : len(moments) - len(moments) // 10]
    return (len(part) - 1) / (part[-1] - part[0]) if len(part) > 2 else 0.0


def distinct(entries: list[Entry]) -> list[Entry]:
    return list({entry.url: entry for entry in reversed(entries)}.values())


async def one_run(name: str, server: Server, command: Command, seeds: Path, seconds: float) -> tuple[Row, Usage]:
    server.log.entries.clear()
    load, browsers = os.getloadavg()[0], Browsers(os.getpid())
    folder = Path(tempfile.mkdtemp(prefix="gossamer-render-"))
    try:
        (folder / "work").mkdir()
        async with browsers.watched():
            used = await asyncio.to_thread(run, command(seeds, folder), folder / "work", seconds)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    pages = distinct([entry for entry in server.log.entries if is_page(entry)])
    rendered = distinct([entry for entry in server.log.entries if is_data(entry)])
    if not pages:
        raise SystemExit(used.said)
    row: Row = {
        "who": name,
        "pages": len(pages),
        "rendered": len(rendered),
        "wall s": used.elapsed_s,
        "pages/s": len(pages) / used.elapsed_s,
        "rendered/s": len(rendered) / used.elapsed_s,
        "steady/s": steady_per_s(rendered or pages),
        "CPU ms/page": used.cpu_s / len(pages) * 1000,
        "browsers": browsers.usual,
        "browser MiB": browsers.bytes_max / 1024**2,
        "all MiB": used.memory_bytes / 1024**2,
        "requests": len(server.log.entries),
        "load before": load,
    }
    return row, used


async def rounds(
    options: WebOptions, who: dict[str, Command], seeds: Callable[[Web], list[str]], asked: argparse.Namespace
) -> None:
    rows: list[Row] = []
    async with serve(Web(options), log=AccessLog()) as server:
        with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
            file.write("\n".join(seeds(server.web)) + "\n")
            file.flush()
            for number in range(asked.rounds):
                names = list(who)
                for name in names[number % len(names) :] + names[: number % len(names)]:
                    row, used = await one_run(name, server, who[name], Path(file.name), asked.seconds)
                    if used.code and not used.was_stopped:
                        print(f"{name} ended with {used.code}: {used.said[-500:]}", file=sys.stderr)
                    rows.append({"round": number + 1, **row})
                    show(rows, as_json=asked.json)
    show(rows, as_json=asked.json, last=True)


def beside(asked: argparse.Namespace) -> None:
    browser = asked.browser or shutil.which("chromium") or ""
    # A browser for each worker.
    settings = NO_DELAY | {"crawl.workers": str(asked.browsers), "render.browser": browser}
    who = {
        "gossamer": gossamer("auto", settings),
        "crawlee": crawlee("always", browser, asked.at_once, asked.browsers),
        "adaptive": crawlee("adaptive", browser, asked.at_once, asked.browsers),
    }
    who = {name: who[name] for name in asked.who.split(",")}
    options = WebOptions(hosts=1, pages_per_host=1, scripted_hosts=asked.hosts, scripted_kinds=KINDS)
    options = replace(options, scripted_pages=asked.pages)

    def roots(web: Web) -> list[str]:
        first = web.options.first_scripted
        return [web.url(host) for host in range(first, first + asked.hosts)]

    asyncio.run(rounds(options, who, roots, asked))


def mixed(asked: argparse.Namespace) -> None:
    pace = NO_DELAY | {"politeness.delay_s": str(asked.delay)}
    who = {when: gossamer(when, pace) for when in ("never", "auto")}
    scripted_hosts = max(1, asked.hosts // 9)
    options = replace(
        WebOptions.plain(hosts=asked.hosts, pages_per_host=asked.pages),
        scripted_hosts=scripted_hosts,
        scripted_kinds=KINDS,
        scripted_pages=asked.pages,
    )

    def everything(web: Web) -> list[str]:
        first = web.options.first_scripted
        scripted = range(first, first + scripted_hosts)
        ordinary = [web.url(host, path_of(0)) for host in range(asked.hosts)]
        return ordinary + [web.url(host, scripted_path_of(page)) for page in range(asked.pages) for host in scripted]

    asyncio.run(rounds(options, who, everything, asked))


def main() -> None:
    parser = argparse.ArgumentParser(description="rendering beside Crawlee, and in a mixed web")
    parser.add_argument("--json", action="store_true")
    kinds = parser.add_subparsers(required=True)
    one = kinds.add_parser("beside")
    one.add_argument("--who", default="gossamer,crawlee,adaptive")
    one.add_argument("--browsers", type=int, default=1, help="of each crawler")
    one.add_argument("--at-once", type=int, default=8, help="pages that Crawlee has open")
    one.add_argument("--browser", default="")
    one.set_defaults(run=beside, hosts=10, pages=40, seconds=120.0)
    other = kinds.add_parser("mixed")
    other.add_argument("--delay", type=float, default=0.0)
    other.set_defaults(run=mixed, hosts=90, pages=50, seconds=300.0)
    for kind in (one, other):
        kind.add_argument("--hosts", type=int, default=kind.get_default("hosts"))
        kind.add_argument("--pages", type=int, default=kind.get_default("pages"))
        kind.add_argument("--rounds", type=int, default=3)
        kind.add_argument("--seconds", type=float, default=kind.get_default("seconds"))
    asked = parser.parse_args()
    asked.run(asked)


if __name__ == "__main__":
    main()
