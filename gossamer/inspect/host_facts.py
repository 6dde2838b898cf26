"""What `hosts` says: facts first (dicts, for --json), then the same facts as text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from gossamer.clock import Clock
from gossamer.frontier.disk.tables import host_key
from gossamer.frontier.rules.origins import all_away
from gossamer.inspect.view import CrawlView
from gossamer.records import Host
from gossamer.text import counted, moment, size, span

Facts = dict[str, Any]


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
        "last_crawled_at": moment(host.crawled_at or None),
        "delay_s": round(host.delay_s, 3),
        "delay_reason": host.waits_for,
        "ready_in_s": round(max(0.0, host.next_turn_at - now), 3),
        "resting": host.resting,
        "origins_away": [
            {"why": found.detail, "reason": found.reason, "next_try_in_s": round(found.until - now, 1)}
            for found in all_away(host, now)
        ],
        "in_links": host.in_links,
        "leading_pages": host.led,
    }


def hosts_facts(view: CrawlView, hosts: Iterable[Host], clock: Clock) -> Iterator[Facts]:
    """With the patterns of their URLs that are used up: of those nothing more is asked for."""
    is_home = view.filters(clock).is_home
    for host in hosts:
        patterns = view.patterns(f"http://{host.name}/", is_home)
        traps = [
            {"pattern": name, "pages": pages, "alike": alike}
            for name, pages, alike in patterns.used_up(host_key(host.name), host)
        ]
        yield host_facts(host, clock.now()) | {"traps": traps}


def host_line(facts: Facts) -> str:
    """And a line for each origin that does not answer, and for each trap on it."""
    return "\n".join([_host_line(facts), *map(away_line, facts["origins_away"]), *map(_trap_line, facts["traps"])])


def away_line(found: Facts) -> str:
    return f"    away: {found['why']}; next try in {span(found['next_try_in_s'])}, its other origins go on"


def _trap_line(trap: Facts) -> str:
    pages, alike = trap["pages"], trap["alike"]
    return f"    trap: of {pages:,} pages with addresses like {trap['pattern']}, {alike:,} were like others"


def _host_line(facts: Facts) -> str:
    why = f"{facts['delay_s']:.2f} s ({facts['delay_reason']})" if facts["requests"] else "-"
    if facts["resting"]:
        why = f"rests, {counted(facts['resting'], 'URL')}"
    return (
        f"{facts['host']:<30} {facts['pages']:>8,} {facts['queued']:>8,} {facts['errors']:>8,}"
        f" {size(facts['bytes']):>10}  {why:<24} {facts['last_error'] or ''}"
    ).rstrip()


HOST_HEAD = f"{'host':<30} {'pages':>8} {'queued':>8} {'errors':>8} {'bytes':>10}  {'delay (why)':<24} last error"
