"""How a crawl keeps its pages fresh, for people and programs: what visits again cost, and what they bring."""

from __future__ import annotations

from typing import Any

from gossamer.frontier.disk.tables import Totals
from gossamer.inspect.view import CrawlView
from gossamer.records import UrlRecord
from gossamer.schedule.recrawl import DAY_S
from gossamer.schedule.recrawl_plan import RecrawlPlan
from gossamer.text import counted, span
from gossamer.url.site import host_of

Facts = dict[str, Any]


def recrawl_facts(recrawl_plan: RecrawlPlan, totals: Totals) -> Facts:
    """Rates are of the last few seconds, per day; `freshness` is that of the plan, if it is kept."""
    return {
        "pages": recrawl_plan.pages,
        "visits": totals.visits,
        "due": totals.again,
        "overdue": recrawl_plan.overdue,
        "budget_per_day": round(recrawl_plan.budget_per_s * DAY_S),
        "wanted_per_day": round(recrawl_plan.wanted_per_s * DAY_S),
        "spent_per_day": round(recrawl_plan.spent_per_s * DAY_S),
        "multiplier_s": round(recrawl_plan.multiplier, 6),
        "freshness": round(recrawl_plan.freshness, 4),
        "is_scarce": recrawl_plan.is_scarce,
    }


def recrawl_text(facts: Facts) -> list[str]:
    if not facts["pages"]:
        return []
    when = "when its copy may have become stale, which the budget is enough for"
    if facts["is_scarce"]:
        when = f"when a visit keeps it fresh for at least {span(facts['multiplier_s'])}"
    return [
        f"  visits       {facts['visits']:>12,}   of pages fetched before; {facts['overdue']:,} of"
        f" {facts['due']:,} to come are late",
        f"  freshness    {facts['freshness']:>12.1%}   by importance, as estimated; {facts['spent_per_day']:,} visits"
        f" a day, {facts['wanted_per_day']:,} wanted, {facts['budget_per_day']:,} in the budget",
        f"               a page is visited again {when}",
    ]


def next_visit_facts(view: CrawlView, known: UrlRecord, now: float) -> Facts | None:
    """When a page comes again, and what that follows from; None: it does not."""
    host = view.host(known.url, host_of(known.url))
    if known.due_at is None or host is None:
        return None
    return {"in_s": round(max(0.0, known.due_at - now), 1), **view.planner(known.url).dates.explained(known, host)}


def next_visit_text(facts: Facts) -> str:
    text = f"next visit in {span(facts['in_s'])}: "
    if facts["gone"]:
        return text + f"it was gone {facts['gone']} times in a row, and is looked for ever more rarely"
    seen = f"{counted(facts['changes_seen'], 'change')} in {counted(facts['visits'], 'visit')}"
    if facts["is_last"]:
        why = "it is a copy or looks like a page of a trap: such pages come after all others"
        return text + f"it seems to change every {span(facts['changes_every_s'])} ({seen}); {why}"
    return text + (
        f"it seems to change every {span(facts['changes_every_s'])} ({seen}), and is worth {facts['weight']:g} times"
        " as much as the mean page"
    )
