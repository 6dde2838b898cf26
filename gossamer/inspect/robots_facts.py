"""What `gossamer robots` says: may this URL be fetched, which line of which file says so, and how we know."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from gossamer.clock import RealClock
from gossamer.fetch.dns import Dns
from gossamer.fetch.fetcher import Fetcher
from gossamer.fetch.protocols import protocols
from gossamer.fetch.robots import Ask, RobotsCache, decide, is_unreachable, rules_of
from gossamer.fetch.transfer import Transfers
from gossamer.inspect.view import CrawlView
from gossamer.records import Answer, Reason, RobotsCopy, RobotsRead, Url
from gossamer.settings import Tree
from gossamer.text import EXPLAINED, moment
from gossamer.url.site import origin_of
from gossamer.worker.identity import identity

Facts = dict[str, Any]


def stored(path: Path, url: Url) -> Facts:
    """As the crawl in this folder knows it."""
    with CrawlView(path) as view:
        return facts_of(
            url, view.robots(origin_of(url)), view.configuration.tree, "the crawl has not asked for it yet"
        )


async def asked_now(url: Url, tree: Tree) -> Facts:
    """Ask the server, as a crawl would, its redirects included."""
    clock = RealClock()
    dns = Dns(clock, tree.dns)
    transfers = Transfers(dns, clock, tree.fetch, allow_private=tree.crawl.allow_private)
    scheme_fetchers = protocols(tree.fetch.schemes, transfers, identity(tree.crawl))
    agent, origin = tree.crawl.user_agent_token, origin_of(url)
    copy: RobotsCopy | None = None
    trouble = ""
    fetcher = Fetcher(scheme_fetchers, RobotsCache(lambda _: copy), any_booking, clock, tree.robots, agent)
    try:
        while isinstance(ask := decide(copy, origin, tree.robots, clock.now()), Ask):
            if copy is not None:
                if copy.moved_to is None:
                    break  # no answer; a crawl would ask again much later
                await clock.sleep(tree.politeness.delay_s)
            result = await fetcher.read_robots(origin, ask.url, copy)
            if not isinstance(result, RobotsRead):
                trouble = EXPLAINED[result.reason]
                break
            copy = result.robots
    finally:
        await transfers.close()
        await dns.close()
    return facts_of(url, copy, tree, trouble)


@asynccontextmanager
async def any_booking(_url: Url) -> AsyncIterator[Callable[[Answer], None]]:
    yield lambda answer: None


def facts_of(url: Url, copy: RobotsCopy | None, tree: Tree, trouble: str) -> Facts:
    agent = tree.crawl.user_agent_token
    facts: Facts = {"url": url, "agent": agent, "robots_txt": f"{origin_of(url)}/robots.txt", "status": None}
    if copy is None:
        return facts | {"allowed": None, "reason": None, "detail": trouble}
    facts |= {"status": copy.status, "fetched_at": moment(copy.fetched_at), "bytes": len(copy.body)}
    if is_unreachable(copy.status):
        return facts | {"allowed": False, "reason": Reason.ROBOTS_UNREACHABLE, "detail": copy.fault}
    found = rules_of(copy).explain(url, agent)
    is_too_slow = found.crawl_delay_s is not None and found.crawl_delay_s > tree.robots.crawl_delay_s_max
    reason = Reason.ROBOTS if not found.is_allowed else Reason.CRAWL_DELAY_TOO_LONG if is_too_slow else None
    return facts | {
        "allowed": reason is None,
        "reason": reason,
        "group": found.group or None,
        "rule": found.rule or None,
        "line": found.line or None,
        "crawl_delay_s": found.crawl_delay_s,
        "sitemaps": rules_of(copy).sitemaps,
    }


def text_of(facts: Facts) -> str:
    lines = [facts["url"]]
    if facts["allowed"] is None:
        return f"{facts['url']}\n  not known: {facts['detail']}\n  {facts['robots_txt']}"
    because = f": {EXPLAINED[Reason(facts['reason'])]} [{facts['reason']}]" if facts["reason"] else ""
    lines.append(f"  {'allowed' if facts['allowed'] else 'refused'}{because}")
    if facts.get("detail"):
        lines.append(f"  {facts['detail']}")
    if facts["status"] is not None and not 200 <= facts["status"] < 300:
        if facts["allowed"]:
            lines.append("  there is no robots.txt, so everything is allowed")
    elif facts.get("rule"):
        lines.append(f"  by line {facts['line']}: {facts['rule']}")
    elif facts.get("group"):
        lines.append("  no rule speaks of it")
    elif facts["allowed"]:
        lines.append(f"  no group is for {facts['agent']} or for *")
    if facts.get("group"):
        lines.append(f"  in the group for {facts['group']}")
    if facts.get("crawl_delay_s") is not None:
        lines.append(f"  Crawl-delay: {facts['crawl_delay_s']:g} s")
    answer = f"status {facts['status']}" if facts["status"] is not None else "no answer"
    lines.append(f"  {facts['robots_txt']}, {answer}, {facts['fetched_at']}")
    lines += [f"  names the sitemap {sitemap}" for sitemap in facts.get("sitemaps", ())[:10]]
    return "\n".join(lines)
