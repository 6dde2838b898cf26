"""`crawl --serve`: the server beside a crawl may have to move, says the last figures, and stays for who is there."""

from __future__ import annotations

import json
import os
import pty
import re
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
import requests

from tests.api.serving import Api, running, until
from tests.crawl.command import ROOT, quick_settings

PAGES = 4


@pytest.fixture(scope="module")
def seed() -> Iterator[str]:
    with running("web", "--kind", "plain", "--hosts", 1, "--pages", PAGES, "--port", 0) as web:
        assert web.stdout is not None
        yield web.stdout.readline().split()[-1]


def crawl(seed: str, folder: Path, *flags: object) -> list[object]:
    settings = quick_settings(politeness__delay_s=1.0, crawl__partitions=1)
    return ["crawl", seed, "--dir", folder, "--allow-private", "--workers", 1, *settings, *flags]


def test_a_port_that_is_in_use_is_not_the_end_of_the_crawl_and_the_last_figures_are_told(
    seed: str, folder: Path
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with running(*crawl(seed, folder / "crawl", "--serve", f"127.0.0.1:{port}")) as process:
            assert process.stderr is not None
            said: list[str] = []
            while "serving" not in (where := process.stderr.readline()):
                assert where, said
                said.append(where)
            assert f"port {port} is in use: taking another one" in "".join(said)
            api = Api(where.split()[-1])
            assert not api.url.endswith(f":{port}")
            event, status = "", {}
            onlooker = threading.Thread(target=look_on, args=(api.url,))
            onlooker.start()
            for line in api.ask("GET", "/events", stream=True).iter_lines():
                name, _, value = line.decode().partition(": ")
                event = value if name == "event" else event
                if name == "data" and event == "ended":
                    status = json.loads(value)
                    break
            assert (status["state"], status["pages"], status["running"]) == ("complete", PAGES, False)
            assert process.wait(60) == 0
            onlooker.join(60)


def look_on(url: str) -> None:
    """Read the stores until the server is gone, so that there always is a look that is not old enough to go."""
    with suppress(requests.RequestException):
        while True:
            Api(url).ask("GET", "/pages")


def test_where_no_dashboard_can_start_the_crawl_goes_on(seed: str, folder: Path) -> None:
    with running(*crawl(seed, folder / "crawl", "--serve", "192.0.2.1:80")) as process:
        out, err = process.communicate(timeout=60)
    assert process.returncode == 0 and "the crawl goes on without it" in err
    assert "Complete: every URL" in out


def test_at_a_terminal_the_dashboard_stays_until_the_user_leaves(seed: str, folder: Path) -> None:
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "gossamer", *map(str, crawl(seed, folder / "crawl", "--serve", "127.0.0.1:0"))]
    process = subprocess.Popen(command, cwd=ROOT, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True)
    os.close(theirs)
    shown = b""
    try:
        while not (found := re.search(rb"still serving \S+ at (http\S+/);", shown)):
            shown += os.read(ours, 4096)
        api = Api(found[1].decode())
        until(lambda: api.get("/status")["state"] == "complete")  # it looks now and then
        process.send_signal(2)  # Ctrl-C
        until(lambda: read_on(ours))
        assert process.wait(60) == 0
        with pytest.raises(requests.ConnectionError):
            api.ask("GET", "/health")
    finally:
        process.kill()
        process.wait()
        os.close(ours)


def read_on(terminal: int) -> bool:
    """Whether the terminal is at its end: nobody has it open any more."""
    try:
        return not os.read(terminal, 4096)
    except OSError:
        return True
