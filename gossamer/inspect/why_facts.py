"""What `why` says: the state of any URL and the reason for it. Facts first (dicts, for --json), then as text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from gossamer.clock import Clock
from gossamer.fetch.robots import rules_of
from gossamer.frontier.disk.tables import host_key
from gossamer.frontier.intake import TRAPS, is_trusted
from gossamer.frontier.lifted import link_to
from gossamer.frontier.rules.limits import BY_LINK_FILTER
from gossamer.frontier.rules.priority import priority, with_start
from gossamer.inspect.host_facts import host_facts
from gossamer.inspect.page_facts import page_facts
from gossamer.inspect.recrawl_facts import next_visit_facts, next_visit_text
from gossamer.inspect.render_facts import rendering_facts, rendering_text
from gossamer.inspect.status_facts import archive_at
from gossamer.inspect.view import CrawlView
from gossamer.records import Host, Link, Reason, State, Url, UrlRecord
from gossamer.text import EXPLAINED, counted, size, span
from gossamer.url.site import clock_name, host_of, origin_of, site_of
from gossamer.url.typed import NotASeed, url_in

Facts = dict[str, Any]
CHAIN_MAX = 20
CANONICAL = re.compile(r"[a-z][a-z0-9+.-]*://[^/]+/")


def why_facts(view: CrawlView, text: str, clock: Clock) -> Facts:
    """The state of any URL and the reason for it."""
    try:
        url = url_in(text)
    except NotASeed:
        # Its scheme may have been crawled once.
        if CANONICAL.match(text) is None or view.state(text) is None:
            return {"asked": text, "url": None, "state": "refused", "reason": Reason.NOT_A_URL}
        url = text
    now = clock.now()
    facts: Facts = {"asked": text, "url": url}
    known = view.state(url)
    if known is None:
        return facts | _never_accepted(view, url, clock)
    facts |= page_facts(known)
    facts |= {"detail": known.detail or None, "attempts": known.attempts, "kills": known.kills}
    facts["archive_at"] = archive_at(view)
    facts["rendering"] = rendering_facts(view, known)
    if known.state is State.WAITING and known.due_at is not None:
        facts["next_try_in_s"] = round(max(0.0, known.due_at - now), 1)
    elif (next_visit := next_visit_facts(view, known, now)) is not None:
        facts["next_visit"] = next_visit
    if known.state in (State.QUEUED, State.WAITING) and (host := view.host(url, host_of(url))):
        facts["host"] = host_facts(host, now)
        copy = view.robots(origin_of(url))
        facts["robots_fault"] = copy.fault if copy is not None and copy.reason is not None else None
        waited_s = now - known.found_at if known.found_at is not None else 0.0
        fixed = view.folder.policies().of(host).priority
        planner = view.planner(url)
        worth = (planner.credit.importance(known), planner.dates.chance_outdated(known, host, now))
        fixed = (
            with_start(planner.credit.authority(host), view.configuration.tree.frontier) if fixed is None else fixed
        )
        parts = priority(host, known.depth, known.context, waited_s, fixed, known.priority, *worth)
        facts["priority"] = {name: round(value, 4) for name, value in asdict(parts).items()}
        facts["seed_priority"] = known.priority
    if known.state is State.REFUSED:
        facts["comes_back"] = _comes_back(view, known, clock)
    facts["found_by"] = list(_sources(view, known))
    facts["leads_to"] = list(_redirects(view, known))
    return facts


def _comes_back(view: CrawlView, known: UrlRecord, clock: Clock) -> bool:
    """Whether the limit or the policy that it was refused for holds no more, and nobody has looked since."""
    if known.reason in BY_LINK_FILTER:
        return view.filters(clock)(link_to(known)) is None
    if known.reason is not Reason.BLOCKED or known.detail:  # else by dns.blocked
        return False
    host = host_of(known.url)
    return not view.folder.policies().of(Host(name=clock_name(host), site=site_of(host))).blocked


def _never_accepted(view: CrawlView, url: Url, clock: Clock) -> Facts:
    """No page led to it, or the link filter was closed: the link filter can be asked again, it is a pure function."""
    tree = view.configuration.tree
    # As if a page had linked to it, because a seed is let in nearly everywhere.
    link_filter = view.filters(clock)
    reason = link_filter(Link(url, source=url, depth=1))
    is_overruled = is_trusted(view.folder.policies(), host_of(url))
    if reason is not None and not (reason in TRAPS and is_overruled):
        return {"state": "refused", "reason": reason}
    if not is_overruled and (detail := view.patterns(url, link_filter.is_home).refusal(host_key(host_of(url)), url)):
        return {"state": "refused", "reason": Reason.TRAP_PATTERN, "detail": detail}
    copy = view.robots(origin_of(url))
    if copy is not None and not rules_of(copy).allowed(url, tree.crawl.user_agent_token):
        return {"state": "never seen", "reason": Reason.ROBOTS}
    return {"state": "never seen", "reason": None}


def _sources(view: CrawlView, known: UrlRecord) -> Iterator[Url]:
    """The way back to a seed."""
    for _ in range(CHAIN_MAX):
        if known.source is None:
            return
        yield known.source
        source = view.state(known.source)
        if source is None:
            return
        known = source


def _redirects(view: CrawlView, known: UrlRecord) -> Iterator[Url]:
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
    if facts.get("comes_back"):
        yield "that holds no more: it comes back by itself when the crawl goes on"
    if facts.get("fetched_at"):
        answer = f"status {facts['status']}" if facts["status"] is not None else "no answer"
        yield f"asked {facts['fetched_at']}, {answer}, attempt {facts['attempts']}"
    if facts.get("verdict") == "original":
        yield f"content: {size(facts['bytes'])} {facts['media_type'] or ''}, not seen before".replace(" ,", ",")
    elif facts.get("verdict") == "unchanged":
        yield f"content: {size(facts['bytes'])} {facts['media_type'] or ''}, as it was at the visit before"
    elif facts.get("verdict") == "near":
        share = f" ({facts['resemblance']:.0%} of the shingles in common)" if facts["resemblance"] else ""
        yield f"content: {size(facts['bytes'])} {facts['media_type'] or ''}, nearly that of {facts['same_as']}{share}"
    elif facts.get("same_as"):
        yield f"content: the same as {facts['same_as']}"
    if facts.get("rendering"):
        yield rendering_text(facts["rendering"], facts["rendered"])
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
        if facts["robots_fault"] and facts["robots_fault"] not in (facts.get("detail") or ""):
            yield facts["robots_fault"]
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
