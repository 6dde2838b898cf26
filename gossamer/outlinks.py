"""What an outcome gives the frontier: links to follow, each with what it is worth."""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from gossamer.records import SITEMAP, Fetched, Lease, Link, Moved, Outcome, RobotsRead
from gossamer.url.site import ascending

ShareOut = Callable[[Lease, list[Link]], list[int]]
"""What each link of a page is worth (schedule/credit.py)."""


def nothing(lease: Lease, links: list[Link]) -> list[int]:
    """Where nobody counts."""
    return [0] * len(links)


def links_of(outcome: Outcome, share_out: ShareOut = nothing, *, ascend: bool = False) -> list[Link]:
    """What an outcome gives the frontier: a page's links, where a redirect leads, or what robots.txt names."""
    came_by = outcome.lease.link
    match outcome.result:
        case Moved(target=target):
            chain = (*came_by.chain, came_by.url)
            link = Link(
                target,
                rel=came_by.rel,
                source=came_by.url,
                depth=came_by.depth,
                chain=chain,
                context=came_by.context,
                max_depth=came_by.max_depth,
                priority=came_by.priority,
            )
            return [replace(link, worth=worth) for worth in share_out(outcome.lease, [link])]
        case RobotsRead(robots=robots, sitemaps=sitemaps):
            # As near as a seed: what they list is as near as what the home page links to.
            source, reach = f"{robots.origin}/robots.txt", came_by.max_depth
            return [Link(url, rel=SITEMAP, source=source, max_depth=reach) for url in sitemaps]
        case Fetched() if outcome.page and outcome.has_own_links and not outcome.page.nofollow:
            source, depth, reach = came_by.url, came_by.depth + 1, came_by.max_depth
            links = [
                Link(
                    one.url,
                    anchor=one.anchor,
                    rel=one.rel,
                    source=source,
                    depth=depth,
                    lastmod=one.lastmod,
                    position=one.position,
                    context=one.context,
                    max_depth=reach,
                    worth=worth,
                )
                for one, worth in zip(outcome.page.links, share_out(outcome.lease, outcome.page.links), strict=True)
            ]
            if ascend:
                links += [Link(url, source=source, depth=depth, max_depth=reach) for url in ascending(source)]
            return links
    return []
