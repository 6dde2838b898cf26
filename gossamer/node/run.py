"""From `gossamer node` to a supervisor at work: connect, find the crawl on the board, own what the group gives us."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack
from pathlib import Path
from secrets import token_hex
from typing import NamedTuple, TextIO, TypeVar

from gossamer import atomic, config
from gossamer.archive.bucket import open_state
from gossamer.clock import Clock
from gossamer.cluster.kafka import topics
from gossamer.cluster.kafka.board import Board
from gossamer.cluster.kafka.client import KafkaAway
from gossamer.cluster.kafka.journal import Journal
from gossamer.cluster.kafka.link_topic import KafkaLinkLog
from gossamer.cluster.kafka.topics import Topics
from gossamer.cluster.ownership import Ownerships
from gossamer.config import FILE_NAME
from gossamer.folder import CrawlFolder, FolderError
from gossamer.node.mirror import Mirror
from gossamer.node.node import Connections, Node
from gossamer.node.operating import ClusterClient, check_settings
from gossamer.node.ranks import RanksFollower
from gossamer.seeds import SeedList
from gossamer.settings import ClusterSettings
from gossamer.supervisor.supervisor import Ending, Supervisor
from gossamer.text import COMMAND

T = TypeVar("T")

LOOK_S = 2.0
NO_CRAWL = f"there is no crawl yet: `{COMMAND} crawl --cluster FILE URL` begins one"
NODE_FILE = "node"  # in the folder of a node: its name, which decides what it may find there


class NodeEnded(NamedTuple):
    ending: Ending
    pages: int  # that this node has fetched


async def run_node(
    name: str,
    folder: CrawlFolder,
    file: Path,
    flags: Mapping[str, object],
    clock: Clock,
    out: TextIO,
    say: Callable[[str], None],
    begun: Callable[[], str] = lambda: "",
) -> NodeEnded:
    """Crawl as a part of a cluster, until the crawl is over or somebody stops us. `begun`: called when the folder is
    that of a crawl; where its dashboard is, to be shown."""
    cluster = config.load(None, file, flags).tree
    check_settings(cluster)
    identity = keep_name(folder, name, cluster.cluster.name)
    async with AsyncExitStack() as opened:
        client = await _connected(opened, cluster.cluster, clock, say)
        await _wait_for_crawl(client.board, say, clock)
        mirror = Mirror(client.board, folder)
        folder.create()
        crawl = client.board.get("crawl")
        assert crawl is not None
        atomic.replace(folder.path / FILE_NAME, crawl.value)
        tree = config.load(folder.path, file, flags).tree
        for warning in await _patiently(lambda: topics.check(tree.cluster, tree.crawl.partitions), say):
            say(warning)
        mirror.write(tree.crawl.scope)
        folder.go_by_format()
        kafka = (tree.cluster.kafka, tree.cluster.kafka_options)
        journal = Journal(Topics(tree.cluster.name).journal, client.appender, *kafka)
        objects = open_state(tree.archive)
        ownerships = Ownerships(objects, journal)
        links = KafkaLinkLog(tree.cluster, tree.crawl.partitions, client.appender, clock)
        opened.callback(links.close)

        said: set[str] = set()

        def say_once(text: str) -> None:
            if text not in said:
                said.add(text)
                say(text)

        async def mint(partition: int, is_ours: Callable[[], bool]) -> int:
            own = await ownerships.mint(partition, identity, is_ours)
            if await ownerships.has_namesake_before(own):
                # It hears of us with its next heartbeat, and asks for nothing when its lease is over.
                wait_s = tree.cluster.session_s
                say_once(f"another node called {name} owned partitions: nothing is asked for before {wait_s:.0f} s")
                await clock.sleep(wait_s)
            return own.epoch

        ranks = RanksFollower(client.board, objects, folder, clock)
        connections = Connections(client.board, mint, links, ranks)
        topic, keep_plan = Topics(tree.cluster.name).links, folder.set_recrawl_plan
        node = Node(identity, tree, clock, connections, mirror, topic, keep_plan)
        supervisor = Supervisor(folder, tree, clock, out, lambda: None, await asyncio.to_thread(begun), cluster=node)
        supervisor.seeds_known = SeedList(folder.path).index(tree.crawl.scope)
        try:
            return NodeEnded(await supervisor.run(), node.pages)
        except* FolderError as faults:
            raise faults.exceptions[0] from faults


def keep_name(folder: CrawlFolder, name: str, cluster: str) -> str:
    """A folder is that of one node: another one would take what it finds there for its own. Returns its name with a
    number that only this folder has."""
    note, whose = folder.path / NODE_FILE, f"{name} of {cluster}"
    folder.path.mkdir(parents=True, exist_ok=True)
    found = note.read_text(encoding="utf-8").splitlines() if note.exists() else []
    if found and found[0] != whose:
        raise FolderError(f"{folder.path} is the folder of node {found[0]}: use another --dir, or that --name")
    number = found[1] if len(found) > 1 else token_hex(8)
    atomic.replace(note, f"{whose}\n{number}\n".encode())
    return f"{name}/{number}"


async def _connected(
    opened: AsyncExitStack, settings: ClusterSettings, clock: Clock, say: Callable[[str], None]
) -> ClusterClient:
    """A node waits for brokers, and for somebody to create the crawl: machines start in any order."""
    is_told = False
    while not await _patiently(lambda: topics.exist(settings), say):
        if not is_told:
            say(NO_CRAWL)
            is_told = True
        await clock.sleep(LOOK_S)
    return await _patiently(lambda: opened.enter_async_context(ClusterClient.connected(settings, clock)), say)


async def _patiently(ask: Callable[[], Awaitable[T]], say: Callable[[str], None]) -> T:
    """Brokers may be away when a node starts, or be chosen anew."""
    while True:
        try:
            return await ask()
        except KafkaAway as fault:  # that took its time
            say(f"{fault}; waits for it")


async def _wait_for_crawl(board: Board, say: Callable[[str], None], clock: Clock) -> None:
    if board.get("crawl") is not None:
        return
    say(NO_CRAWL)
    is_there = asyncio.Event()
    board.subscribe(lambda key, value: is_there.set() if key == "crawl" else None)
    while board.get("crawl") is None:
        is_there.clear()
        await clock.wait(is_there, clock.now() + 10.0)
