"""What `gossamer bench` does: finds everything, measures, prints. Its flags are in commands/tools/bench.py."""

from __future__ import annotations

import argparse
import json
import shutil
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from types import FrameType

from gossamer.bench import ceiling, cores, disk, nginx, picture, profile, report
from gossamer.bench.crawlers import found, labelled
from gossamer.bench.environment import Environment, NotInstalled
from gossamer.bench.measuring import Bench, NothingFetched
from gossamer.bench.mix import Mix, on_disk, read_once
from gossamer.config import UsageError


@dataclass(frozen=True)
class Size:
    hosts: int
    pages: int  # a host
    rounds: int
    seconds: float  # of a run


PEERS = "gossamer,scrapy,crawlee,colly,wget2"
PAGE_BYTES = 21_000
REAL_PAGES = 10  # a host: those of the real mix are three times as large, and a run is to see nearly all of them
USUAL, QUICK = Size(400, 50, 5, 30.0), Size(40, 25, 1, 10.0)


def bench(arguments: argparse.Namespace) -> int:
    with _ended_like_ctrl_c():
        return _bench(arguments)


def names_of(crawlers: str | None, against: list[str] | None) -> list[str]:
    """Who is compared. Another version alone is compared with this one, and with nobody else."""
    named = crawlers.split(",") if crawlers else ["gossamer"] if against else PEERS.split(",")
    return [name for name in named if name] + [f"gossamer={path}" for path in against or ()]


def _bench(arguments: argparse.Namespace) -> int:
    given = {field.name: getattr(arguments, field.name) for field in fields(Size)}
    size = replace(
        QUICK if arguments.quick else USUAL, **{name: value for name, value in given.items() if value is not None}
    )
    mix = _mix(arguments, size)
    names = names_of(arguments.crawlers, arguments.against)
    labelled(names)  # whoever does not exist is told before anything is done
    cache = arguments.cache.expanduser().absolute()
    environment = Environment(cache / "environment", _say)
    server = nginx.find(environment)
    crawlers, missing = found(names, environment)
    if not crawlers:
        raise UsageError(
            "none of the crawlers is here: " + "; ".join(f"{each.name}: {each.reason}" for each in missing)
        )
    site = on_disk(mix, cache, _say)
    pinned, place = cores.choose(arguments.cores), disk.choose(arguments.ram_disk, mix, cache)
    conditions = [pinned.said, place.said]
    for condition in conditions:
        _say(condition)
    read_once(site)
    folder = disk.fresh(place.folder)
    try:
        measuring = Bench(site, server, folder, size.seconds, _say, pinned)
        rounds, failed = measuring.rounds(crawlers, size.rounds)
        was_interrupted = len(rounds) < size.rounds or len(rounds[-1]) + len(failed) < len(crawlers)
        crawlers = [crawler for crawler in crawlers if crawler.name not in {each.name for each in failed}]
        fact_sheet = report.Report(
            site.mix,
            size.seconds,
            server.version,
            crawlers,
            [*missing, *failed],
            rounds,
            *((None, "the bench was interrupted") if was_interrupted else _ceiling(measuring)),
            command="gossamer " + " ".join(sys.argv[1:]),
            machine=report.machine(),
            conditions=conditions,
            in_memory=place.is_ram,
        )
        ours = next((crawler for crawler in crawlers if crawler.name == "gossamer"), None)
        if arguments.profile and ours is not None and not was_interrupted:
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
    if was_interrupted:
        return 130
    return 1 if any(each.name.startswith("gossamer") for each in [*missing, *failed]) else 0


def _mix(arguments: argparse.Namespace, size: Size) -> Mix:
    if arguments.mix == "even":
        return Mix(size.hosts, size.pages, arguments.page_bytes or PAGE_BYTES, arguments.tls, arguments.port)
    if arguments.page_bytes:
        raise UsageError("--page-bytes is for pages of one size, and --mix real has many: give one of the two")
    return Mix.real(size.hosts, arguments.pages or min(size.pages, REAL_PAGES), arguments.port)


@contextmanager
def _ended_like_ctrl_c() -> Iterator[None]:
    """SIGTERM, too, ends what was started before us."""

    def interrupt(_: int, __: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _ceiling(measuring: Bench) -> tuple[float | None, str]:
    try:
        folder = measuring.folder / "ceiling"
        return ceiling.pages_per_s(measuring.nginx, measuring.site, folder, measuring.cores), ""
    except (NotInstalled, UsageError) as fault:
        return None, str(fault)


def _say(text: str) -> None:
    print(f"gossamer: {text}", file=sys.stderr, flush=True)
