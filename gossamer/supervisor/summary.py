"""What is said at the end of a crawl: what was done, why anything was refused, where the result is."""

from __future__ import annotations

from itertools import islice

from gossamer.clock import RealClock
from gossamer.folder import CrawlFolder
from gossamer.inspect.status_facts import reasons_text, resting_text
from gossamer.inspect.view import CrawlView
from gossamer.records import Link, Reason, RobotsCopy, UrlRecord
from gossamer.seeds import SeedList
from gossamer.settings import ArchiveSettings
from gossamer.supervisor.supervisor import ENDINGS, Ending
from gossamer.text import COMMAND, counted, explained, size, span, time_of_day
from gossamer.url.site import origin_of

SEEDS_TOLD = 3  # where nothing was fetched


def summary_text(ending: Ending, folder: CrawlFolder, archive: ArchiveSettings) -> str:
    totals = ending.totals
    rate = ending.pages / ending.elapsed_s if ending.elapsed_s > 0 else 0.0
    lines = [
        f"{ENDINGS[ending.why][0].upper()}{ENDINGS[ending.why][1:]}.",
        f"  {counted(ending.pages, 'page')}, {size(ending.bytes)} in {span(ending.elapsed_s)}"
        f" ({rate:,.1f} pages/s), from {counted(totals.hosts, 'host')}",
    ]
    lines += [f"  DAMAGE: {text}" for text in ending.damage]
    if totals.pages != ending.pages:
        lines.append(f"  {counted(totals.pages, 'page')} in all, earlier runs included")
    if totals.duplicates:
        saved = f", {size(totals.bytes_saved)} saved" if totals.bytes_saved else ""
        lines.append(f"  {counted(totals.duplicates, 'page')} with the same content as another: stored once{saved}")
    if (dns := ending.dns).asked:
        waits = f", {1000 * dns.query_s / dns.queries:,.0f} ms a query" if dns.queries else ""
        lines.append(f"  {counted(dns.asked, 'look-up')} of names, {dns.hits / dns.asked:.0%} from the cache{waits}")
    left = [
        text
        for count, text in (
            (totals.queued, f"{totals.queued:,} queued"),
            (totals.waiting, f"{totals.waiting:,} waiting to be tried again"),
            (totals.resting, f"of these {totals.resting:,} at hosts that do not answer"),
        )
        if count
    ]
    if left:
        lines.append(f"  left for the next run: {', '.join(left)}")
    if totals.waiting and ending.next_try_at is not None:
        when = time_of_day(ending.next_try_at, ending.ended_at)
        lines.append(
            f"  {counted(totals.waiting, 'URL')} will be tried again from {when} on: the same command goes on"
        )
    if ending.why == "nothing":
        lines += why_nothing_was_fetched(folder)
    lines += resting_text(str(folder.path), totals.resting, totals.resting_hosts)
    lines += reasons_text("Failed, refused or unreadable, by reason", totals.reasons)
    lines += reasons_text("Links rejected, by reason", totals.turned_away)
    lines += [
        "",
        f"  The archive is in {archive.url.rstrip('/') or folder.archive}; look at the crawl with",
        f"    {COMMAND} status {folder.path}",
        f"    {COMMAND} pages {folder.path} --json",
        f"    {COMMAND} why {folder.path} URL",
    ]
    return "\n".join(lines)


def why_nothing_was_fetched(folder: CrawlFolder) -> list[str]:
    """What became of the first seeds."""
    seeds = [seed.url for seed, _ in islice(SeedList(folder.path).after(0), SEEDS_TOLD)]
    with CrawlView(folder.path) as view:
        link_filter = view.filters(RealClock())
        return [
            f"  {url}: {_fate(view.state(url), view.robots(origin_of(url)), link_filter(Link(url)))}" for url in seeds
        ]


def _fate(known: UrlRecord | None, robots: RobotsCopy | None, rejected: Reason | None) -> str:
    reason = known.reason if known is not None else rejected
    if reason is None:
        if robots is not None and robots.fault:
            return f"{explained(Reason.ROBOTS_UNREACHABLE)} [{Reason.ROBOTS_UNREACHABLE}] ({robots.fault})"
        return known.state if known is not None else "not yet looked at"
    detail = f" ({known.detail})" if known is not None and known.detail else ""
    return f"{explained(reason)} [{reason}]{detail}"
