"""What `policy` and `quarantine` do and say: an operator's word on hosts, sites and URLs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from functools import partial
from typing import Any

import msgspec

from gossamer.archive.opening import open_storage
from gossamer.archive.segments import check_new
from gossamer.archive.storage import ArchiveDamaged
from gossamer.clock import Clock
from gossamer.cluster.partitions import partition_of
from gossamer.folder import CrawlFolder
from gossamer.frontier.disk.faults import StoreDamaged
from gossamer.frontier.disk.store import RocksStore, is_store
from gossamer.frontier.disk.tables import TABLES
from gossamer.frontier.frontier import Frontier
from gossamer.frontier.retry import retry_all
from gossamer.frontier.rules.policy import NONE, CrawlLimits, Policies, Policy
from gossamer.messages.control_client import ask
from gossamer.messages.control_messages import ReleaseUrl, Retried, Retry, UrlReleased
from gossamer.records import Link, Reason, Url, UrlRecord
from gossamer.settings import Tree
from gossamer.url.site import is_address, site_of

RETRY_S = 3600.0  # a running crawl looks at all its URLs, beside its work


def set_policy(folder: CrawlFolder, name: str, changes: dict[str, Any], *, is_site: bool) -> Policy:
    """Change some of what holds for a host or a site; what is back at its default is forgotten.

    Raises ValueError where a value makes no sense, before anything is written.
    """
    policy = NONE

    def change(policies: Policies) -> Policies:
        nonlocal policy
        table = dict(policies.sites if is_site else policies.hosts)
        policy = msgspec.convert(msgspec.structs.asdict(table.get(name, NONE)) | changes, Policy)
        if policy == NONE:
            table.pop(name, None)
        else:
            table[name] = policy
        return msgspec.structs.replace(policies, **{"sites" if is_site else "hosts": table})

    folder.change_policies(change)
    return policy


def set_limits(folder: CrawlFolder, limits: dict[str, Any]) -> None:
    """What holds for the whole crawl. Raises ValueError where a value makes no sense, before anything is written."""

    def change(policies: Policies) -> Policies:
        crawl = msgspec.convert(msgspec.structs.asdict(policies.crawl) | limits, CrawlLimits)
        return msgspec.structs.replace(policies, crawl=crawl)

    folder.change_policies(change)


def is_site(name: str) -> bool:
    """Whether a name means a whole site: a registrable domain does, a longer name is a host, and an address, too."""
    return site_of(name) == name and not is_address(name)


def set_authorities(folder: CrawlFolder, authorities: Mapping[str, float]) -> None:
    """Of many sites and hosts at once; what else was set for them stays."""

    def change(policies: Policies) -> Policies:
        hosts, sites = dict(policies.hosts), dict(policies.sites)
        for name, authority in authorities.items():
            table = sites if is_site(name) else hosts
            table[name] = msgspec.structs.replace(table.get(name, NONE), priority=authority)
        return msgspec.structs.replace(policies, hosts=hosts, sites=sites)

    folder.change_policies(change)


def policy_lines(policies: Policies) -> list[str]:
    rows = [("host", name, policy) for name, policy in sorted(policies.hosts.items())]
    rows += [("site", name, policy) for name, policy in sorted(policies.sites.items())]
    limits = [f"crawl: {policy_text(policies.crawl)}"] if policies.crawl != CrawlLimits() else []
    return limits + [f"{kind} {name:<30} {policy_text(policy)}" for kind, name, policy in rows]


def policy_text(policy: Policy | CrawlLimits) -> str:
    parts = [
        f"{name}={value}" for name, value in msgspec.structs.asdict(policy).items() if value not in (None, False)
    ]
    return " ".join(parts) or "no policy"


def quarantine_line(known: UrlRecord) -> str:
    return f"{known.url}  {known.detail}"


def release_url_anywhere(folder: CrawlFolder, tree: Tree, clock: Clock, url: Url, *, drop: bool) -> bool:
    """Take a URL out of quarantine, whether the crawl runs or not. Raises FolderError where it cannot be reached."""
    released = ask(folder, ReleaseUrl(url, drop), UrlReleased)
    if released is not None:
        return released.done
    with folder.locked():
        return release_url(folder, tree, clock, url, drop=drop)


def release_url(folder: CrawlFolder, tree: Tree, clock: Clock, url: Url, *, drop: bool) -> bool:
    """The same for a crawl that is stopped and locked, because its owner is the one to write."""
    with _opened(folder, tree, clock, partition_of(url, tree.crawl.partitions)) as frontier:
        return frontier is not None and frontier.release_url(url, drop=drop)


def retry_anywhere(
    folder: CrawlFolder,
    tree: Tree,
    clock: Clock,
    host: str | None,
    reason: Reason | None,
    say: Callable[[str], None] = lambda text: None,
) -> int:
    """Bring back what failed, rests or was refused, whether the crawl runs or not; how many URLs. `say`: what is
    wrong with a partition that is passed over."""
    retried = ask(folder, Retry(host, reason), Retried, RETRY_S)
    if retried is not None:
        return retried.urls
    partitions = tree.crawl.partitions
    numbers = range(partitions) if host is None else [partition_of(f"http://{host}/", partitions)]
    count = 0
    with folder.locked():
        for number in numbers:
            try:
                with _opened(folder, tree, clock, number) as frontier:
                    if frontier is not None:
                        count += asyncio.run(retry_all(partial(_given, frontier), host, reason)) or 0
            except (StoreDamaged, ArchiveDamaged) as fault:
                say(str(fault))
    return count


@contextmanager
def _opened(folder: CrawlFolder, tree: Tree, clock: Clock, number: int) -> Iterator[Frontier | None]:
    """The frontier of a partition; None: it never had anything. One that was lost is named, and not begun anew."""
    path = folder.partition(number)
    if not is_store(path):
        check_new(path, open_storage(tree.archive, folder.archive), number)
        yield None
        return
    with closing(RocksStore(path, TABLES)) as store:
        frontier = Frontier.open(store, path, clock, _nobody, tree.frontier, tree.politeness)
        yield frontier
        frontier.close()


def _given(frontier: Frontier) -> Frontier:
    return frontier


def _nobody(link: Link) -> Reason | None:
    return Reason.EXCLUDED  # nothing is added here
