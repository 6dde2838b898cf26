"""Fetchers: what they report beside their streams, and how an operator sends one away."""

from __future__ import annotations

from typing import cast

import msgspec

from gossamer.api import fetcher_shapes as shapes
from gossamer.api.context import Context
from gossamer.api.route import NoAnswer
from gossamer.cluster.wire import Disconnected
from gossamer.messages import control_messages


async def report(context: Context, body: shapes.FetchReport) -> shapes.ReportTaken:
    """A report about no lease that is out, or of another ownership, changes nothing and is counted."""
    sent = control_messages.FetchReport(**msgspec.structs.asdict(body))
    try:
        taken = await context.crawl.call(sent, control_messages.ReportTaken)
    except Disconnected:
        raise NoAnswer(409, "not_running", "the crawl is not running, so it has given no job") from None
    return shapes.ReportTaken(not taken.reason, cast(shapes.Untaken | None, taken.reason or None))


async def drain(context: Context, fetcher: str) -> shapes.Drained:
    """It answers what it has, and ends."""
    now = await context.crawl.now()
    if now is None:
        raise NoAnswer(409, "not_running", "the crawl is not running, so it has no fetchers")
    if fetcher not in {each.name for each in now.fetchers}:
        raise NoAnswer(404, "not_found", f"no fetcher is named {fetcher}", entry="fetcher", value=fetcher)
    await context.crawl.tell(control_messages.DrainFetcher(fetcher))
    return shapes.Drained(fetcher)
