"""How a crawl keeps its pages fresh, for people and programs: what visits again cost, and what they bring."""

from __future__ import annotations

from typing import Any

from gossamer.control.view import CrawlView
from gossamer.control.words import counted, span
from gossamer.frontier.tables import Totals
from gossamer.records import Known
from gossamer.schedule.course import Course
from gossamer.schedule.recrawl import DAY_S
from gossamer.url.site import host_of

Facts = dict[str, Any]


def recrawl_facts(course: Course, totals: Totals) -> Facts:
    """Rates are of the last few seconds, per day; `freshness` is that of the plan, if it is kept."""
    return {
        "pages": course.pages,
        "visits": totals.visits,
        "due": totals.again,
        "overdue": course.overdue,
        "budget_per_day": round(course.budget_per_s * DAY_S),
        "wanted_per_day": round(course.wanted_per_s * DAY_S),
        "spent_per_day": round(course.spent_per_s * DAY_S),
        "multiplier_s": round(course.multiplier, 6),
        "freshness": round(course.freshness, 4),
    }


def recrawl_text(facts: Facts) -> list[str]:
    if not facts["pages"]:
        return []
    return [
        f"  visits       {facts['visits']:>12,}   of pages had before; {facts['overdue']:,} of"
        f" {facts['due']:,} to come are late",
        f"  freshness    {facts['freshness']:>12.1%}   by importance, as estimated; {facts['spent_per_day']:,} visits"
        f" a day, {facts['wanted_per_day']:,} wanted, {facts['budget_per_day']:,} in the budget",
        f"               a visit has to keep {counted(1, 'page')} of mean importance fresh for"
        f" {span(facts['multiplier_s'])}",
    ]


def next_visit_facts(view: CrawlView, known: Known, now: float) -> Facts | None:
    """When a page comes again, and what that follows from; None: it does not."""
    host = view.host(known.url, host_of(known.url))
    if known.due_at is None or host is None:
        return None
    return {"in_s": round(max(0.0, known.due_at - now), 1), **view.planner(known.url).explained(known, host)}


def next_visit_text(facts: Facts) -> str:
    text = f"next visit in {span(facts['in_s'])}: "
    if facts["gone"]:
        return text + f"it was gone {facts['gone']} times in a row, and is looked for ever more rarely"
    seen = f"{counted(facts['changes_seen'], 'change')} in {counted(facts['visits'], 'visit')}"
    return text + (
        f"it seems to change every {span(facts['changes_every_s'])} ({seen}), and is worth {facts['weight']:g} times"
        " as much as the mean page"
    )
