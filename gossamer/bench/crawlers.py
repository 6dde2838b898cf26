"""Who is compared: how each crawler is found, how it is started, and what it is set to.

Everybody gets the same seeds, obeys robots.txt, follows all links of the pages, and is set for speed as its own
documents advise. Where a choice is left, it is made in the peer's favour: Scrapy and Crawlee keep their queues in
memory and store no page. Gossamer runs with its defaults, except that hosts are not left alone between two pages:
nobody else leaves them alone either.

Each is one command, as its users start it. Scrapy and Crawlee are one process by nature and use one core; wget2 has
threads, Gossamer a worker for each core. CPU a page is the figure that knows nothing of cores.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from gossamer import __version__
from gossamer.bench.environment import Environment, NotInstalled
from gossamer.bench.mix import Site

HERE = Path(__file__).parent
ROOT = HERE.parent.parent  # of the package, for a process in another folder

NO_DELAY = {
    "politeness.delay_s": "0",
    "politeness.latency_factor": "0",
    "politeness.ip_requests_per_s": "1000000",
    "politeness.ip_burst": "1000000",
    "politeness.site_requests_per_s": "none",
    "crawl.allow_private": "true",
}
WGET2 = ("--recursive", "--level=0", "--span-hosts", "--robots=on", "--max-threads=10", "--quiet")


@dataclass(frozen=True)
class Crawler:
    name: str
    version: str
    settings: str  # for the report
    command: Callable[[Site], list[str]]  # to run in an empty folder


@dataclass(frozen=True)
class Missing:
    name: str
    reason: str


def gossamer(environment: Environment) -> Crawler:
    # Compiled, as pip leaves a package, and as the peers are. Else each process takes half a second more to start.
    keep_compiled = ["-u", "PYTHONDONTWRITEBYTECODE", f"PYTHONPYCACHEPREFIX={environment.folder.parent / 'compiled'}"]
    # It runs in a folder from which ours is not found.
    python = ["env", *keep_compiled, f"PYTHONPATH={ROOT}", sys.executable]
    subprocess.run([*python, "-c", "import gossamer.worker, gossamer.supervisor"], check=True)

    def command(site: Site) -> list[str]:
        changed = NO_DELAY | ({"fetch.ca_file": str(site.certificate)} if site.mix.is_tls else {})
        flags = [word for key, value in changed.items() for word in ("--set", f"{key}={value}")]
        return [*python, "-m", "gossamer", "crawl", "--dir", "crawl", "--file", str(site.seeds), *flags]

    changed = ", ".join(f"{key}={value}" for key, value in NO_DELAY.items())
    return Crawler("gossamer", __version__, f"defaults, and {changed}", command)


def scrapy(environment: Environment) -> Crawler:
    version = environment.need("scrapy", "scrapy")
    script = HERE / "scrapy_crawl.py"

    def command(site: Site) -> list[str]:
        return [str(environment.python), str(script), str(site.seeds)]

    settings = f"{_listed(script)}; links by XPath; pages are not stored, the queue is in memory"
    return Crawler("scrapy", version, settings, command)


def crawlee(environment: Environment) -> Crawler:
    version = environment.need("crawlee", "crawlee[parsel]")
    script = HERE / "crawlee_crawl.py"

    def command(site: Site) -> list[str]:
        return [str(environment.python), str(script), str(site.seeds)]

    settings = f"ParselCrawler; {_listed(script)}; pages are not stored, the queue is in memory"
    return Crawler("crawlee", version, settings, command)


def wget2(_: Environment) -> Crawler:
    program = shutil.which("wget2")
    if program is None:
        raise NotInstalled("it is not on the PATH: apt install wget2")
    said = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout

    def command(site: Site) -> list[str]:
        trust = [f"--ca-certificate={site.certificate}"] if site.mix.is_tls else []
        return [program, *WGET2, *trust, f"--input-file={site.seeds}"]

    return Crawler("wget2", said.split()[2], f"{' '.join(WGET2)}; pages are files", command)


CRAWLERS: dict[str, Callable[[Environment], Crawler]] = {
    "gossamer": gossamer,
    "scrapy": scrapy,
    "crawlee": crawlee,
    "wget2": wget2,
}


def found(names: list[str], environment: Environment) -> tuple[list[Crawler], list[Missing]]:
    here: list[Crawler] = []
    missing: list[Missing] = []
    for name in names:
        try:
            here.append(CRAWLERS[name](environment))
        except NotInstalled as fault:
            missing.append(Missing(name, str(fault)))
    return here, missing


def _listed(script: Path) -> str:
    """The settings as they stand in a peer's script, between its two marks."""
    _, _, rest = script.read_text(encoding="utf-8").partition("# settings\n")
    lines = rest.partition("# end of settings")[0].splitlines()
    return " ".join(line.strip() for line in lines).strip(" ,")
