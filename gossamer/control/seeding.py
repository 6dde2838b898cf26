"""New seeds for a crawl that exists already, whether it runs (reception.py) or not.

Either way a seed is durable in the list of seeds first, and then in its queue. What happens in between loses none:
every start adds all seeds of the list again, and those that are known change nothing.
"""

from __future__ import annotations

from collections.abc import Iterable

from gossamer.clock import Clock
from gossamer.control.live import Refusal, SeedsAdded
from gossamer.control.view import CrawlView
from gossamer.folder import CrawlFolder
from gossamer.frontier.policy import Policies
from gossamer.records import Host, Reason, Seed
from gossamer.settings import Tree
from gossamer.url.canonical import canonicalize
from gossamer.url.site import host_of, site_of
from gossamer.worker import door_of


def sifted(
    seeds: Iterable[Seed], tree: Tree, policies: Policies, clock: Clock
) -> tuple[dict[str, Seed], list[Refusal]]:
    """Those that are let in, by their URL, and those that are not. The first of two seeds with one URL counts."""
    door = door_of((), tree, clock)
    let_in: dict[str, Seed] = {}
    refused = []
    for seed in seeds:
        url = canonicalize(seed.url)
        if url is None:
            refused.append(Refusal(seed.url, Reason.NOT_A_URL))
            continue
        host, canonical = host_of(url), Seed(url, seed.priority, seed.max_depth)
        reason = door(canonical.link)
        if reason is None and policies and policies.of(Host(name=host, site=site_of(host))).blocked:
            reason = Reason.BLOCKED
        if reason is not None:
            refused.append(Refusal(url, reason))
        else:
            let_in.setdefault(url, canonical)
    return let_in, refused


def add_seeds(folder: CrawlFolder, seeds: Iterable[Seed], clock: Clock) -> SeedsAdded:
    """For a crawl that is not running: its next start begins with them. Raises FolderError where it is running."""
    seeds = list(seeds)
    with folder.locked(), CrawlView(folder.path) as view:
        let_in, refused = sifted(seeds, view.configuration.tree, folder.policies(), clock)
        waiting = set(folder.seeds())  # perhaps added before, and no start since
        new = sum(url not in waiting and view.state(url) is None for url in let_in)
        folder.add_seeds(let_in.values())
    return SeedsAdded(new, len(seeds) - len(refused) - new, refused)
