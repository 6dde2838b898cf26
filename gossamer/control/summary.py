"""What is said at the end of a crawl: what was done, why anything was refused, where the result is."""

from __future__ import annotations

from gossamer.control.report import reasons_text
from gossamer.control.words import COMMAND, counted, size, span
from gossamer.folder import CrawlFolder
from gossamer.supervisor import ENDINGS, Ending


def summary_text(ending: Ending, folder: CrawlFolder) -> str:
    totals = ending.totals
    rate = ending.pages / ending.elapsed_s if ending.elapsed_s > 0 else 0.0
    lines = [
        f"{ENDINGS[ending.why][0].upper()}{ENDINGS[ending.why][1:]}.",
        f"  {counted(ending.pages, 'page')}, {size(ending.bytes)} in {span(ending.elapsed_s)}"
        f" ({rate:,.1f} pages/s), from {counted(totals.hosts, 'host')}",
    ]
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
        )
        if count
    ]
    if left:
        lines.append(f"  left for the next run: {', '.join(left)}")
    lines += reasons_text("Failed or refused, by reason", totals.reasons)
    lines += reasons_text("Links not let in, by reason", totals.turned_away)
    lines += [
        "",
        f"  The archive is in {folder.archive}; look at the crawl with",
        f"    {COMMAND} status {folder.path}",
        f"    {COMMAND} pages {folder.path} --json",
        f"    {COMMAND} why {folder.path} URL",
    ]
    return "\n".join(lines)
