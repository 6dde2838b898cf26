"""`gossamer rank`: PageRank over all links that a crawl has stored, of pages and of hosts.

It leaves the file `ranks` in the crawl's folder, which the frontier and the exports read (schedule/ranks.py), and
says how well the estimate agreed that the crawl made while it ran. How it is done is told in ranking.py.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import msgspec

from gossamer.clock import RealClock
from gossamer.commands.verb import must_be_whole, whole
from gossamer.export.positions import ExportsFault
from gossamer.folder import CrawlFolder, FolderError
from gossamer.maintenance.ranking import Ranked, Report, rank_crawl
from gossamer.text import counted, size, span

EXAMPLES = "gossamer rank crawl-example.com --top 20"


def run(arguments: argparse.Namespace) -> None:
    crawl = Path(arguments.dir)
    CrawlFolder(crawl).must_be_crawl()
    must_be_whole(CrawlFolder(crawl), "rank")
    try:
        report = rank_crawl(crawl, arguments.top, RealClock())
    except ExportsFault as fault:
        raise FolderError(str(fault)) from fault
    print(msgspec.json.encode(report).decode() if arguments.json else report_text(report))


def report_text(report: Report) -> str:
    lines = [
        f"{report.dir}: ranked by the links of {counted(report.visits, 'visit')}, in {span(report.seconds)} "
        f"with at most {size(report.memory_bytes)} of memory",
        "",
        _graph("pages", report.pages),
        _graph("hosts", report.hosts),
    ]
    for noun, graph in (("hosts", report.hosts), ("pages", report.pages)):
        if graph.top:
            lines += ["", f"  PageRank  importance  best {noun}"]
            lines += [f"  {top.rank:<8.2g}  {top.importance:<10.2f}  {top.name}" for top in graph.top]
    lines += [""] * any(graph.agreement for graph in (report.pages, report.hosts))
    for noun, graph in (("pages", report.pages), ("hosts", report.hosts)):
        if graph.agreement:
            lines.append(_agreement(noun, graph.agreement))
    return "\n".join(lines)


def _graph(noun: str, graph: Ranked) -> str:
    return (
        f"  {noun}  {graph.nodes:>12,}   {counted(graph.links, 'link')} between them, {graph.dangling:,} have none; "
        f"{counted(graph.rounds, 'round')}"
    )


def _agreement(noun: str, agree: dict[str, float]) -> str:
    return (
        f"  the crawl's own estimate of {noun}: correlation {agree['spearman']:.2f} (Spearman); of the best "
        f"hundredth it has {agree['top']:.0%}, with {agree['top_rank']:.0%} of their rank"
    )


def add_arguments(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("dir", metavar="D", help="the crawl's folder; the crawl may be running")
    verb.add_argument("--top", type=whole(0), default=10, metavar="N", help="show the N best (default: 10)")
    verb.add_argument("--json", action="store_true", help="facts as one JSON object")
