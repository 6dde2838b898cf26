"""The work of `gossamer rank`: from the archive to the file `ranks`, and what the crawl itself had thought meanwhile.

    archive  ->  ranking/visits, ranking/links  ->  graphs of pages and hosts  ->  PageRank  ->  ranks

What counts as a link is said in schedule/rank_links.py, and here: links with `nofollow` do not; a page that is gone
says nothing any more; a sitemap is a list, and recommends nothing. `ranking/` is removed before and after, and
`ranks` gets its name when it is whole, so a crash leaves the ranks of the last time.

It reads what was committed when it began, so the crawl may go on meanwhile; compaction and exports have to wait.
"""

from __future__ import annotations

import heapq
import resource
import shutil
import sys
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from itertools import islice
from pathlib import Path

import msgspec
import numpy as np

from gossamer.archive.opening import open_storage
from gossamer.archive.visits import Visit, visits
from gossamer.atomic import replacing
from gossamer.clock import Clock
from gossamer.export import positions
from gossamer.export.formats import ExportView
from gossamer.folder import FolderError
from gossamer.records import Host, Reason, Url, UrlRecord
from gossamer.schedule import ranks
from gossamer.schedule.rank import agreement
from gossamer.schedule.rank_links import Hashes, LinkFiles, Links, Ranking, hash_of, ranking
from gossamer.schedule.ranks import Ranks, Table, importance_of
from gossamer.url.canonical import canonicalize
from gossamer.url.link_filter import is_nofollow

AT_ONCE = 10_000  # records that are looked up together
COMPARED_MAX = 1_000_000  # more are compared by a sample, which says as much


def page_estimate(known: UrlRecord) -> float | None:
    """What the crawl itself thinks of a page: the credit that links gave it; None: nothing so far."""
    return known.credit + known.earned or None


def host_estimate(host: Host) -> float | None:
    return host.earned or host.in_links or None


class Top(msgspec.Struct, frozen=True):
    name: str
    rank: float
    importance: float = msgspec.field(name="standing")  # as the JSON of `rank` always called it


class Ranked(msgspec.Struct, frozen=True):
    """What became of one of the graphs. `top` has only what the crawl knows: it may not go elsewhere."""

    nodes: int
    links: int
    dangling: int
    rounds: int
    top: list[Top]
    agreement: dict[str, float] | None  # with the crawl's own estimate: an `Agreement`, by name


class Report(msgspec.Struct, frozen=True):
    dir: str
    visits: int
    pages: Ranked
    hosts: Ranked
    seconds: float
    memory_bytes: int  # the most that the process had


def rank_crawl(crawl: Path, top: int, clock: Clock) -> Report:
    began_at = clock.now()
    with positions.locked(crawl), ExitStack() as open_things:
        view = ExportView(crawl)
        open_things.enter_context(view)
        folder = crawl / "ranking"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        open_things.callback(shutil.rmtree, folder, ignore_errors=True)
        visited, pages, hosts = computed(view, folder)
        with replacing(crawl / ranks.FILE) as partial:
            ranks.write(partial, pages, hosts, began_at)
        written = Ranks.open(crawl)
        assert written is not None
        of_pages = compared(((known.url, page_estimate(known)) for known in view.known()), written.pages, top)
        of_hosts = compared(((host.name, host_estimate(host)) for host in view.hosts()), written.hosts, top)
    return Report(
        str(crawl),
        visited,
        Ranked(len(pages.hashes), pages.links, pages.dangling, pages.rounds, *of_pages),
        Ranked(len(hosts.hashes), hosts.links, hosts.dangling, hosts.rounds, *of_hosts),
        round(clock.now() - began_at, 3),
        _peak_bytes(),
    )


def computed(view: ExportView, folder: Path) -> tuple[int, Ranking, Ranking]:
    """How many visits were read, and the ranks of pages and of hosts."""
    with LinkFiles(folder) as files:
        visited = sum(files_away(visit, files) for visit in stored(view))
    links = Links(folder, silent(view))
    pages = ranking(links, "page", folder)
    if not pages.links:
        raise FolderError(f"{view.folder.path} has no links yet: no page that was fetched so far leads to another")
    return visited, pages, ranking(links, "host", folder)


def stored(view: ExportView) -> Iterator[Visit]:
    storage = open_storage(view.configuration.tree.archive, view.folder.archive)
    for partition, end in view.archive_ends().items():
        yield from visits(storage, partition, None, end)


def files_away(visit: Visit, files: LinkFiles) -> bool:
    """Whether the visit said something new of its page."""
    if visit.refers_to == visit.url:
        return False  # as it was
    other = other_name(visit)
    if other is not None and other != visit.url:
        files.add_name(visit.url, other)
    else:
        files.add(visit.url, (link.url for link in visit.links if not is_nofollow(link.rel)))
    return True


def other_name(visit: Visit) -> Url | None:
    """The page that this URL is only another name of: where it redirects to, or who had the same content before."""
    if visit.is_redirect:
        target = visit.header("Location")
        return canonicalize(target, visit.url) if target else None
    return visit.refers_to if visit.verdict == "same" else None


def silent(view: ExportView) -> Hashes:
    """The pages whose links do not count."""
    return np.fromiter(
        (hash_of(known.url) for known in view.known() if known.is_sitemap or known.reason is Reason.GONE), np.uint64
    )


def compared(
    things: Iterable[tuple[str, float | None]], table: Table, top: int
) -> tuple[list[Top], dict[str, float] | None]:
    """The best of things by rank, and how well what the crawl thinks of each agrees with that."""
    best: list[tuple[float, str]] = []
    one_in = 1 + len(table) // COMPARED_MAX
    estimates, truths = [np.empty(0)], [np.empty(0)]
    things = iter(things)
    while some := list(islice(things, AT_ONCE)):
        names = [name for name, _ in some]
        hashes = np.array([hash_of(name) for name in names], np.uint64)
        found = table.ranks(hashes)
        best = heapq.nlargest(top, [*best, *zip(found.tolist(), names, strict=True)])
        estimate = np.array([estimate for _, estimate in some], np.float64)  # None becomes nan
        is_compared = (found > 0) & ~np.isnan(estimate) & (hashes % np.uint64(one_in) == 0)
        estimates.append(estimate[is_compared])
        truths.append(found[is_compared].astype(np.float64))
    estimate, truth = np.concatenate(estimates), np.concatenate(truths)
    named = [Top(name, rank, round(importance_of(rank), 4)) for rank, name in best if rank > 0]
    return named, agreement(estimate, truth)._asdict() if len(truth) > 1 else None


def _peak_bytes() -> int:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
