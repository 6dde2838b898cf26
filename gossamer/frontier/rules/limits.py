"""Limits: what refusals depend on, and which of them are worth a second look when it changes. Pure functions.

A URL is refused by the settings and policies of its moment. Where they become more generous, those that were refused
for that are asked about again (lifted.py); where they become stricter, nothing that is queued is taken back.
"""

from __future__ import annotations

from collections.abc import Mapping

from gossamer.frontier.rules.policy import NONE, Policies, Policy
from gossamer.records import Reason
from gossamer.settings import Tree

TRAPS_OF_POLICY = frozenset({Reason.TRAP_PATTERN, Reason.TRAP_HOST})

# By setting: the reasons for which URLs are refused because of it.
DECIDED_BY: dict[str, frozenset[Reason]] = {
    "crawl.max_depth": frozenset({Reason.MAX_DEPTH}),
    "crawl.scope": frozenset({Reason.SCOPE}),
    "crawl.include": frozenset({Reason.NOT_INCLUDED}),
    "crawl.prefixes": frozenset({Reason.NOT_INCLUDED}),
    "crawl.exclude": frozenset({Reason.EXCLUDED}),
    "crawl.hosts_excluded": frozenset({Reason.EXCLUDED}),
    "crawl.media_types": frozenset({Reason.MEDIA_TYPE}),
    "crawl.allow_private": frozenset({Reason.PRIVATE_ADDRESS}),
    "fetch.schemes": frozenset({Reason.SCHEME}),
    "dns.blocked": frozenset({Reason.BLOCKED}),
    "robots.crawl_delay_s_max": frozenset({Reason.CRAWL_DELAY_TOO_LONG}),
    "frontier.host_pages_max": frozenset({Reason.HOST_BUDGET}),
    "frontier.site_pages_max": frozenset({Reason.SITE_BUDGET}),
    "frontier.host_queue_max": frozenset({Reason.QUEUE_FULL}),
    "frontier.queue_max": frozenset({Reason.QUEUE_FULL}),
    "traps.url_bytes_max": frozenset({Reason.URL_TOO_LONG}),
    "traps.path_depth_max": frozenset({Reason.TRAP_PATH_DEPTH}),
    "traps.parameters_max": frozenset({Reason.TRAP_PARAMETERS}),
    "traps.repeats_max": frozenset({Reason.TRAP_REPEATED_PATH}),
    "traps.pattern_pages": frozenset({Reason.TRAP_PATTERN}),
    "traps.pattern_gain": frozenset({Reason.TRAP_PATTERN}),
    "traps.host_pages": frozenset({Reason.TRAP_HOST}),
}
# Of a store that nobody has noted this for: what can be told from the URL and its host, so that no look is in vain.
WHERE_UNKNOWN = frozenset({Reason.MAX_DEPTH, Reason.BLOCKED, Reason.HOST_BUDGET, Reason.SITE_BUDGET, Reason.SCHEME})
# What the link filter may say of a URL, and another time take back.
BY_LINK_FILTER = frozenset(
    {
        Reason.MAX_DEPTH,
        Reason.SCOPE,
        Reason.NOT_INCLUDED,
        Reason.EXCLUDED,
        Reason.MEDIA_TYPE,
        Reason.OWN_FILTER,
        Reason.URL_TOO_LONG,
        Reason.TRAP_PATH_DEPTH,
        Reason.TRAP_PARAMETERS,
        Reason.TRAP_REPEATED_PATH,
        Reason.TRAP_CALENDAR,
    }
)
FORBIDDEN = {"crawl.exclude", "crawl.hosts_excluded", "dns.blocked"}  # lists of what is not wanted
SCOPES = ("host", "site", "any")

Value = bool | int | float | str | list[str] | None
Values = dict[str, Value]


def in_force(tree: Tree) -> Values:
    """The settings that refusals depend on, as they can be stored."""
    found: Values = {}
    for key in DECIDED_BY:
        section, name = key.split(".")
        value = getattr(getattr(tree, section), name)
        found[key] = list(value) if isinstance(value, tuple) else value
    return found


def raised(before: Mapping[str, Value], now: Mapping[str, Value]) -> list[str]:
    """The settings that have become more generous, or may have."""
    return [key for key in DECIDED_BY if key in before and key in now and _is_raised(key, before[key], now[key])]


def _is_raised(key: str, before: Value, now: Value) -> bool:
    if before == now:
        return False
    if key == "crawl.scope":
        return SCOPES.index(str(now)) > SCOPES.index(str(before))
    if isinstance(before, list) and isinstance(now, list):
        if key in FORBIDDEN:
            return bool(set(before) - set(now))
        return not now or (bool(before) and bool(set(now) - set(before)))
    if isinstance(now, bool):
        return now
    return _is_more(before, now)


def _is_more(before: Value, now: Value) -> bool:
    """None: no limit."""
    if now is None or before is None:
        return before is not None
    return isinstance(before, int | float) and isinstance(now, int | float) and now > before


def told(key: str, before: Value, now: Value) -> str:
    """`max_depth 1 -> 5`"""
    return f"{key.partition('.')[2]} {_text(before)} -> {_text(now)}"


def _text(value: Value) -> str:
    if isinstance(value, list):
        return ", ".join(value) or "none"
    if isinstance(value, bool) or value is None:
        return "none" if value is None else "yes" if value else "no"
    return value if isinstance(value, str) else f"{value:,}"


# ---- what an operator says of a host or a site


def restrictions(policies: Policies) -> Policies:
    """Of policies what refusals depend on, and nothing else."""
    hosts, sites = (
        {
            name: Policy(max_pages=each.max_pages, blocked=each.blocked, trusted=each.trusted)
            for name, each in table.items()
            if each.max_pages is not None or each.blocked or each.trusted
        }
        for table in (policies.hosts, policies.sites)
    )
    return Policies(hosts, sites)


def lifted_of(
    before: Mapping[str, Policy],
    now: Mapping[str, Policy],
    pages_max: int | None,
    of_budget: Reason,
) -> list[tuple[str, str, frozenset[Reason]]]:
    """Of hosts or of sites: each that may have more than before, what that is in words, and the reasons concerned.

    `pages_max`: what holds where no policy says anything."""
    found = []
    for name in sorted(before.keys() | now.keys()):
        old, new = before.get(name, NONE), now.get(name, NONE)
        if old == new:
            continue
        changes: dict[str, frozenset[Reason]] = {}
        if old.blocked and not new.blocked:
            changes["unblocked"] = frozenset({Reason.BLOCKED})
        if new.trusted and not old.trusted:
            changes["trusted"] = TRAPS_OF_POLICY
        pages = (old.max_pages or pages_max, new.max_pages or pages_max)
        if _is_more(*pages):
            changes[told("policy.max_pages", *pages)] = frozenset({of_budget})
        found += [(name, f"{name} {what}", reasons) for what, reasons in changes.items()]
    return found
