"""What an outcome gives the frontier: links to follow, each with what it is worth.

Most links of a page lead to its own origin, and most of those are known already. Where the reader of the page has
told them apart (`Page.links_apart`), they go their way together as `OwnLinks`: a list of URLs, of which the frontier
answers nearly all from memory. A `Link` is made for the others alone, one in ten.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import msgspec
from msgspec.structs import replace

from gossamer.records import SITEMAP, Fetched, Lease, Link, Moved, Outcome, Page, RobotsRead, Url
from gossamer.url.site import ascending, origin_of

OWN_MAX = 200  # in one OwnLinks: a few times what a page has, and a fraction of what is written at once

ShareOut = Callable[[Lease, list[Link], int], tuple[int, list[int]]]
"""What each of so many links of a page to its own origin is worth, and each of these (schedule/credit.py)."""


class OwnLinks(msgspec.Struct, frozen=True, gc=False):
    """Links of a page to its own origin, without what only the archive keeps of them."""

    url: Url  # of the origin, with a slash: where they all lead
    source: Url
    depth: int
    max_depth: int | None
    worth: int  # each
    urls: list[Url]
    rels: list[str]
    contexts: list[float]

    def __len__(self) -> int:
        return len(self.urls)

    def __iter__(self) -> Iterator[Link]:
        return map(self.link, range(len(self.urls)))

    def link(self, number: int) -> Link:
        return Link(
            self.urls[number],
            rel=self.rels[number],
            source=self.source,
            depth=self.depth,
            context=self.contexts[number],
            max_depth=self.max_depth,
            worth=self.worth,
        )


def nothing(lease: Lease, links: list[Link], own: int) -> tuple[int, list[int]]:
    """Where nobody counts."""
    return 0, [0] * len(links)


def links_of(
    outcome: Outcome, share_out: ShareOut = nothing, *, ascend: bool = False, whole: bool = False
) -> list[Link | OwnLinks]:
    """What an outcome gives the frontier: a page's links, where a redirect leads, or what robots.txt names.

    `whole`: somebody looks at all that is known of each link."""
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
            return [replace(link, worth=worth) for worth in share_out(outcome.lease, [link], 0)[1]]
        case RobotsRead(robots=robots, sitemaps=sitemaps):
            # As near as a seed: what they list is as near as what the home page links to.
            source, reach = f"{robots.origin}/robots.txt", came_by.max_depth
            return [Link(url, rel=SITEMAP, source=source, max_depth=reach) for url in sitemaps]
        case Fetched() if outcome.page and outcome.has_own_links and not outcome.page.nofollow:
            links = _of_page(outcome.lease, outcome.page, share_out, whole=whole)
            if ascend:
                source, depth, reach = came_by.url, came_by.depth + 1, came_by.max_depth
                links += [Link(url, source=source, depth=depth, max_depth=reach) for url in ascending(source)]
            return links
    return []


def _of_page(lease: Lease, page: Page, share_out: ShareOut, *, whole: bool) -> list[Link | OwnLinks]:
    source, depth, reach = lease.url, lease.link.depth + 1, lease.link.max_depth
    apart = None if whole else page.links_apart
    others, own = (page.links, 0) if apart is None else (apart.others, len(apart.urls))
    own_worth, worths = share_out(lease, others, own)
    links: list[Link | OwnLinks] = [
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
        for one, worth in zip(others, worths, strict=True)
    ]
    if apart is not None:
        origin = origin_of(source) + "/"
        for start in range(0, own, OWN_MAX):
            some = slice(start, start + OWN_MAX)
            parts = (apart.urls[some], apart.rels[some], apart.contexts[some])
            links.append(OwnLinks(origin, source, depth, reach, own_worth, *parts))
    return links


def batches(links: Iterable[Link | OwnLinks], most: int) -> Iterator[list[Link | OwnLinks]]:
    """About so many links at a time."""
    batch: list[Link | OwnLinks] = []
    count = 0
    for each in links:
        batch.append(each)
        count += len(each) if isinstance(each, OwnLinks) else 1
        if count >= most:
            yield batch
            batch, count = [], 0
    if batch:
        yield batch


def one_by_one(links: Iterable[Link | OwnLinks]) -> list[Link]:
    return [link for each in links for link in (each if isinstance(each, OwnLinks) else (each,))]
