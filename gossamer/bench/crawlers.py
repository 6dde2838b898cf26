"""Who is compared: how each crawler is found, how it is started, and what it is set to.

Everybody gets the same seeds, obeys robots.txt, follows all links of the pages, and is set for speed as its own
documents advise. Where a choice is left, it is made in the peer's favour: Scrapy, Crawlee and Colly keep their
queues in memory and store no page. Gossamer runs with its defaults, except that hosts are not left alone between two
pages: nobody else leaves them alone either. All of them say by themselves that gzip is welcome.

Each is one command, as its users start it. Scrapy and Crawlee are one process by nature and use one core; wget2 and
Colly have threads, Gossamer a worker for each core. CPU a page is the figure that knows nothing of cores.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

from gossamer.bench.crawler import Crawler, Missing
from gossamer.bench.environment import Environment, NotInstalled, run
from gossamer.bench.go_program import built, version_of
from gossamer.bench.mix import Site
from gossamer.bench.versions import checkout, gossamer, other_version
from gossamer.config import UsageError

HERE = Path(__file__).parent
WGET2 = ("--recursive", "--level=0", "--span-hosts", "--robots=on", "--max-threads=10", "--quiet")


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
    said = run(program, "--version")

    def command(site: Site) -> list[str]:
        trust = [f"--ca-certificate={site.certificate}"] if site.mix.is_tls else []
        return [program, *WGET2, *trust, f"--input-file={site.seeds}"]

    return Crawler("wget2", said.split()[2], f"{' '.join(WGET2)}; pages are files", command)


def colly(environment: Environment) -> Crawler:
    source = HERE / "colly"
    program = built(source, environment.folder.parent, environment.say)

    def command(site: Site) -> list[str]:
        return [str(program), str(site.seeds)]

    settings = f"{_listed(source / 'main.go', '//')}; pages are not stored, the queue is in memory"
    return Crawler("colly", version_of("github.com/gocolly/colly/v2", source), settings, command)


CRAWLERS: dict[str, Callable[[Environment], Crawler]] = {
    "gossamer": gossamer,
    "scrapy": scrapy,
    "crawlee": crawlee,
    "colly": colly,
    "wget2": wget2,
}


def found(names: list[str], environment: Environment) -> tuple[list[Crawler], list[Missing]]:
    """Those that can be run, and the others with the reason. A name may be `gossamer=PATH`, another version."""
    here: list[Crawler] = []
    missing: list[Missing] = []
    for name, path in labelled(names).items():
        try:
            here.append(other_version(path, environment, name) if path else CRAWLERS[name](environment))
        except NotInstalled as fault:
            missing.append(Missing(name, str(fault)))
    return here, missing


def labelled(names: list[str]) -> dict[str, Path | None]:
    """Each name once, as the report has it; a version is called by the last part of its path."""
    labels: dict[str, Path | None] = {}
    for name in names:
        kind, _, text = name.partition("=")
        if kind == "gossamer" and text:
            path = checkout(text)
            same = sum(label.split("#")[0] == f"gossamer={path.name}" for label in labels)
            labels[f"gossamer={path.name}" + (f"#{same + 1}" if same else "")] = path
        elif name in CRAWLERS:
            labels[name] = None
        else:
            raise UsageError(f"--crawlers {name}: known are {', '.join(CRAWLERS)}, and gossamer=PATH for a checkout")
    return labels


def _listed(script: Path, remark: str = "#") -> str:
    """The settings as they stand in a peer's program, between its two marks."""
    _, _, rest = script.read_text(encoding="utf-8").partition(f"{remark} settings\n")
    lines = rest.partition(f"{remark} end of settings")[0].splitlines()
    return " ".join(line.strip() for line in lines).strip(" ,")
