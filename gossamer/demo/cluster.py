"""`gossamer demo --cluster`: three nodes crawl the synthetic web, and one of them dies in the middle with its disk.

Everything runs on this machine and on loopback only: Kafka, SeaweedFS and Valkey (local_servers/), the web, and the
nodes, which are the command as anybody would type it, each with a folder of its own. The node that dies is killed
with all its processes, and its folder is deleted. What it owned is then found by the others where it was kept outside
the node: snapshots in the object store and the journal in Kafka.

The web's access log is the judge at the end. It is left in the demo's folder, with the pages that were found and what
the nodes said; the servers, their data and the nodes' folders are gone when the demo ends, however it ends.
"""

from __future__ import annotations

import asyncio
import json
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Container, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

from gossamer import config
from gossamer.clock import RealClock
from gossamer.cluster.partitions import partition_of
from gossamer.config import as_toml
from gossamer.demo.judgement import Death, Judgement, judged
from gossamer.folder import CrawlFolder, FolderError
from gossamer.local_servers.kafka import Kafka
from gossamer.local_servers.kafka_jars import CACHE, download, java, missing
from gossamer.local_servers.process import (
    ServerFailed,
    ServerMissing,
    end_with_parent,
    environment,
    kill_with_children,
)
from gossamer.local_servers.seaweedfs import BUCKET, ENVIRONMENT, SeaweedFS, weed
from gossamer.local_servers.valkey import Valkey, binary
from gossamer.node.operating import ClusterClient, faults_told
from gossamer.node.report import NodeReport
from gossamer.runtime.event_loop import in_loop
from gossamer.synthetic_web.access_log import AccessLog, Entry
from gossamer.synthetic_web.options import WebOptions
from gossamer.synthetic_web.server import serve
from gossamer.synthetic_web.truth import truth
from gossamer.synthetic_web.web import Web
from gossamer.text import COMMAND, counted, span

HOSTS, PAGES = 24, 40  # by default, and pages a host
DELAY_S = 0.5
SESSION_S = 6.0
PARTITIONS = 8
NODES = ("n1", "n2", "n3")
MIDDLE = 1 / 3  # of all pages are asked for when a node dies
LOOK_S = 0.1
TELL_S = 5.0
LONGEST_S = 300.0  # then something is wrong

MARK, ACCESS_LOG, PAGES_FOUND = "demo.txt", "access.jsonl", "pages.jsonl"
LEFT = {MARK, ACCESS_LOG, PAGES_FOUND, "cluster.toml", *(f"{name}.log" for name in NODES)}
PASSING = {"servers", "cluster.look", *NODES}  # gone at the end

Say = Callable[[str], None]


class Servers(NamedTuple):
    kafka: Kafka
    s3: SeaweedFS
    valkey: Valkey


def run_cluster_demo(path: Path, hosts: int, pages: int, say: Say, show: Say) -> int:
    _must_be_ours(path)
    with CrawlFolder(path).locked(), _terminated_as_interrupted(), faults_told():
        _remove(path, LEFT | PASSING)
        (path / MARK).write_text("This was made by `gossamer demo --cluster`; the next one replaces it.\n")
        try:
            with _servers(path / "servers", say) as servers:
                show(in_loop(Demo(path, servers, WebOptions.plain(hosts=hosts, pages_per_host=pages), say).run()))
        finally:
            _remove(path, PASSING)
    return 0


class Demo:
    def __init__(self, path: Path, servers: Servers, options: WebOptions, say: Say) -> None:
        self._path = path
        self._file = path / "cluster.toml"
        self._say = say
        self._clock = RealClock()
        self._web = Web(options)
        self._nodes: dict[str, subprocess.Popen[bytes]] = {}
        self._log: list[Entry] = []
        self._there: set[str] = set()  # the URLs of all pages
        self._environment = environment(ENVIRONMENT, without="GOSSAMER_")
        self._file.write_text(_settings(servers))

    async def run(self) -> str:
        """What came out, in words."""
        began_at = self._clock.now()
        log = AccessLog(self._path / ACCESS_LOG)
        self._log = log.entries
        async with serve(self._web, self._clock, log=log) as server:
            options, seed = self._web.options, server.url(0)
            self._there = truth(self._web, [seed]).reachable
            each = counted(options.pages_per_host, "page")
            self._say(f"serving a synthetic web of {counted(options.hosts, 'host')} with {each} each, from {seed} on")
            await self._command("crawl", "--cluster", self._file, seed)
            try:
                for name in NODES:
                    self._start_node(name)
                settings = config.load(None, self._file, environment={}).tree.cluster
                async with ClusterClient.connected(settings, self._clock) as client:
                    death = await self._kill_one(client)
                await self._until(self._has_ended)
                self._say("the nodes that are left say that the crawl is complete")
            finally:
                for node in self._nodes.values():
                    kill_with_children(node)
            pages = await self._command("pages", self._file, "--json")
        (self._path / PAGES_FOUND).write_text(pages)
        records = [json.loads(line) for line in pages.splitlines()]
        found = {record["url"] for record in records if record["state"] == "done"} & self._there
        elapsed_s = self._clock.now() - began_at
        return _result(self._path, len(found), len(self._there), judged(self._log, death), elapsed_s)

    # ---- the command -------------------------------------------------------------------------------------

    def _words(self, *arguments: object) -> list[str]:
        self._say(f"$ {COMMAND} {' '.join(map(str, arguments))}")
        return [sys.executable, "-P", "-m", "gossamer", *map(str, arguments)]

    async def _command(self, *arguments: object) -> str:
        """One that ends by itself: what it printed."""
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(
            *self._words(*arguments), env=self._environment, stdout=pipe, stderr=pipe
        )
        try:
            out, err = await process.communicate()
        except asyncio.CancelledError:
            process.kill()
            raise
        if process.returncode:
            raise FolderError(f"`{COMMAND} {arguments[0]}` ended with {process.returncode}: {err.decode().strip()}")
        return out.decode()

    def _start_node(self, name: str) -> None:
        words = self._words("node", "--cluster", self._file, "--name", name, "--dir", self._path / name)
        with (self._path / f"{name}.log").open("wb") as log:
            self._nodes[name] = subprocess.Popen(
                words,
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,  # Ctrl-C is for the demo, which ends it
                preexec_fn=end_with_parent,  # noqa: PLW1509 - one call to the system, and no lock is taken
            )

    # ---- what happens ------------------------------------------------------------------------------------

    async def _kill_one(self, client: ClusterClient) -> Death:
        """When every node has its share, and most of the pages are still to come."""
        wanted = len(self._there) * MIDDLE
        await self._until(lambda: self._has_ended() or (len(self._log) >= wanted and _is_dealt_out(client.reports())))
        if self._has_ended():
            raise FolderError("the crawl was over before all nodes had their share: give it more --pages")
        hosts = {name: self._hosts_in(report.partitions) for name, report in client.reports().items()}
        victim = max(hosts, key=lambda name: len(hosts[name]))
        death = Death(victim, self._clock.now(), hosts[victim])
        kill_with_children(self._nodes.pop(victim))
        shutil.rmtree(self._path / victim)
        self._say(
            f"{victim} is killed (SIGKILL), and its disk deleted, after {counted(len(self._log), 'request')} of all "
            f"nodes: it had {counted(len(death.hosts), 'host')} of {self._web.options.hosts}"
        )
        return death

    def _hosts_in(self, partitions: Container[int]) -> set[str]:
        return {
            self._web.atlas.address(host)
            for host in self._web.all_hosts()
            if partition_of(self._web.url(host), PARTITIONS) in partitions
        }

    async def _until(self, is_so: Callable[[], bool]) -> None:
        """Look again and again, and tell how far it is. A node that fails ends the demo."""
        tell_at, latest = self._clock.now() + TELL_S, self._clock.now() + LONGEST_S
        while not is_so():
            await self._clock.sleep(LOOK_S)
            for name, node in self._nodes.items():
                if node.poll():
                    said = (self._path / f"{name}.log").read_text(errors="replace")[-1000:]
                    raise FolderError(f"{name} ended with {node.returncode}: {said}")
            if self._clock.now() > latest:
                raise FolderError(f"nothing has happened for {span(LONGEST_S)}: {self._path}/n*.log say more")
            if self._clock.now() > tell_at:
                tell_at += TELL_S
                asked = {entry.url for entry in self._log} & self._there
                self._say(f"{len(asked):,} of {counted(len(self._there), 'page')} asked for")

    def _has_ended(self) -> bool:
        """For all nodes, as far as they are still there."""
        return all(node.poll() == 0 for node in self._nodes.values())


def _is_dealt_out(reports: dict[str, NodeReport]) -> bool:
    shares = [len(report.partitions) for report in reports.values()]
    return reports.keys() == set(NODES) and all(shares) and sum(shares) == PARTITIONS


def _settings(servers: Servers) -> str:
    """Of the cluster, as cluster.toml has them."""
    chosen: dict[str, dict[str, object]] = {
        "cluster": {
            "name": "demo",
            "kafka": servers.kafka.bootstrap,
            "redis": servers.valkey.url,
            "copies": 1,  # there is one broker
            # Short, so that nobody has to wait long for a dead node; docs/cluster.md says what is sensible.
            "session_s": SESSION_S,
            "heartbeat_s": 1.0,
            "margin_s": 2.0,
            "snapshot_s": 5.0,
        },
        "archive": {"url": f"s3://{BUCKET}/demo", "options": servers.s3.options},
        "crawl": {
            "scope": "any",
            "allow_private": True,
            "contact": "demo@example.org",
            "workers": 1,
            "partitions": PARTITIONS,
        },
        "politeness": {"delay_s": DELAY_S},
        "fetch": {"timeout_s": 5.0},
    }
    sections = (
        f"[{section}]\n" + "".join(f"{name} = {as_toml(value)}\n" for name, value in settings.items())
        for section, settings in chosen.items()
    )
    return "\n".join(sections)


@contextmanager
def _servers(folder: Path, say: Say) -> Iterator[Servers]:
    _must_be_possible(say)
    say("starting Kafka, SeaweedFS and Valkey on this machine, for the time of the demo ...")
    try:
        with ExitStack() as started:
            kafka = started.enter_context(Kafka(folder / "kafka"))
            s3 = started.enter_context(SeaweedFS(folder / "s3"))
            valkey = started.enter_context(Valkey(folder / "valkey"))
            yield Servers(kafka, s3, valkey)
    except ServerFailed as fault:
        raise FolderError(f"{fault}") from fault


def _must_be_possible(say: Say) -> None:
    """All that is missing is said at once."""

    def jars() -> None:
        if missing(CACHE):
            say("fetching Kafka's jars (45 MB, this once) ...")
        download(CACHE)

    faults = []
    for needed in (java, jars, weed, binary):
        try:
            needed()
        except ServerMissing as fault:
            faults.append(f"{fault}")
    if faults:
        raise FolderError("the demo of a cluster needs more than is here:\n  " + "\n  ".join(faults))


@contextmanager
def _terminated_as_interrupted() -> Iterator[None]:
    """SIGTERM ends the demo as Ctrl-C does: in order."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _must_be_ours(path: Path) -> None:
    """An earlier demo may go, and nothing else: it has left a mark, and nobody has added anything."""
    if path.is_file():
        raise FolderError(f"{path} is a file; the demo needs a folder")
    held = {entry.name for entry in path.iterdir()} if path.is_dir() else set()
    strangers = held - LEFT - PASSING - {"crawl.lock"} if MARK in held else held
    if strangers:
        raise FolderError(f"{path} holds {min(strangers)}, which no demo of a cluster made: choose another --dir")


def _remove(path: Path, names: set[str]) -> None:
    for each in (path / name for name in names):
        if each.is_dir():
            shutil.rmtree(each, ignore_errors=True)
        else:
            each.unlink(missing_ok=True)


def _result(path: Path, found: int, there: int, judgement: Judgement, elapsed_s: float) -> str:
    node, again = judgement.node, judgement.asked_again_s or [0.0]
    return f"""
What three nodes found, of which one died on the way with its disk, in {span(elapsed_s)}:

  {found:>6,} of the {counted(there, "page")} that the web has

What the web's own access log says about them ({counted(judgement.requests, "request")}):

  {judgement.at_once:>6,} times two requests at once to one host
  {judgement.shortest_gap_s:>6.2f} s shortest pause of any host between two requests (asked for: {DELAY_S} s)
  {again[0]:>6.1f} s from the death of {node} until the first of its hosts was asked again, by another node
  {again[-1]:>6.1f} s until the last of its {len(judgement.asked_again_s)} hosts with pages left was asked again
         (a node that is silent for {SESSION_S:.0f} s has lost its partitions here, to be quick; by default for 45 s)
  {judgement.repeated:>6,} requests made a second time, {judgement.repeated_there} of them to hosts of {node},
         which had told nobody of the answers yet

What is left of it, in {path}:

  {ACCESS_LOG:<14} every request, as the web saw it
  {PAGES_FOUND:<14} every page, as `{COMMAND} pages cluster.toml --json` tells it
  {"n1.log ...":<14} what the nodes said
  {"cluster.toml":<14} the settings; a real cluster has the same, with other servers (docs/cluster.md)"""
