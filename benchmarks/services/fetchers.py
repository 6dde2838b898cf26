"""What does a worker spend on a page by itself, and where fetchers fetch for it, and where they read the pages, too?

    python -m benchmarks.services.fetchers [--mix real] [--hosts 100] [--pages 20] [--page-bytes 21000] [--rounds 3]

nginx serves the pages, as for `gossamer bench`, and its access log tells the pace; hosts are not left alone between
two pages. One worker, and three fetchers on the same machine, in turn. What is told is CPU time a page of the worker
(with its sandbox), of the supervisor and of the fetchers, in the steady part: without the first and the last tenth of
the pages. Everything shares the same cores, so that pages a second say nothing of fetchers on machines of their own.
"""

from __future__ import annotations

import argparse
import json
import shutil
import socket
import tempfile
import time
from pathlib import Path
from statistics import median

from benchmarks.cluster import CACHE, LIMIT_S, Figures, Watch, gossamer, say, start
from gossamer.bench import nginx
from gossamer.bench.environment import Environment
from gossamer.bench.mix import Mix, Site, on_disk
from gossamer.bench.versions import NO_DELAY
from gossamer.local_servers.process import children, kill_with_children

KINDS: dict[str, list[str] | None] = {"alone": None, "fetching": [], "processing": ["--process"]}
FETCHERS = 3
LOOK_S = 0.2


def once(kind: str, folder: Path, site: Site, server: nginx.Nginx) -> Figures:
    folder.mkdir(parents=True)
    flags = [word for key, value in settings_of(site).items() for word in ("--set", f"{key}={value}")]
    words = gossamer("crawl", "--dir", folder / "D", "--file", site.seeds, "--workers", 1, *flags)
    more = KINDS[kind]
    port = free_port()
    fetchers = []
    with nginx.serving(server, site, folder):
        if more is not None:
            words += ["--fetchers", f"127.0.0.1:{port}"]
            join = ("--join", f"127.0.0.1:{port}", "--allow-private", *more)
            names = [f"f{number}" for number in range(FETCHERS)]
            fetchers = [start(gossamer("fetcher", "--name", name, *join), folder / f"{name}.log") for name in names]
        crawl = start(words, folder / "crawl.log")
        watch = Watch({"worker": [], "crawl": [crawl.pid], "fetchers": [each.pid for each in fetchers]})
        try:
            while not watch.groups["worker"]:
                watch.groups["worker"] += children(crawl.pid)[:1]
                time.sleep(LOOK_S)
            if crawl.wait(LIMIT_S):
                raise SystemExit((folder / "crawl.log").read_text(errors="replace")[-2000:])
        finally:
            watch.stop()
            for each in (crawl, *fetchers):
                kill_with_children(each)
    moments = nginx.visits(folder / "access.log").moments
    cut = int(len(moments) * nginx.EDGE)
    inner = moments[cut : len(moments) - cut]
    pages = len(inner) - 1
    spent = {group: watch.spent_s(group, inner[0], inner[-1]) / pages * 1e6 for group in watch.groups}
    return {
        "pages": float(len(moments)),
        "pages/s": pages / (inner[-1] - inner[0]),
        "worker us/page": spent["worker"],
        "supervisor us/page": spent["crawl"] - spent["worker"],
        "fetchers us/page": spent["fetchers"],
    }


def settings_of(site: Site) -> dict[str, str]:
    return NO_DELAY | ({"fetch.ca_file": str(site.certificate)} if site.mix.is_tls else {})


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mix", choices=("even", "real"), default="real")
    parser.add_argument("--hosts", type=int, default=100)
    parser.add_argument("--pages", type=int, default=20, help="a host")
    parser.add_argument("--page-bytes", type=int, default=21_000, help="with --mix even")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--kinds", default=",".join(KINDS), help="default: all of them")
    parser.add_argument("--port", type=int, default=18_080, help="of the web server")
    parser.add_argument("--cache", type=Path, default=CACHE)
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    kinds = asked.kinds.split(",")
    cache = asked.cache.expanduser().absolute()
    server = nginx.find(Environment(cache / "environment", say))
    real = Mix.real(asked.hosts, asked.pages, asked.port)
    mix = real if asked.mix == "real" else Mix(asked.hosts, asked.pages, asked.page_bytes, port=asked.port)
    site = on_disk(mix, cache, say)
    rounds: list[dict[str, Figures]] = []
    folder = Path(tempfile.mkdtemp(prefix="gossamer-fetchers-"))
    try:
        for number in range(asked.rounds):
            first = number % len(kinds)
            rounds.append({})
            for kind in kinds[first:] + kinds[:first]:
                rounds[-1][kind] = figures = once(kind, folder / "run", site, server)
                shutil.rmtree(folder / "run")
                say(f"round {number + 1}: {kind}: " + ", ".join(f"{n} {v:,.0f}" for n, v in figures.items()))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    show(kinds, rounds, as_json=asked.json)


def show(kinds: list[str], rounds: list[dict[str, Figures]], *, as_json: bool) -> None:
    shares = {
        kind: [each[kind]["worker us/page"] / each[kinds[0]]["worker us/page"] for each in rounds] for kind in kinds
    }
    if as_json:
        print(json.dumps({"rounds": rounds, "share of the worker's CPU": shares}))
        return
    print(f"{'':20}" + "".join(f"{kind:>14}" for kind in kinds))
    for name in rounds[0][kinds[0]]:
        print(f"{name:20}" + "".join(f"{median(each[kind][name] for each in rounds):>14,.0f}" for kind in kinds))
    for kind in kinds[1:]:
        told = ", ".join(f"{share:.0%}" for share in shares[kind])
        print(f"worker, {kind} / {kinds[0]}: {median(shares[kind]):.0%} ({told})")


if __name__ == "__main__":
    main()
