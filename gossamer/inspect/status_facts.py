"""What `status` says: facts first (dicts, for --json), then the same facts as text."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from gossamer.frontier.disk.seen import mistakes
from gossamer.frontier.disk.tables import Totals
from gossamer.inspect.recrawl_facts import recrawl_facts, recrawl_text
from gossamer.inspect.view import CrawlView
from gossamer.messages.control_messages import Now, SinkNow
from gossamer.process.which_reader import reader_text
from gossamer.render.browser import INSTALL, find_browser
from gossamer.seeds import SeedList
from gossamer.settings import RenderSettings
from gossamer.text import COMMAND, counted, explained, size

Facts = dict[str, Any]
STALE_S = 3.0  # a fetcher that was not heard for so long gets no job (fetchers/messages.py)


def is_all_done(totals: Totals, seeds: SeedList) -> bool:
    """Every URL that was found has come to its end, and every seed was taken."""
    return totals.open == 0 and totals.resting == 0 and seeds.fed == seeds.bytes


def status_facts(view: CrawlView, now: Now | None = None) -> Facts:
    """`now`: what the crawl says itself, if it runs; the rest is as it stands in the folder."""
    totals = view.totals()
    in_flight = view.in_flight()
    seeds = SeedList(view.folder.path)
    return {
        "dir": str(view.folder.path),
        "running": view.folder.is_locked,
        "complete": is_all_done(totals, seeds),
        "urls_known": totals.known,
        "pages": totals.pages,
        "duplicates": totals.duplicates,
        "bytes_saved": totals.bytes_saved,
        "redirects": totals.moved,
        "queued": totals.queued - in_flight,
        "in_flight": in_flight,
        "waiting": totals.waiting,
        "resting": totals.resting,
        "resting_hosts": dict(sorted(totals.resting_hosts.items())),
        "failed": totals.failed,
        "refused": totals.refused,
        "quarantined": totals.quarantined,
        "seen_mistakes": round(mistakes(totals.known // len(view.partitions), view.configuration.tree.frontier), 6),
        "hosts": totals.hosts,
        "requests": totals.requests,
        "bytes": totals.bytes,
        "reader": reader_text(),
        "rendering": rendering_text(view.configuration.tree.render),
        "archive_at": archive_at(view),
        "archive_bytes": bytes_in(view.folder.archive),  # here; in a bucket it takes none of our disk
        "state_bytes": bytes_in(view.folder.path) - bytes_in(view.folder.archive),
        "reasons": dict(sorted(totals.reasons.items())),
        "links_turned_away": dict(sorted(totals.turned_away.items())),
        "outcomes_ignored": dict(sorted(totals.outcomes_ignored.items())),
        "recrawl": recrawl_facts(now.recrawl_plan if now else view.folder.recrawl_plan(), totals),
        "now": now_facts(now) if now else None,
    }


def now_facts(now: Now) -> Facts:
    return {
        "running_s": round(now.at - now.started_at, 1),
        "paused": now.paused or None,
        "draining": now.is_draining,
        "pages_today": now.pages_today,
        "pages_per_s": round(now.pages_per_s, 1),
        "bytes_per_s": round(now.bytes_per_s),
        "errors_per_s": round(now.errors_per_s, 1),
        "active_hosts": now.active_hosts,
        "memory_bytes": now.memory_bytes,
        "workers": [msgspec.to_builtins(worker) for worker in now.workers],
        "sinks": [sink_facts(sink, now) for sink in now.sinks],
        "fetchers": [msgspec.to_builtins(fetcher) for fetcher in now.fetchers],
        "fetch_reports_ignored": dict(sorted(now.fetch_reports_ignored.items())),
        "fetch_jobs_lost": now.fetch_jobs_lost,
        "proxies": [{"proxy": each.proxy, "trouble": each.trouble or None} for each in now.proxies],
    }


def sink_facts(sink: SinkNow, now: Now) -> Facts:
    return {
        "sink": sink.to,
        "title": sink.title,
        "records": sink.handed_on,
        "behind": sink.behind(now.totals),
        "trouble": sink.trouble or None,
    }


def rendering_text(settings: RenderSettings) -> str:
    """Whether pages are rendered, and by what."""
    browser = find_browser(settings.browser)
    if browser is None:
        return f"nothing: there is no browser{' at ' + settings.browser if settings.browser else ''}. {INSTALL}"
    if settings.when == "never":
        return "nothing (render.when)"
    return f"{'what gains by it' if settings.when == 'auto' else 'everything'}, by {browser}"


def archive_at(view: CrawlView) -> str:
    """Where the archive's files lie: a folder of the crawl, or a bucket."""
    return view.configuration.tree.archive.url.rstrip("/") or "archive"


def bytes_in(folder: Path) -> int:
    sizes = []
    for path in folder.rglob("*"):
        try:
            sizes.append(path.stat().st_blocks * 512)  # what it takes, whatever its length is
        except FileNotFoundError:
            continue  # a running crawl removes files
    return sum(sizes)


def status_text(facts: Facts) -> str:
    now = facts["now"]
    if now:
        head = f"paused: {now['paused']}" if now["paused"] else "stopping" if now["draining"] else "running"
    elif facts["running"]:
        head = "running"
    elif facts["complete"]:
        head = "complete: every URL that was found is done"
    elif facts["resting"]:
        head = "stopped; some servers do not answer"
    elif facts["queued"] == 0 and facts["waiting"]:
        head = "done for now; what failed is tried again later, by the same crawl command"
    else:
        head = "stopped; the same crawl command resumes it"
    lines = [
        f"{facts['dir']}: {head}",
        "",
        f"  pages        {facts['pages']:>12,}   {size(facts['bytes'])}, {_duplicates(facts)}",
        f"  redirects    {facts['redirects']:>12,}",
        f"  queued       {facts['queued']:>12,}   {facts['in_flight']:,} in flight",
        f"  waiting      {facts['waiting']:>12,}   to be tried again",
        f"  failed       {facts['failed']:>12,}",
        f"  refused      {facts['refused']:>12,}",
        f"  quarantined  {facts['quarantined']:>12,}",
        f"  seen         {facts['urls_known']:>12,}   {facts['seen_mistakes']:.2%} of new URLs looked up for nothing",
        f"  hosts        {facts['hosts']:>12,}   {counted(facts['requests'], 'request')}",
        f"  on disk      {size(facts['archive_bytes']):>12}   archive, {size(facts['state_bytes'])} state",
        f"  read by      {facts['reader']}",
        f"  rendered     {facts['rendering']}",
        *recrawl_text(facts["recrawl"]),
        *([f"  archive      in {facts['archive_at']}"] if facts["archive_at"] != "archive" else []),
    ]
    if now:
        lines += now_text(now)
    lines += resting_text(facts["dir"], facts["resting"], facts["resting_hosts"])
    lines += reasons_text("Failed, refused or unreadable, by reason", facts["reasons"])
    lines += reasons_text("Links rejected, by reason", facts["links_turned_away"])
    return "\n".join(lines)


def _duplicates(facts: Facts) -> str:
    saved = f": {size(facts['bytes_saved'])} not stored again" if facts["bytes_saved"] else ""
    return f"{facts['duplicates']:,} of them duplicates{saved}"


def now_text(now: Facts) -> list[str]:
    rates = f"{size(now['bytes_per_s'])}/s, {now['errors_per_s']:,.1f} errors/s"
    lines = [
        "",
        f"  now          {now['pages_per_s']:>10,.1f}/s   {rates}, {now['pages_today']:,} pages today",
        f"  in memory    {size(now['memory_bytes']):>12}   {counted(now['active_hosts'], 'host')} at once",
    ]
    for sink in now["sinks"]:
        behind = "" if sink["behind"] is None else f", {sink['behind']:,} behind"
        lines.append(f"  {sink['sink']:<12} {sink['records']:>12,}   records handed on{behind}")
        lines += [f"               {'waits':>12}   {sink['trouble']}"] if sink["trouble"] else []
    lines += fetchers_text(now["fetchers"])
    for proxy in now["proxies"]:
        lines.append(f"  proxy        {'waits' if proxy['trouble'] else 'in use':>12}   {proxy['proxy']}")
        lines += [f"               {'':>12}   {proxy['trouble']}; no host is blamed"] if proxy["trouble"] else []
    return lines + [
        f"  worker {worker['number']:<5} {worker['state']:>12}   {worker['in_flight']:,} in flight,"
        f" {counted(len(worker['partitions']), 'partition')}, {size(worker['memory_bytes'])}"
        for worker in now["workers"]
    ]


def fetchers_text(fetchers: list[Facts]) -> list[str]:
    return [
        f"  {each['name']:<12} {fetcher_state(each):>12}   {each['jobs']:,} of {each['room']:,} jobs,"
        f" {each['done']:,} done, {size(each['bytes'])}, at {each['address']}"
        + (f" in {each['region']}" if each["region"] else "")
        for each in fetchers
    ]


def fetcher_state(fetcher: Facts) -> str:
    return "leaving" if fetcher["is_leaving"] else "silent" if fetcher["silent_s"] >= STALE_S else "fetching"


def resting_text(folder: str, urls: int, hosts: dict[str, int]) -> list[str]:
    """What waits for the end of an outage, why, and how to go on."""
    if not urls:
        return []
    return [
        *reasons_text(f"Hosts that do not answer, with {counted(urls, 'URL')} never fetched, by cause", hosts),
        f"    They are asked again when they have rested, at the next `{COMMAND} crawl --dir {folder}` after that;",
        f"    `{COMMAND} retry {folder}` asks them as soon as it is polite.",
    ]


def reasons_text(title: str, counts: dict[str, int]) -> list[str]:
    if not counts:
        return []
    rows = sorted(counts.items(), key=lambda item: -item[1])
    return ["", f"  {title}:"] + [f"    {count:>10,}  {word:<20} {explained(word)}" for word, count in rows]
