"""`gossamer retry --links`: links of stored pages that were rejected once, and would be accepted now.

A link that the link filter rejects is counted and not kept: there are millions of them. When the scope is widened, or
a pattern is gone, the page that has the link is done, and nobody finds it again before that page is visited. But the
archive has the links of every page. So all of it is read once, and each link that is let in now and belongs to no
known URL is appended to the log of its partition, as if its page had just been fetched. The next start reads it.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Iterator

import msgspec

from gossamer.archive.opening import open_storage
from gossamer.archive.visits import Visit, visits
from gossamer.clock import Clock
from gossamer.cluster.link_log import FileLinkLog
from gossamer.cluster.link_messages import MESSAGE_LINKS
from gossamer.cluster.partitions import partition_of
from gossamer.export.formats import ExportView
from gossamer.folder import CrawlFolder
from gossamer.frontier.intake import TRAPS, is_trusted
from gossamer.records import Link, Url
from gossamer.url.canonical import canonicalize, is_crawled
from gossamer.url.site import host_of

REMEMBERED = 1_000_000  # URLs that were sent, some 150 MB: most are linked to from many pages


def send_again(folder: CrawlFolder, clock: Clock) -> int:
    """How many URLs are on their way now. Raises FolderError where the crawl is running."""
    log, count = FileLinkLog(folder.links), 0
    try:
        with folder.locked():
            for groups in found_again(folder, clock):
                asyncio.run(log.append(groups))
                count += sum(map(len, groups.values()))
    finally:
        log.close()
    return count


def found_again(folder: CrawlFolder, clock: Clock) -> Iterator[dict[int, list[Link]]]:
    """The links, by their partitions, some at a time."""
    groups: defaultdict[int, list[Link]] = defaultdict(list)
    view = ExportView(folder.path)
    with view:
        for link in _accepted(view, clock):
            group = groups[partition_of(link.url, len(view.partitions))]
            group.append(link)
            if len(group) == MESSAGE_LINKS:
                yield dict(groups)
                groups.clear()
        yield dict(groups)


def _accepted(view: ExportView, clock: Clock) -> Iterator[Link]:
    link_filter, policies = view.filters(clock), view.folder.policies()
    storage = open_storage(view.configuration.tree.archive, view.folder.archive)
    sent: set[Url] = set()
    for partition, end in view.archive_ends().items():
        for visit in visits(storage, partition, None, end):
            for link in _links_of(view, visit):
                if link.url in sent or not is_crawled(link.url):
                    continue
                reason = link_filter(link)
                if reason is not None and not (reason in TRAPS and is_trusted(policies, host_of(link.url))):
                    continue
                if view.state(link.url) is None:
                    yield link
                    sent.add(link.url)
                    if len(sent) == REMEMBERED:
                        sent.clear()  # what is sent twice changes nothing


def _links_of(view: ExportView, visit: Visit) -> list[Link]:
    """As the page sent them: no farther from a seed than the page is known to be."""
    page = view.state(visit.url)
    if page is None:
        return []
    if visit.is_redirect:
        target = canonicalize(visit.header("Location") or "", visit.url)
        chain = (*page.chain, visit.url)
        return [Link(target, "", "", visit.url, page.depth, chain, max_depth=page.max_depth)] if target else []
    depth = page.depth + 1
    return [msgspec.structs.replace(link, depth=depth, max_depth=page.max_depth) for link in visit.links]
