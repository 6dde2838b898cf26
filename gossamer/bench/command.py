"""What `gossamer bench` does: finds everything, measures, prints. Its flags are in verbs.py."""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
from dataclasses import dataclass, fields, replace
from pathlib import Path

from gossamer.bench import ceiling, nginx, picture, profile, report
from gossamer.bench.crawlers import CRAWLERS, found
from gossamer.bench.environment import Environment, NotInstalled
from gossamer.bench.measuring import Bench, NothingFetched
from gossamer.bench.mix import Mix, on_disk
from gossamer.config import UsageError


@dataclass(frozen=True)
class Size:
    hosts: int
    pages: int  # a host
    rounds: int
    seconds: float  # of a run


USUAL, QUICK = Size(400, 50, 5, 30.0), Size(40, 25, 1, 10.0)


def bench(arguments: argparse.Namespace) -> int:
    given = {field.name: getattr(arguments, field.name) for field in fields(Size)}
    size = replace(
        QUICK if arguments.quick else USUAL, **{name: value for name, value in given.items() if value is not None}
    )
    names = [name for name in arguments.crawlers.split(",") if name]
    if unknown := set(names) - set(CRAWLERS):
        raise UsageError(f"--crawlers {', '.join(sorted(unknown))}: known are {', '.join(CRAWLERS)}")
    cache = arguments.cache.expanduser().absolute()
    environment = Environment(cache / "environment", _say)
    server = nginx.find(environment)
    crawlers, missing = found(names, environment)
    if not crawlers:
        raise UsageError(
            "none of the crawlers is here: " + "; ".join(f"{each.name}: {each.reason}" for each in missing)
        )
    site = on_disk(Mix(size.hosts, size.pages, arguments.page_bytes, arguments.tls, arguments.port), cache, _say)
    folder = Path(tempfile.mkdtemp(prefix="run-", dir=cache))
    try:
        measuring = Bench(site, server, folder, size.seconds, _say)
        rounds, failed = measuring.rounds(crawlers, size.rounds)
        crawlers = [crawler for crawler in crawlers if crawler.name not in {each.name for each in failed}]
        fact_sheet = report.Report(
            site.mix,
            size.seconds,
            server.version,
            crawlers,
            [*missing, *failed],
            rounds,
            *_ceiling(measuring),
            command="gossamer " + " ".join(sys.argv[1:]),
            machine=report.machine(),
        )
        ours = next((crawler for crawler in crawlers if crawler.name == "gossamer"), None)
        if arguments.profile and ours is not None:
            fact_sheet = replace(fact_sheet, profile=profile.profiled(measuring, ours, folder / "profile"))
    except NothingFetched as fault:
        _say(str(fault))
        return 1
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    facts = fact_sheet.facts()
    if arguments.save:
        arguments.save.write_text(json.dumps(facts, indent=2) + "\n", encoding="utf-8")
    if arguments.picture:
        arguments.picture.write_text(picture.svg(facts), encoding="utf-8")
    if arguments.json:
        print(json.dumps(facts))
    else:
        print(report.text(facts))
        if fact_sheet.profile:
            print("\n" + profile.text(fact_sheet.profile))
    return 1 if any(each.name == "gossamer" for each in failed) else 0


def _ceiling(measuring: Bench) -> tuple[float | None, str]:
    try:
        return ceiling.pages_per_s(measuring.nginx, measuring.site, measuring.folder / "ceiling"), ""
    except NotInstalled as fault:
        return None, str(fault)


def _say(text: str) -> None:
    print(f"gossamer: {text}", file=sys.stderr, flush=True)
