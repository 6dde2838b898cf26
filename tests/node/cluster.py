"""A whole cluster on loopback: brokers, an object store, nodes as processes of the command, and the web they crawl.

The web's access log is the judge. A node can be killed with or without its disk, frozen, and started again.
"""

from __future__ import annotations

import asyncio
import fcntl
import json
import os
import shutil
import signal
import tempfile
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

from gossamer.local_servers.process import children
from gossamer.synthetic_web.options import WebOptions
from gossamer.synthetic_web.server import Server, serve
from gossamer.synthetic_web.web import Web
from tests.crawl.command import QUICK, Ran, gossamer, start
from tests.crawl.judge import broken_delays, requests_at_once
from tests.s3.server import BUCKET, ENVIRONMENT
from tests.s3.server import server as s3
from tests.servers.kafka import Kafka, kafka

SESSION_S = 6.0
PARTITIONS = 6
_numbers = count()


class Cluster:
    def __init__(
        self,
        folder: Path,
        web: Server,
        brokers: Kafka,
        settings: Mapping[str, object],
        environment: Mapping[str, str] | None = None,
        inside: Callable[[str], Sequence[str]] = lambda name: (),
    ) -> None:
        """`inside`: words before the command of a node, see `tests.crawl.command.start`."""
        self.folder = folder
        self._inside = inside
        self.web = web
        self.file = folder / "cluster.toml"
        self.environment = {**ENVIRONMENT, **(environment or {})}
        self.nodes: dict[str, asyncio.subprocess.Process] = {}
        self._said: dict[str, list[bytes]] = {}
        self._listening: list[asyncio.Task[None]] = []
        name = self.name = f"t{next(_numbers)}-{folder.name}".lower().replace("_", "-")[:50]
        self.archive = f"s3://{BUCKET}/{name}"
        chosen: dict[str, object] = {
            **QUICK,
            "fetch.timeout_s": 5,
            "crawl.allow_private": True,
            "crawl.scope": "any",
            "crawl.workers": 1,
            "crawl.partitions": PARTITIONS,
            "cluster.name": name,
            "cluster.kafka": brokers.bootstrap,
            "cluster.copies": 1,
            "cluster.session_s": SESSION_S,
            "cluster.heartbeat_s": 1,
            "cluster.margin_s": 2,
            "cluster.snapshot_s": 5,
            "archive.url": self.archive,
            **settings,
        }
        if "archive.options" not in chosen:
            chosen["archive.options"] = dict(s3().options)
        self.file.write_text(toml(chosen))

    async def run(self, verb: str, *arguments: object, timeout_s: float = 60) -> Ran:
        return await gossamer(verb, *arguments, timeout_s=timeout_s, environment=self.environment)

    async def crawl(self, *flags: object) -> None:
        seeds = [self.web.url(index) for index in range(2)]
        ran = await self.run("crawl", "--cluster", self.file, *seeds, *flags)
        assert ran.code == 0, ran.err

    async def start(
        self,
        *names: str,
        called: str = "",
        flags: Sequence[object] = (),
        environment: Mapping[str, str] | None = None,
    ) -> None:
        """`called`: what the node calls itself; else as we do. Its folder is named as we call it. `environment`: on
        top of the cluster's."""
        around = {**self.environment, **(environment or {})}
        for name in names:
            words = ("node", "--cluster", self.file, "--name", called or name, "--dir", self.folder / name, *flags)
            inside = self._inside(name)
            node = self.nodes[name] = await start(*words, environment=around, inside=inside)
            said = self._said.setdefault(name, [])
            assert node.stdout is not None and node.stderr is not None
            self._listening += [asyncio.ensure_future(listen(pipe, said)) for pipe in (node.stdout, node.stderr)]

    def said(self, name: str) -> str:
        return b"".join(self._said.get(name, [])).decode()

    def signal(self, name: str, number: signal.Signals) -> None:
        """To the supervisor and its workers: a machine stops as a whole."""
        pid = self.nodes[name].pid
        for each in [*children(pid), pid] if number != signal.SIGCONT else [pid, *children(pid)]:
            with suppress(ProcessLookupError):
                os.kill(each, number)

    async def kill(self, name: str, *, with_disk: bool = False) -> None:
        self.signal(name, signal.SIGKILL)
        await self.nodes.pop(name).wait()
        if with_disk:
            await asyncio.to_thread(shutil.rmtree, self.folder / name)

    async def ended(self, *names: str, timeout_s: float = 120) -> None:
        """All of them say that the crawl is over."""
        try:
            async with asyncio.timeout(timeout_s):
                for name in names:
                    code = await self.nodes[name].wait()
                    assert code == 0, f"{name} ended with {code}:\n{self.said(name)[-3000:]}"
        except TimeoutError:
            said = "\n".join(f"{name}:\n{self.said(name)[-1500:]}" for name in names)
            raise AssertionError(f"{len(self.log)} requests, and no end:\n{said}") from None

    async def pages(self) -> list[dict[str, Any]]:
        ran = await self.run("pages", self.file, "--json")
        assert ran.code == 0, ran.err
        return ran.lines()

    async def status(self) -> dict[str, Any]:
        ran = await self.run("status", self.file, "--json")
        assert ran.code == 0, ran.err
        facts: dict[str, Any] = json.loads(ran.out)
        return facts

    @property
    def log(self) -> list[Any]:
        return list(self.web.log.entries)

    def judge(self) -> None:
        """No host was asked twice at once, or too soon."""
        entries = self.log
        assert requests_at_once(entries, 5.0) == []
        assert broken_delays(entries, self.web.web, 5.0) == []

    async def close(self) -> None:
        for name in list(self.nodes):
            if self.nodes[name].returncode is None:
                await self.kill(name)
        for task in self._listening:
            await task


@asynccontextmanager
async def to_itself() -> AsyncIterator[None]:
    """One cluster at a time, whatever runs beside it: its sessions are seconds, and two of them on two cores lose
    members that are well."""
    with (Path(tempfile.gettempdir()) / "gossamer-cluster-tests.lock").open("w") as lock:
        await asyncio.to_thread(fcntl.flock, lock, fcntl.LOCK_EX)
        yield


@asynccontextmanager
async def cluster(
    folder: Path,
    *,
    hosts: int = 8,
    pages: int = 12,
    not_found: float = 0.0,
    brokers: Kafka | None = None,
    options: WebOptions | None = None,
    environment: Mapping[str, str] | None = None,
    **settings: object,
) -> AsyncIterator[Cluster]:
    """`settings`: `crawl__max_pages=3` is `crawl.max_pages`."""
    folder.mkdir(parents=True, exist_ok=True)
    plain = WebOptions.plain(hosts=hosts, pages_per_host=pages, page_bytes=4_000)
    options = options or replace(plain, not_found=not_found)
    async with to_itself(), serve(Web(options)) as web:
        chosen = {name.replace("__", "."): value for name, value in settings.items()}
        made = Cluster(folder, web, brokers or kafka(), chosen, environment)
        try:
            yield made
        finally:
            await made.close()


async def listen(pipe: asyncio.StreamReader, said: list[bytes]) -> None:
    while chunk := await pipe.read(65536):
        said.append(chunk)


def toml(settings: Mapping[str, object]) -> str:
    sections: dict[str, list[str]] = {}
    for key, value in settings.items():
        section, name = key.split(".")
        text = json.dumps(value) if not isinstance(value, dict) else inline(value)
        sections.setdefault(section, []).append(f"{name} = {text}")
    return "\n".join(f"[{section}]\n" + "\n".join(lines) + "\n" for section, lines in sections.items())


def inline(table: Mapping[str, object]) -> str:
    return "{ " + ", ".join(f"{json.dumps(name)} = {json.dumps(value)}" for name, value in table.items()) + " }"
