"""What a browser looks at: a synthetic web, a crawl of it, and the server with the dashboard, each a process."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from gossamer.synthetic_web.access_log import AccessLog
from tests.crawl.command import ROOT, quick_settings

HOSTS = 6
SITE = "hostile.test"  # a site of two hosts, both served by whoever serves the further seeds
PATIENCE_S = 30.0


class Stage:
    """A crawl that would take minutes, and its dashboard. `server` can be killed and started again."""

    def __init__(self, folder: Path) -> None:
        self.crawl_folder = folder / "crawl"
        self.log_file = folder / "access.jsonl"
        self.web_port, self.port = free_port(), free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.web = self.crawl = self.server = None  # type: subprocess.Popen[bytes] | None

    def seed(self, host: int) -> str:
        return f"http://127.1.0.{host}:{self.web_port}/"

    def asked(self, host: str) -> int:
        return sum(entry.host == host for entry in AccessLog.load(self.log_file).entries)

    def serve(self) -> None:
        self.server = start("serve", self.crawl_folder, "--port", self.port)
        until(lambda: answers(f"{self.url}/health"))

    def kill_server(self) -> None:
        assert self.server is not None
        self.server.kill()
        self.server.wait()


@contextmanager
def staged(folder: Path, *more_seeds: str) -> Iterator[Stage]:
    stage = Stage(folder)
    web = start("web", "--hosts", HOSTS, "--pages", 3000, "--port", stage.web_port, "--log", stage.log_file)
    try:
        until(lambda: answers(stage.seed(1)))
        # The last host is left out: a test adds it on the page.
        seeds = [stage.seed(host) for host in range(1, HOSTS)]
        where = ["--dir", stage.crawl_folder, "--allow-private", "--workers", 1]
        names = f"www.{SITE}=127.0.0.1,shop.{SITE}=127.0.0.1"
        settings = quick_settings(politeness__delay_s=0.1, dns__overrides=names, log__file=folder / "crawl.log")
        stage.crawl = start("crawl", *more_seeds, *seeds, *where, *settings)
        until((stage.crawl_folder / "crawl.lock").exists)
        stage.serve()
        yield stage
    finally:
        for process in (stage.server, stage.crawl, web):
            if process is not None:
                process.kill()
                process.wait()


def start(*arguments: object) -> subprocess.Popen[bytes]:
    """A verb that goes on until it is ended."""
    quiet = subprocess.DEVNULL
    return subprocess.Popen(command(arguments), cwd=ROOT, env=environment(), stdout=quiet, stderr=quiet)


def gossamer(*arguments: object) -> str:
    """What a verb printed."""
    ran = subprocess.run(
        command(arguments), cwd=ROOT, env=environment(), capture_output=True, text=True, timeout=60, check=True
    )
    return ran.stdout


def command(arguments: tuple[object, ...]) -> list[str]:
    return [sys.executable, "-m", "gossamer", *map(str, arguments)]


def environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith("GOSSAMER_")}


def free_port() -> int:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        port: int = listening.getsockname()[1]
        return port


def answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=1):
            return True
    except urllib.error.HTTPError as error:
        error.close()
        return True
    except OSError:
        return False


def until(batch: Callable[[], object], timeout_s: float = PATIENCE_S) -> None:
    """Look every few milliseconds until something has happened in another process."""
    end = time.monotonic() + timeout_s
    while not batch():
        assert time.monotonic() < end, f"not in {timeout_s} s: {batch}"
        time.sleep(0.02)
