"""What `policy` and `quarantine` do and say: an operator's word on hosts, sites and URLs."""

from __future__ import annotations

from typing import Any

import msgspec

from gossamer.clock import Clock
from gossamer.cluster.partitions import partition_of
from gossamer.control.live import Pardon, Pardoned
from gossamer.control.talk import ask
from gossamer.folder import CrawlFolder
from gossamer.frontier.frontier import Frontier
from gossamer.frontier.policy import NONE, Policies, Policy
from gossamer.frontier.store import RocksStore
from gossamer.frontier.tables import TABLES
from gossamer.records import Known, Link, Reason, Url
from gossamer.settings import Tree


def set_policy(folder: CrawlFolder, name: str, changes: dict[str, Any], *, is_site: bool) -> Policy:
    """Change some of what holds for a host or a site; what is back at its default is forgotten.

    Raises ValueError where a value makes no sense, before anything is written.
    """
    policies = folder.policies()
    table = dict(policies.sites if is_site else policies.hosts)
    policy = msgspec.convert(msgspec.structs.asdict(table.get(name, NONE)) | changes, Policy)
    if policy == NONE:
        table.pop(name, None)
    else:
        table[name] = policy
    folder.set_policies(Policies(policies.hosts, table) if is_site else Policies(table, policies.sites))
    return policy


def policy_lines(policies: Policies) -> list[str]:
    rows = [("host", name, policy) for name, policy in sorted(policies.hosts.items())]
    rows += [("site", name, policy) for name, policy in sorted(policies.sites.items())]
    return [f"{kind} {name:<30} {policy_text(policy)}" for kind, name, policy in rows]


def policy_text(policy: Policy) -> str:
    parts = [
        f"{name}={value}" for name, value in msgspec.structs.asdict(policy).items() if value not in (None, False)
    ]
    return " ".join(parts) or "no policy"


def quarantine_line(known: Known) -> str:
    return f"{known.url}  {known.detail}"


def pardon_anywhere(folder: CrawlFolder, tree: Tree, clock: Clock, url: Url, *, drop: bool) -> bool:
    """Take a URL out of quarantine, whether the crawl runs or not. Raises FolderError where it cannot be reached."""
    pardoned = ask(folder, Pardon(url, drop), Pardoned)
    if pardoned is not None:
        return pardoned.done
    with folder.locked():
        return pardon(folder, tree, clock, url, drop=drop)


def pardon(folder: CrawlFolder, tree: Tree, clock: Clock, url: Url, *, drop: bool) -> bool:
    """The same for a crawl that is stopped and locked, because its owner is the one to write."""
    store = RocksStore(folder.partition(partition_of(url, tree.crawl.partitions)), TABLES)
    try:
        frontier = Frontier(store, clock, _nobody, tree.frontier, tree.politeness)
        done = frontier.pardon(url, drop=drop)
        frontier.close()
    finally:
        store.close()
    return done


def _nobody(link: Link) -> Reason | None:
    return Reason.EXCLUDED  # nothing is added here
