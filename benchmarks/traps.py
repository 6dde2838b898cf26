"""How much of a crawl goes into traps, and how many honest pages it loses, with the settings that users have.

    python -m benchmarks.traps [--hosts 50] [--pages 40] [--seed 1] [--kind everything|trapped] [--set KEY=VALUE]

Serves the web of `./run web`, crawls it with the command in the scope `any`, and lets the web's own truth judge: each
page that was fetched is a trap page or an honest one, and each honest page that a crawler can reach was fetched and
stored, or not. Only waits are shorter than by default (`WAITS`): they change how long it takes, not what is asked.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import asdict, dataclass
from pathlib import Path

from gossamer.bench.versions import ROOT
from gossamer.synthetic_web.options import WebOptions
from gossamer.synthetic_web.server import serve
from gossamer.synthetic_web.truth import truth
from gossamer.synthetic_web.web import Web
from gossamer.url.canonical import canonicalize

WAITS = {
    "politeness.delay_s": 0.01,
    "politeness.latency_factor": 0.5,
    "politeness.ip_requests_per_s": 1000,
    "politeness.ip_burst": 100,
    "politeness.back_off_s_max": 1,
    "frontier.retries_s": 0.3,
    "robots.retry_s": 0.3,
    "fetch.timeout_s": 3,
}


@dataclass(frozen=True)
class Judged:
    """What the web says of a crawl."""

    fetched: int  # answers with a page, honest or not; robots.txt and sitemaps apart
    trap_pages: dict[str, int]  # of them, by kind of trap
    honest: int  # pages that can be reached
    honest_fetched: int
    honest_stored: int  # or another page with the same bytes; or with nearly the same text, where it is made so
    missing: list[str]  # some of those that were not stored
    took_s: float

    @property
    def trap_share(self) -> float:
        return sum(self.trap_pages.values()) / max(1, self.fetched)


async def measure(web: Web, folder: Path, settings: dict[str, object] | None = None) -> Judged:
    began = time.monotonic()
    async with serve(web) as server:
        seed = server.url(0)
        command = [sys.executable, "-m", "gossamer", "crawl", seed, "--dir", str(folder), "--allow-private"]
        command += ["--scope", "any", "--contact", "test@example.org"]
        for key, value in {**WAITS, **(settings or {})}.items():
            command += ["--set", f"{key}={value}"]
        crawl = await asyncio.create_subprocess_exec(*command, cwd=ROOT, stdout=subprocess.DEVNULL)
        if await crawl.wait():
            raise SystemExit("the crawl failed")
        answered = [entry.url for entry in server.log.entries if entry.status == 200 and not entry.aborted]
        facts = truth(web, [seed], canonicalize=canonicalize, follow_sitemaps=True, follow_feeds=True)
    listed = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "gossamer", "pages", str(folder), "--json"), cwd=ROOT, stdout=subprocess.PIPE
    )
    lines, _ = await listed.communicate()
    done = {page["url"]: page for page in map(json.loads, lines.splitlines()) if page["state"] == "done"}
    # Whoever calls an honest page nearly another one may not store it: only those that are made so count.
    stored = {url for url, page in done.items() if page["verdict"] != "near" or url in facts.near_duplicates}
    pages = {url for url in answered if "/robots" not in url and "/sitemap" not in url}
    honest = facts.reachable
    return Judged(
        fetched=len(pages),
        trap_pages=dict(Counter(kind for url in pages if (kind := facts.is_trap(url)))),
        honest=len(honest),
        honest_fetched=len(honest & pages),
        honest_stored=len(honest & stored),
        missing=sorted(honest - stored)[:20],
        took_s=round(time.monotonic() - began, 1),
    )


def web_of(arguments: argparse.Namespace) -> Web:
    make = getattr(WebOptions, arguments.kind)
    return Web(make(hosts=arguments.hosts, pages_per_host=arguments.pages, seed=arguments.seed))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hosts", type=int, default=50)
    parser.add_argument("--pages", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kind", default="everything")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE")
    arguments = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="traps-"))
    try:
        settings: dict[str, object] = dict(each.split("=", 1) for each in arguments.set)
        judged = asyncio.run(measure(web_of(arguments), folder, settings))
    finally:
        shutil.rmtree(folder)
    print(json.dumps({**asdict(judged), "trap_share": round(judged.trap_share, 4)}, indent=2))


if __name__ == "__main__":
    main()
