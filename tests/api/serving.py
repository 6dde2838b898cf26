"""A crawl under way and its server, each a process of its own, as a user runs them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import requests

from gossamer import config
from gossamer.folder import CrawlFolder
from gossamer.frontier.disk.store import RocksStore
from gossamer.frontier.disk.tables import TABLES
from tests.crawl.command import ROOT, quick_settings

HOSTS, PAGES = 4, 5000


class Api:
    """A client: paths below the server's address, and nothing from the environment."""

    def __init__(self, url: str, key: str = "", **more: Any) -> None:
        self.url = url.rstrip("/")
        self.session = requests.Session()
        self.session.trust_env = False
        if key:
            self.session.headers["Authorization"] = f"Bearer {key}"
        self._more = more

    def ask(self, method: str, path: str, **more: Any) -> requests.Response:
        below = path if path.startswith(("/health", "/ready", "/metrics", "/docs", "/static", "/api")) else None
        target = self.url + (below or ("/" if path == "/" else f"/api/v1{path}"))
        return self.session.request(method, target, timeout=60, allow_redirects=False, **{**self._more, **more})

    def get(self, path: str, **parameters: Any) -> Any:
        """The JSON of an answer that has to be a good one."""
        answer = self.ask("GET", path, params=parameters)
        assert answer.status_code == 200, f"{path} {parameters}: {answer.status_code} {answer.text}"
        return answer.json()

    def tell(self, method: str, path: str, body: Any = None) -> requests.Response:
        return self.ask(method, path, json=body)


@contextmanager
def running(*arguments: object) -> Iterator[subprocess.Popen[str]]:
    """The command, in the background; ended with the block, if it has not ended by then."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GOSSAMER_")}
    command = [sys.executable, "-m", "gossamer", *map(str, arguments)]
    process = subprocess.Popen(
        command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        yield process
    finally:
        if process.poll() is None:
            process.terminate()
        try:
            process.communicate(timeout=60)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            raise


@contextmanager
def served(folder: Path, *flags: object, key: str = "", secrets: Iterable[str] = (), **more: Any) -> Iterator[Api]:
    """`gossamer serve`, at the address that it prints; `secrets` must not be in anything that it says."""
    with running("serve", folder, "--port", 0, *flags) as server:
        yield Api(address_of(server), key, **more)
        server.send_signal(signal.SIGTERM)
        _, said = server.communicate(timeout=60)
        assert server.returncode == 0 and "Traceback" not in said, said
        assert not any(secret in said for secret in secrets)


def address_of(server: subprocess.Popen[str]) -> str:
    assert server.stdout is not None and server.stderr is not None
    line = server.stdout.readline()
    assert line, server.stderr.read()
    return line.split()[-1].replace("0.0.0.0", "127.0.0.1")


def empty_crawl(path: Path) -> Path:
    """The folder of a crawl that has done nothing yet."""
    folder = CrawlFolder(path)
    folder.create()
    config.load(None, None, {"crawl.partitions": "2"}, environment={}).save(path)
    for number in range(2):
        RocksStore(folder.partition(number), TABLES).close()
    return path


@dataclass(frozen=True)
class Stage:
    folder: Path
    seed: str
    log: Path  # what the web was asked for
    crawl: subprocess.Popen[str]

    def asked(self, host: str) -> int:
        return sum(json.loads(line)["host"] == host for line in self.log.read_text().splitlines())


@contextmanager
def crawling(folder: Path, *flags: object) -> Iterator[Stage]:
    """A small web, and a crawl of it that takes longer than any test."""
    with ExitStack() as stack:
        log = folder / "access.jsonl"
        web = ["web", "--kind", "plain", "--hosts", HOSTS, "--pages", PAGES, "--port", 0, "--log", log]
        server = stack.enter_context(running(*web))
        assert server.stdout is not None
        seed = server.stdout.readline().split()[-1]
        settings = quick_settings(politeness__delay_s=0.1, crawl__workers=1, crawl__partitions=2)
        command = ["crawl", seed, "--dir", folder / "crawl", "--allow-private", "--scope", "any", *settings, *flags]
        crawl = stack.enter_context(running(*command))
        stage = Stage(folder / "crawl", seed, log, crawl)
        until(lambda: log.exists() and stage.asked("127.1.0.1") > 3)
        yield stage


def until(batch: Callable[[], object], timeout_s: float = 60) -> Any:
    """Look every few milliseconds until something has happened in another process."""
    end = time.monotonic() + timeout_s
    while not (result := batch()):
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.05)
    return result
