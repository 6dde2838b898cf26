"""`gossamer demo`: the whole thing offline. A small synthetic web with bad habits, a crawl of it, and what came out.

The web's access log is the judge at the end: it was kept by the server, which knows nothing of the crawler.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import TextIO

from gossamer import config
from gossamer.clock import RealClock
from gossamer.demo.judgement import shortest_gap_s
from gossamer.folder import CrawlFolder, FolderError
from gossamer.records import Seed
from gossamer.supervisor.supervisor import Ending, run_crawl
from gossamer.synthetic_web.access_log import Entry, overlapping
from gossamer.synthetic_web.options import WebOptions
from gossamer.synthetic_web.server import serve
from gossamer.synthetic_web.web import Web
from gossamer.text import COMMAND, counted, size, span

DELAY_S = 0.2
MARK = "demo.txt"

SETTINGS = {
    "crawl.scope": "any",
    "crawl.allow_private": True,
    "crawl.contact": "demo@example.org",
    "politeness.delay_s": DELAY_S,
    # Later tries come after seconds instead of hours, so that the demo ends.
    "frontier.retries_s": [1.0],
    "robots.retry_s": [1.0],
    "fetch.timeout_s": 5.0,
}


async def run_demo(path: Path, out: TextIO) -> int:
    folder = CrawlFolder(path)
    _make_room(folder)
    folder.create()
    web = Web(WebOptions.demo())
    with folder.locked():
        async with serve(web) as server:
            print(
                f"gossamer: serving a synthetic web of {web.options.hosts} hosts, from {server.url(0)} on", file=out
            )
            configuration = config.load(path, flags=SETTINGS, environment={})
            (path / MARK).write_text("This crawl was made by `gossamer demo`; the next demo replaces it.\n")
            configuration.save(path)
            ending = await run_crawl(folder, configuration.tree, [Seed(server.url(0))], RealClock(), out)
            entries = list(server.log.entries)
    print(_result(web, ending, entries, path))
    return 0


def _make_room(folder: CrawlFolder) -> None:
    """An earlier demo may go, and nothing else: it has left a mark, and nobody has added anything."""
    if not folder.is_crawl:
        return
    if not (folder.path / MARK).is_file():
        raise FolderError(f"{folder.path} holds a crawl that is not a demo: choose another --dir")
    if strangers := folder.strangers - {MARK}:
        raise FolderError(f"{folder.path} holds {min(strangers)}, which no demo made: choose another --dir")
    with folder.locked():
        shutil.rmtree(folder.path)


def _result(web: Web, ending: Ending, entries: Sequence[Entry], path: Path) -> str:
    totals = ending.totals
    pages = [entry for entry in entries if entry.path != "/robots.txt"]
    forbidden = [entry for entry in pages if not web.permits(entry.url)]
    refusals = (*totals.turned_away.items(), *totals.reasons.items())
    traps = sum(count for reason, count in refusals if "trap" in reason)
    refused = totals.reasons.get("robots", 0) + totals.resting
    return f"""
What Gossamer found on a web with bad habits, in {span(ending.elapsed_s)}:

  {totals.pages:>6,} pages, {size(totals.bytes)} from {counted(totals.hosts, "host")}
  {totals.duplicates:>6,} duplicates caught: recorded, and not stored again
  {totals.moved:>6,} redirects followed, each at the turn of its host
  {traps:>6,} links into traps not taken: calendars, facets, endless and repeating paths
  {refused:>6,} URLs not asked for because robots.txt says so
  {totals.failed:>6,} URLs that could not be fetched, each with its reason

What the web's own access log says about Gossamer ({counted(len(entries), "request")}):

  {len(forbidden):>6,} requests for something that robots.txt forbids
  {len(overlapping(entries)):>6,} times two requests at once to one host
  {shortest_gap_s(entries):>6.2f} s shortest pause of any host between two requests (asked for: {DELAY_S} s)

Look at it:

  {COMMAND} status {path}
  {COMMAND} pages {path}
  {COMMAND} hosts {path}
  {COMMAND} why {path} {web.url(1)}

Then crawl something real:

  {COMMAND} crawl https://example.com --contact you@example.org"""
