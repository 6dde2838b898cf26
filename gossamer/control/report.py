"""What `status`, `pages`, `hosts` and `why` say: facts first (dicts, for --json), then the same facts as text."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import msgspec

from gossamer.clock import Clock
from gossamer.control.live import Now
from gossamer.control.recrawl import next_visit_facts, next_visit_text, recrawl_facts, recrawl_text
from gossamer.control.view import CrawlView
from gossamer.control.words import EXPLAINED, counted, moment, size, span
from gossamer.fetch.robots import rules_of
from gossamer.frontier.intake import TRAPS, is_trusted
from gossamer.frontier.priority import priority
from gossamer.frontier.seen import mistakes
from gossamer.records import Host, Known, Link, Reason, State, Url
from gossamer.url.canonical import canonicalize
from gossamer.url.site import host_of, origin_of
from gossamer.worker import door_of

Facts = dict[str, Any]
CHAIN_MAX = 20


# ---- status ----------------------------------------------------------------------------------------------


def status_facts(view: CrawlView, now: Now | None = None) -> Facts:
    """`now`: what the crawl says itself, if it runs; the rest is as it stands in the folder."""
    totals = view.totals()
    in_flight = view.in_flight()
    return {
        "dir": str(view.folder.path),
        "running": view.folder.is_locked,
        "complete": totals.queued == totals.revisits and totals.waiting == 0,
        "urls_known": totals.known,
        "pages": totals.pages,
        "duplicates": totals.duplicates,
        "bytes_saved": totals.bytes_saved,
        "redirects": totals.moved,
        "queued": totals.queued - in_flight,
        "in_flight": in_flight,
        "waiting": totals.waiting,
        "failed": totals.failed,
        "refused": totals.refused,
        "quarantined": totals.quarantined,
        "seen_mistakes": round(mistakes(totals.known // len(view.partitions), view.configuration.tree.frontier), 6),
        "hosts": totals.hosts,
        "requests": totals.requests,
        "bytes": totals.bytes,
        "archive_at": archive_at(view),
        "archive_bytes": bytes_in(view.folder.archive),  # here; in a bucket it takes none of our disk
        "state_bytes": bytes_in(view.folder.path) - bytes_in(view.folder.archive),
        "reasons": dict(sorted(totals.reasons.items())),
        "links_turned_away": dict(sorted(totals.turned_away.items())),
        "recrawl": recrawl_facts(now.course if now else view.folder.course(), totals),
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
    }


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
    else:
        head = "stopped; the same crawl command goes on"
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
        f"  seen         {facts['urls_known']:>12,}   {facts['seen_mistakes']:.2%} of new URLs are looked up in vain",
        f"  hosts        {facts['hosts']:>12,}   {counted(facts['requests'], 'request')}",
        f"  on disk      {size(facts['archive_bytes']):>12}   archive, {size(facts['state_bytes'])} state",
        *recrawl_text(facts["recrawl"]),
        *([f"  archive      in {facts['archive_at']}"] if facts["archive_at"] != "archive" else []),
    ]
    if now:
        lines += now_text(now)
    lines += reasons_text("Failed or refused, by reason", facts["reasons"])
    lines += reasons_text("Links not let in, by reason", facts["links_turned_away"])
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
    return lines + [
        f"  worker {worker['number']:<5} {worker['state']:>12}   {worker['in_flight']:,} in flight,"
        f" {counted(len(worker['partitions']), 'partition')}, {size(worker['memory_bytes'])}"
        for worker in now["workers"]
    ]


def reasons_text(title: str, counts: dict[str, int]) -> list[str]:
    if not counts:
        return []
    rows = sorted(counts.items(), key=lambda item: -item[1])
    return ["", f"  {title}:"] + [f"    {count:>10,}  {word:<20} {EXPLAINED[Reason(word)]}" for word, count in rows]


# ---- pages -----------------------------------------------------------------------------------------------


def page_facts(known: Known) -> Facts:
    place = known.place
    return {
        "url": known.url,
        "state": known.state,
        "status": known.status,
        "reason": known.reason,
        "content_hash": known.content_hash or None,
        "found_at": moment(known.found_at),
        "fetched_at": moment(known.fetched_at),
        "verdict": known.verdict.kind if known.verdict else None,
        "same_as": known.verdict.of if known.verdict else None,
        "distance": known.verdict.distance if known.verdict and known.verdict.kind == "near" else None,
        "media_type": known.media_type or None,
        "title": known.title or None,
        "bytes": known.body_bytes,
        "depth": known.depth,
        "source": known.source,
        "moved_to": known.moved_to,
        "noindex": known.noindex,
        "noarchive": known.noarchive,
        "language": known.language or None,
        "simhash": f"{known.simhash:016x}" if known.simhash else None,
        "next_visit_at": moment(known.due_at),
        "archive": {"file": place.file, "offset": place.offset, "length": place.length} if place else None,
    }


def page_line(known: Known) -> str:
    mark = str(known.status) if known.status is not None else "-"
    note = known.reason or (known.verdict.kind if known.verdict else "") or ("moved" if known.moved_to else "")
    return f"{mark:>4} {note:<16} {size(known.body_bytes):>9}  {known.url}"


# ---- hosts -----------------------------------------------------------------------------------------------


def host_facts(host: Host, now: float) -> Facts:
    return {
        "host": host.name,
        "site": host.site,
        "pages": host.pages,
        "queued": host.queued,
        "requests": host.requests,
        "errors": host.errors,
        "last_error": host.last_error or None,
        "bytes": host.body_bytes,
        "delay_s": round(host.delay_s, 3),
        "delay_reason": host.delay_reason,
        "ready_in_s": round(max(0.0, host.ready_at - now), 3),
    }


def host_line(facts: Facts) -> str:
    why = f"{facts['delay_s']:.2f} s ({facts['delay_reason']})" if facts["requests"] else "-"
    return (
        f"{facts['host']:<30} {facts['pages']:>8,} {facts['queued']:>8,} {facts['errors']:>8,}"
        f" {size(facts['bytes']):>10}  {why:<24} {facts['last_error'] or ''}"
    ).rstrip()


HOST_HEAD = f"{'host':<30} {'pages':>8} {'queued':>8} {'errors':>8} {'bytes':>10}  {'delay (why)':<24} last error"


# ---- why -------------------------------------------------------------------------------------------------


def why_facts(view: CrawlView, text: str, clock: Clock) -> Facts:
    """The state of any URL and the reason for it."""
    url = canonicalize(text)
    if url is None:
        return {"asked": text, "url": None, "state": "refused", "reason": Reason.NOT_A_URL}
    now = clock.now()
    facts: Facts = {"asked": text, "url": url}
    known = view.state(url)
    if known is None:
        return facts | _never_accepted(view, url, clock)
    facts |= page_facts(known)
    facts |= {"detail": known.detail or None, "attempts": known.attempts, "kills": known.kills}
    facts["archive_at"] = archive_at(view)
    if known.state is State.WAITING and known.due_at is not None:
        facts["next_try_in_s"] = round(max(0.0, known.due_at - now), 1)
    elif (next_visit := next_visit_facts(view, known, now)) is not None:
        facts["next_visit"] = next_visit
    if known.state in (State.QUEUED, State.WAITING) and (host := view.host(url, host_of(url))):
        facts["host"] = host_facts(host, now)
        waited_s = now - known.found_at if known.found_at is not None else 0.0
        fixed = view.folder.policies().of(host).priority
        weights = view.configuration.tree.frontier
        planner = view.planner(url)
        worth = (planner.standing(known), planner.need(known, host, now))
        fixed = planner.authority(host) if fixed is None else fixed
        parts = priority(host, known.depth, known.context, waited_s, weights, fixed, known.priority, *worth)
        facts["priority"] = {name: round(value, 4) for name, value in asdict(parts).items()}
        facts["seed_priority"] = known.priority
    facts["found_by"] = list(_sources(view, known))
    facts["leads_to"] = list(_redirects(view, known))
    return facts


def _never_accepted(view: CrawlView, url: Url, clock: Clock) -> Facts:
    """No page led to it, or the door was closed: the door can be asked again, it is a pure function."""
    tree = view.configuration.tree
    # As if a page had linked to it, because a seed is let in nearly everywhere.
    reason = door_of(view.folder.seeds(), tree, clock)(Link(url, source=url, depth=1))
    is_overruled = is_trusted(view.folder.policies(), host_of(url))
    if reason is not None and not (reason in TRAPS and is_overruled):
        return {"state": "refused", "reason": reason}
    if not is_overruled and (detail := view.trap(url)):
        return {"state": "refused", "reason": Reason.TRAP_PATTERN, "detail": detail}
    copy = view.robots(origin_of(url))
    if copy is not None and not rules_of(copy).allowed(url, tree.crawl.user_agent_token):
        return {"state": "never seen", "reason": Reason.ROBOTS}
    return {"state": "never seen", "reason": None}


def _sources(view: CrawlView, known: Known) -> Iterator[Url]:
    """The way back to a seed."""
    for _ in range(CHAIN_MAX):
        if known.source is None:
            return
        yield known.source
        source = view.state(known.source)
        if source is None:
            return
        known = source


def _redirects(view: CrawlView, known: Known) -> Iterator[Url]:
    seen = {known.url}
    while known.moved_to is not None and known.moved_to not in seen:
        yield known.moved_to
        seen.add(known.moved_to)
        target = view.state(known.moved_to)
        if target is None:
            return
        known = target


def why_text(facts: Facts) -> str:
    if facts["url"] is None:
        return f"{facts['asked']}\n  refused: {EXPLAINED[Reason.NOT_A_URL]}"
    lines = [facts["url"]]
    if facts["url"] != facts["asked"]:
        lines.append(f"  (the canonical form of {facts['asked']})")
    reason = facts.get("reason")
    because = f": {EXPLAINED[Reason(reason)]} [{reason}]" if reason else ""
    state = facts["state"]
    if state == "never seen":
        if reason:
            lines.append(f"  never seen: no page led to it so far; it would be refused{because}")
        else:
            lines.append("  never seen: no page led to it so far; it would be accepted")
        return "\n".join(lines)
    lines.append(f"  {state.replace('_', ' ')}{because}")
    lines += [f"  {text}" for text in _story(facts)]
    return "\n".join(lines)


def _story(facts: Facts) -> Iterator[str]:
    if facts.get("detail"):
        yield f"detail: {facts['detail']}"
    if facts.get("fetched_at"):
        answer = f"status {facts['status']}" if facts["status"] is not None else "no answer"
        yield f"asked {facts['fetched_at']}, {answer}, attempt {facts['attempts']}"
    if facts.get("verdict") == "original":
        yield f"content: {size(facts['bytes'])} {facts['media_type'] or ''}, not seen before".replace(" ,", ",")
    elif facts.get("verdict") == "unchanged":
        yield f"content: {size(facts['bytes'])} {facts['media_type'] or ''}, as it was at the visit before"
    elif facts.get("verdict") == "near":
        yield f"content: nearly that of {facts['same_as']}: their SimHashes differ in {facts['distance']} of 64 bits"
    elif facts.get("same_as"):
        yield f"content: the same as {facts['same_as']}"
    if facts.get("archive"):
        place = facts["archive"]
        yield f"stored in {facts['archive_at']}/{place['file']} at {place['offset']}, {place['length']} bytes"
    if "next_try_in_s" in facts:
        yield f"next try in {span(facts['next_try_in_s'])}"
    if "next_visit" in facts:
        yield next_visit_text(facts["next_visit"])
    if "host" in facts:
        host = facts["host"]
        yield (
            f"its host has {counted(host['queued'], 'URL')} queued and may be asked again "
            f"in {span(host['ready_in_s'])} ({EXPLAINED[Reason(host['delay_reason'])]})"
        )
    if "priority" in facts:
        parts = facts["priority"]
        own = f"need of freshness {parts['freshness']:.2f}, context of its links {parts['context']:.2f}"
        if facts["seed_priority"] is not None:
            own = f"given to this seed {facts['seed_priority']:.2f}"
        yield (
            f"priority {parts['score']:.2f}: authority of the host {parts['authority']:.2f}, {own}, "
            f"waiting +{parts['waiting']:.2f}"
        )
    for target in facts.get("leads_to", ()):
        yield f"moved to {target}"
    if facts.get("found_by"):
        yield "found on " + "\n  found on ".join(facts["found_by"]) + " (the seed)"
    elif "depth" in facts:
        yield "a seed"
