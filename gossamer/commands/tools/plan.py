"""`gossamer plan`: what a crawl of N pages a month needs; with `--pages`, as a cluster, with servers and money."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict, fields
from pathlib import Path

from gossamer.bench import cluster_plan
from gossamer.bench.cluster_plan import ClusterAssumptions
from gossamer.bench.planning import MEASURED, MIXES, Assumptions, Measured, meanings, measured_in, plan, text
from gossamer.commands.verb import number
from gossamer.config import UsageError

EXAMPLES = """
gossamer plan --pages-per-month 1e9
gossamer plan --pages-per-month 1e9 --measured report.json
gossamer plan --pages 10e9 --days 30
"""


NOT_ZERO = (
    *("days", "cores", "network_gbit_s", "machine_used"),
    *(
        "peak",
        "disk_used",
        "copies",
        "snapshot_s",
        "commit_s",
        "broker_cores",
        "broker_mb_s",
        "broker_disk_tb",
        "valkey_gb",
    ),
)


def add_arguments(verb: argparse.ArgumentParser) -> None:
    verb.add_argument(
        "--pages-per-month", type=_positive, action="append", metavar="N", help="such as 10e9; may be repeated"
    )
    verb.add_argument(
        "--pages", type=_positive, metavar="N", help="in --days, on a cluster: nodes, brokers, disks and money"
    )
    verb.add_argument(
        "--measured",
        type=Path,
        action="append",
        metavar="F",
        help="a report of `gossamer bench --save F`; two of different page sizes tell what a byte costs",
    )
    verb.add_argument("--json", action="store_true", help="as one JSON object")
    about = meanings() | {name: f"cluster: {text}" for name, text in cluster_plan.meanings().items()}
    for field in (*fields(Assumptions), *fields(ClusterAssumptions)):
        verb.add_argument(
            f"--{field.name.replace('_', '-')}",
            dest=f"assumed_{field.name}",
            type=number,
            metavar="X",
            help=f"{about[field.name]} (default: {field.default:g})".replace("%", "%%"),
        )


def run(arguments: argparse.Namespace) -> None:
    given, chosen = (
        Assumptions(**_changed(arguments, Assumptions)),
        ClusterAssumptions(**_changed(arguments, ClusterAssumptions)),
    )
    for name in NOT_ZERO:
        if not getattr(given if hasattr(given, name) else chosen, name):
            raise UsageError(f"--{name.replace('_', '-')} is 0: nothing can be crawled with that")
    if given.failed_share >= 1:
        raise UsageError("--failed-share has to be below 1: otherwise no page is ever fetched")
    measured = _measured(arguments.measured) if arguments.measured else MEASURED
    if arguments.pages is not None:
        if arguments.pages_per_month:
            raise UsageError("--pages is for a cluster, --pages-per-month for one plan beside the other: give one")
        whole = cluster_plan.cluster_plan(plan(arguments.pages, measured, given), given, chosen)
        if arguments.json:
            told = {**cluster_plan.facts(whole, given, chosen), "measured": asdict(measured)}
            print(json.dumps({**told, "assumptions": asdict(given)}))
        else:
            print(cluster_plan.text(whole, given, chosen))
        return
    plans = [plan(pages, measured, given) for pages in arguments.pages_per_month or MIXES]
    if arguments.json:
        facts = {
            "plans": [asdict(each) for each in plans],
            "measured": asdict(measured),
            "assumptions": asdict(given),
        }
        print(json.dumps(facts))
    else:
        print(text(plans, measured, given))


def _changed(arguments: argparse.Namespace, kind: type[Assumptions] | type[ClusterAssumptions]) -> dict[str, float]:
    values = {field.name: getattr(arguments, f"assumed_{field.name}") for field in fields(kind)}
    return {name: value for name, value in values.items() if value is not None}


def _measured(files: list[Path]) -> Measured:
    reports = {}
    for file in files:
        try:
            reports[str(file)] = json.loads(file.read_text(encoding="utf-8"))
            measured_in({str(file): reports[str(file)]})
        except OSError as fault:
            raise UsageError(f"--measured {file} cannot be read: {fault.strerror}") from fault
        except (ValueError, KeyError, TypeError) as fault:
            raise UsageError(f"--measured {file} is not a report of `gossamer bench --save`") from fault
    return measured_in(reports)


def _positive(text: str) -> float:
    if not number(text):
        raise argparse.ArgumentTypeError("0 pages need no plan")
    return number(text)
