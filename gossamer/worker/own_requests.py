"""What a worker's requests go through, and what goes with them: cookies, credentials and signatures.

The cookies of a site are in the store of its partition, as its other state is. Credentials and the passwords of
proxies are read by each worker, and kept in its memory alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from gossamer.clock import Clock
from gossamer.cluster.partitions import partition_of
from gossamer.fetch.cookie_jars import CookieJars
from gossamer.fetch.http import Http
from gossamer.fetch.sessions import Sessions
from gossamer.fetch.transfer import Transfers
from gossamer.frontier.rules.policy import Policies
from gossamer.interfaces import Resolver, SharedState
from gossamer.records import Url
from gossamer.settings import Tree
from gossamer.visitor import credentials
from gossamer.visitor.cookies import Jar, jar_name
from gossamer.visitor.identity import load as load_identity
from gossamer.worker.identity import identity
from gossamer.worker.partition import Partition


def open_transfers(
    config: Tree,
    clock: Clock,
    folder: Path,
    resolver: Resolver,
    shared: SharedState,
    policies: Callable[[], Policies],
    may_ask: Callable[[], bool],
    complain: Callable[[str], None],
) -> Transfers:
    """`policies`: as they are now."""
    return Transfers(
        resolver,
        clock,
        config.fetch,
        allow_private=config.crawl.allow_private,
        folder=folder,
        pace=shared.pace,
        may_ask=may_ask,
        unheard_s=config.cluster.margin_s,
        proxy_of=lambda host: policies().of_name(host).proxy,
        say=complain,
    )


def own_requests(
    config: Tree, clock: Clock, partitions: Mapping[int, Partition], transfers: Transfers
) -> tuple[CookieJars, Sessions]:
    """`partitions`: that are ours, as they are now."""
    http = Http(transfers, identity(config.crawl))
    fetch = config.fetch
    who = load_identity(fetch.identity_key, fetch.identity_url)
    sessions = Sessions(credentials.load(fetch.credentials), http, clock, who)
    return cookie_jars(config, clock, partitions), sessions


def cookie_jars(config: Tree, clock: Clock, partitions: Mapping[int, Partition]) -> CookieJars:
    def partition(url: Url) -> Partition | None:
        return partitions.get(partition_of(url, config.crawl.partitions))

    def load(url: Url) -> Jar:
        owner = partition(url)
        return owner.jar(jar_name(url)) if owner is not None else ()

    def keep(url: Url, jar: Jar) -> None:
        owner = partition(url)
        if owner is not None and not owner.is_lost:
            owner.keep_jar(jar_name(url), jar)

    return CookieJars(config.fetch.cookies, clock, load, keep)
