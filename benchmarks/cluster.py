"""What does a cluster cost a page? One machine alone, one node, and two nodes, on the same pages and in turn.

    python -m benchmarks.cluster [--hosts 400] [--pages 25] [--page-bytes 21000] [--rounds 3] [--cores apart] [--json]

nginx serves the pages, as for `gossamer bench`, and its access log tells the pace; hosts are not left alone between
two pages (`--delay 0`), all other settings are the defaults. Kafka (one broker, one copy), SeaweedFS and Valkey run
on the same machine, and their CPU time is told apart. All nodes together have as many workers as one machine has.
With `--cores apart` all servers run on one core and Gossamer on the others, as if they were other machines: then
pages a second say what a cluster costs the node itself.

Take enough hosts: one of them is asked for its next page when the last one is finished, which takes a commit (0.2 s)
and, in a cluster, what Kafka and the object store need to keep it. With 60 hosts that is the limit and not CPU.

A crawl of a cluster is paused until every node has its share of the partitions. What is told is of the steady part,
without the first and the last tenth of the pages: CPU time of the supervisors, workers and their children, looked at
several times a second. Bytes of the topics are those on the broker's disk, packed, in one copy, and of the whole
crawl. Snapshots are those that were due (`--snapshot-s`, 900 by default: a short run has nearly none; what they take
at the default is measured by benchmarks.restore); `state` is what all stores have on disk at the end.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Set
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median
from typing import NamedTuple

from obstore import list as list_objects
from obstore.store import S3Store

from benchmarks.reference import took_once_ms
from gossamer.bench import cores, nginx
from gossamer.bench.environment import Environment
from gossamer.bench.mix import Mix, Site, on_disk
from gossamer.bench.running import cpu_s, tree
from gossamer.bench.versions import NO_DELAY
from gossamer.cluster.kafka.topics import Topics
from gossamer.config import as_toml
from gossamer.local_servers.kafka import Kafka
from gossamer.local_servers.process import end_with_parent, environment, kill_with_children
from gossamer.local_servers.seaweedfs import BUCKET, ENVIRONMENT, SECRETS, SeaweedFS
from gossamer.local_servers.valkey import Valkey

ROOT = Path(__file__).parent.parent
CACHE = Path("~/.cache/gossamer/bench")  # as `gossamer bench` has it
KINDS = {"alone": 0, "one node": 1, "two nodes": 2}  # and how many nodes
LOOK_S = 0.2
LIMIT_S = 900.0
Figures = dict[str, float]


class Servers(NamedTuple):
    kafka: Kafka
    s3: SeaweedFS
    valkey: Valkey

    def pids(self) -> dict[str, list[int]]:
        kafka = [process.pid for process in self.kafka.processes.values()]
        return {"kafka": kafka, "s3": [self.s3.pid], "valkey": [self.valkey.pid]}


@contextmanager
def servers(
    folder: Path, kafka_settings: Mapping[str, str] | None = None, at: Set[int] = frozenset()
) -> Iterator[Servers]:
    """`at`: the cores on which they run; empty: any."""
    with ExitStack() as started:
        with cores.on(at):
            kafka = started.enter_context(Kafka(folder / "kafka", heap="512m", settings=dict(kafka_settings or {})))
            s3 = started.enter_context(SeaweedFS(folder / "s3"))
            valkey = started.enter_context(Valkey(folder / "valkey"))
        yield Servers(kafka, s3, valkey)


class Cluster:
    """Nodes of one crawl, as processes of the command."""

    def __init__(self, name: str, folder: Path, on: Servers, settings: Mapping[str, object]) -> None:
        self.name = name
        self.folder = folder
        self.on = on
        self.file = folder / "cluster.toml"
        self.nodes: dict[str, subprocess.Popen[bytes]] = {}
        chosen: dict[str, object] = {
            "cluster.name": name,
            "cluster.kafka": on.kafka.bootstrap,
            "cluster.redis": on.valkey.url,
            "cluster.copies": 1,
            "archive.url": f"s3://{BUCKET}/{name}",
            "archive.options": on.s3.options | {"timeout": "60s"},
            **settings,
        }
        folder.mkdir(parents=True)
        self.file.write_text(toml(chosen))

    def run(self, *words: object) -> str:
        done = subprocess.run(
            gossamer(*words), cwd=self.folder, env=with_keys(), capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise SystemExit(f"gossamer {words[0]} ended with {done.returncode}: {done.stderr.strip()}")
        return done.stdout

    def start(self, node: str, *flags: object) -> None:
        words = gossamer("node", "--cluster", self.file, "--name", node, "--dir", self.folder / node, *flags)
        self.nodes[node] = start(words, self.folder / f"{node}.log")

    def shares(self) -> dict[str, list[int]]:
        """The partitions of each node."""
        nodes = json.loads(self.run("status", self.file, "--json"))["nodes"]
        return {each["node"]: sorted(map(int, each["partitions"])) for each in nodes}

    def until_dealt(self, partitions: int) -> None:
        until = time.monotonic() + LIMIT_S
        while True:
            self.check(until)
            has = [len(found) for node, found in self.shares().items() if node in self.nodes]
            if len(has) == len(self.nodes) and all(has) and sum(has) == partitions:
                return
            time.sleep(LOOK_S)

    def check(self, until: float) -> None:
        for node, process in self.nodes.items():
            if process.poll():
                said = (self.folder / f"{node}.log").read_text(errors="replace")[-2000:]
                raise SystemExit(f"{node} ended with {process.returncode}: {said}")
        if time.monotonic() > until:
            raise SystemExit(f"nothing more happens: see {self.folder}/*.log")

    def close(self) -> None:
        for process in self.nodes.values():
            kill_with_children(process)

    def topic_bytes(self) -> dict[str, int]:
        topics, data = Topics(self.name), self.on.kafka.folder / "1" / "data"
        named = {"links": topics.links, "journal": topics.journal, "board": topics.board}
        return {
            what: sum(file.stat().st_size for file in data.glob(f"{topic}-[0-9]*/*.log"))
            for what, topic in named.items()
        }

    def snapshot_bytes(self) -> int:
        return sum(object_sizes(self.on.s3, f"{self.name}-state/snapshots/files/"))

    def state_bytes(self) -> int:
        return sum(
            file.stat().st_size
            for node in self.folder.iterdir()
            for file in (node / "partitions").rglob("*")
            if file.is_file()
        )


class Watch:
    """The CPU time of some groups of processes and all below them, again and again, until it is stopped."""

    def __init__(self, groups: Mapping[str, list[int]]) -> None:
        self.groups = dict(groups)
        self._at: list[float] = []
        self._spent: dict[str, list[float]] = {name: [] for name in groups}
        self._seen: dict[str, dict[int, float]] = {name: {} for name in groups}
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()

    def _look(self) -> None:
        while not self._ended.wait(LOOK_S):
            self._at.append(time.time())
            for name, pids in self.groups.items():
                seen = self._seen[name]  # what has ended keeps what it had spent
                seen |= {each: spent for pid in list(pids) for each in tree(pid) if (spent := cpu_s(each))}
                self._spent[name].append(sum(seen.values()))

    def stop(self) -> None:
        self._ended.set()
        self._thread.join()

    def spent_s(self, name: str, start: float, end: float) -> float:
        return self._until(name, end) - self._until(name, start)

    def _until(self, name: str, moment: float) -> float:
        spent, place = self._spent[name], bisect_left(self._at, moment)
        if place in (0, len(self._at)):
            return spent[min(place, len(self._at) - 1)]
        before, after = self._at[place - 1], self._at[place]
        return spent[place - 1] + (spent[place] - spent[place - 1]) * (moment - before) / (after - before)


def object_sizes(s3: SeaweedFS, prefix: str) -> list[int]:
    """No file of a snapshot goes before it is a day old, so those are all that were uploaded."""
    bucket = S3Store(
        BUCKET,
        endpoint=s3.options["endpoint"],
        access_key_id=SECRETS["access_key_id"],
        secret_access_key=SECRETS["secret_access_key"],
        client_options={"allow_http": True},
    )
    return [each["size"] for some in list_objects(bucket, prefix=prefix) for each in some]


def gossamer(*words: object) -> list[str]:
    return [sys.executable, "-m", "gossamer", *map(str, words)]


def with_keys() -> dict[str, str]:
    return environment(ENVIRONMENT | {"PYTHONPATH": str(ROOT)}, without="GOSSAMER_")


def start(words: list[str], log: Path) -> subprocess.Popen[bytes]:
    with log.open("ab") as out:
        return subprocess.Popen(
            words,
            cwd=log.parent,
            env=with_keys(),
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            start_new_session=True,
            preexec_fn=end_with_parent,  # noqa: PLW1509 - one call to the system
        )


def toml(settings: Mapping[str, object]) -> str:
    sections: dict[str, list[str]] = {}
    for key, value in settings.items():
        section, name = key.split(".")
        sections.setdefault(section, []).append(f"{name} = {as_toml(value)}")
    return "\n".join(f"[{section}]\n" + "\n".join(lines) + "\n" for section, lines in sections.items())


# ---- one run ---------------------------------------------------------------------------------------------


class Chosen(NamedTuple):
    workers: int  # over all nodes
    partitions: int
    snapshot_s: float
    cores: cores.Cores


def once(kind: str, name: str, folder: Path, site: Site, server: nginx.Nginx, on: Servers, chosen: Chosen) -> Figures:
    folder.mkdir(parents=True)
    with nginx.serving(server, site, folder, chosen.cores.server) as nginx_pid:
        watch = Watch({"gossamer": [], **on.pids(), "nginx": [nginx_pid]})
        try:
            began = time.time()
            with cores.on(chosen.cores.crawlers):
                more = crawl(KINDS[kind], name, folder, site, on, chosen, watch)
            elapsed_s = time.time() - began
        finally:
            watch.stop()
    moments = nginx.visits(folder / "access.log").moments
    cut = int(len(moments) * nginx.EDGE)
    inner = moments[cut : len(moments) - cut]
    pages = len(inner) - 1
    figures = {"pages": float(len(moments)), "pages/s": pages / (inner[-1] - inner[0])}
    for group in watch.groups:
        figures[f"{group} us/page"] = watch.spent_s(group, inner[0], inner[-1]) / pages * 1e6
    if more:
        for what in ("links", "journal", "board"):
            figures[f"{what} B/page"] = more[what] / len(moments)
        figures["snapshots B/min"] = more["snapshots"] / elapsed_s * 60
        figures["state B/page"] = more["state"] / len(moments)
        figures["objects/page"] = more["objects"] / len(moments)
    return figures


def crawl(
    nodes: int, name: str, folder: Path, site: Site, on: Servers, chosen: Chosen, watch: Watch
) -> dict[str, float]:
    flags = [word for key, value in NO_DELAY.items() for word in ("--set", f"{key}={value}")]
    flags += ["--set", f"crawl.partitions={chosen.partitions}"]
    if not nodes:
        words = gossamer("crawl", "--dir", folder / "D", "--file", site.seeds, "--workers", chosen.workers, *flags)
        process = start(words, folder / "crawl.log")
        watch.groups["gossamer"].append(process.pid)
        if process.wait(LIMIT_S):
            raise SystemExit((folder / "crawl.log").read_text(errors="replace")[-2000:])
        return {}
    made = Cluster(name, folder / "cluster", on, {"cluster.snapshot_s": chosen.snapshot_s})
    try:
        made.run("crawl", "--cluster", made.file, "--file", site.seeds, *flags)
        made.run("pause", made.file)
        for number in range(nodes):
            made.start(f"n{number + 1}", "--workers", max(1, chosen.workers // nodes))
        made.until_dealt(chosen.partitions)
        watch.groups["gossamer"] += [process.pid for process in made.nodes.values()]
        made.run("resume", made.file)
        until = time.monotonic() + LIMIT_S
        while any(process.poll() is None for process in made.nodes.values()):
            made.check(until)
            time.sleep(LOOK_S)
        made.check(until)
        objects = len(object_sizes(on.s3, f"{name}/"))
        found = {"snapshots": made.snapshot_bytes(), "state": made.state_bytes(), "objects": objects}
        return {**made.topic_bytes(), **found}
    finally:
        made.close()


# ---- all of them -----------------------------------------------------------------------------------------


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hosts", type=int, default=400)
    parser.add_argument("--pages", type=int, default=25, help="a host")
    parser.add_argument("--page-bytes", type=int, default=21_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--kinds", default=",".join(KINDS), help="default: all of them")
    parser.add_argument(
        "--cores", choices=("shared", "apart"), default="shared", help="apart: servers have their own"
    )
    parser.add_argument("--workers", type=int, help="over all nodes; default: one a core")
    parser.add_argument("--partitions", type=int, default=16)
    parser.add_argument("--snapshot-s", type=float, default=900.0)
    parser.add_argument("--port", type=int, default=18_080, help="of the web server")
    parser.add_argument("--cache", type=Path, default=CACHE)
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    kinds = [kind for kind in asked.kinds.split(",") if kind]
    cache = asked.cache.expanduser().absolute()
    server = nginx.find(Environment(cache / "environment", say))
    site = on_disk(Mix(asked.hosts, asked.pages, asked.page_bytes, port=asked.port), cache, say)
    pinned = cores.choose(asked.cores)
    workers = asked.workers or len(pinned.crawlers) or os.cpu_count() or 1
    chosen = Chosen(workers, asked.partitions, asked.snapshot_s, pinned)
    rounds: list[dict[str, Figures]] = []
    folder = Path(tempfile.mkdtemp(prefix="gossamer-cluster-"))
    try:
        with servers(folder / "servers", at=pinned.server) as on:
            for number in range(asked.rounds):
                first = number % len(kinds)
                rounds.append({})
                for kind in kinds[first:] + kinds[:first]:
                    here = folder / "run"
                    name = f"b{number}-{kind.replace(' ', '-')}"
                    figures = once(kind, name, here, site, server, on, chosen)
                    shutil.rmtree(here)
                    figures["reference ms"] = took_once_ms()
                    rounds[-1][kind] = figures
                    say(f"round {number + 1}: {kind}: " + ", ".join(f"{n} {v:,.0f}" for n, v in figures.items()))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    show(kinds, rounds, as_json=asked.json)


def show(kinds: list[str], rounds: list[dict[str, Figures]], *, as_json: bool) -> None:
    medians = {
        kind: {name: median(each[kind][name] for each in rounds) for name in rounds[0][kind]} for kind in kinds
    }
    ratios = {
        kind: {
            name: median(each[kind][name] / each[kinds[0]][name] for each in rounds)
            for name in ("pages/s", "gossamer us/page")
        }
        for kind in kinds[1:]
    }
    if as_json:
        print(json.dumps({"medians": medians, "ratios": ratios, "to": kinds[0], "rounds": rounds}))
        return
    names = list(dict.fromkeys(name for kind in kinds for name in medians[kind]))
    print(f"{'':18}" + "".join(f"{kind:>14}" for kind in kinds))
    for name in names:
        print(f"{name:18}" + "".join(f"{medians[kind].get(name, float('nan')):>14,.2f}" for kind in kinds))
    for name in ("pages/s", "gossamer us/page"):
        told = "".join(f"{ratios[kind][name]:>14.2f}" for kind in kinds[1:])
        print(f"{f'{name}, ratio'[:18]:18}{'1':>14}{told}")


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
