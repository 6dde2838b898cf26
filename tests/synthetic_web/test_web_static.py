"""The web as files, and as a command."""

from __future__ import annotations

import asyncio
import os
import signal
from dataclasses import replace
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from urllib.parse import urlsplit

import pytest

from gossamer.synthetic_web import AccessLog, RobotsKind, Web, WebOptions
from gossamer.synthetic_web.answer import Request
from gossamer.synthetic_web.command import run_web
from gossamer.synthetic_web.habits.static import write_nginx_conf, write_static
from tests.synthetic_web.client import get, until

OPTIONS = WebOptions(hosts=3, pages_per_host=5, port=8000, robots_kinds=(RobotsKind.OVERRIDE,))


async def test_files_are_what_the_web_answers(tmp_path: Path) -> None:
    web = Web(OPTIONS)
    site = write_static(web, tmp_path)
    assert site.files == 3 * (5 + 1)
    quiet = type("Quiet", (SimpleHTTPRequestHandler,), {"log_message": lambda *_: None})
    for host in range(3):
        files = ThreadingHTTPServer(("127.0.0.1", 0), partial(quiet, directory=tmp_path / web.atlas.hostname(host)))
        thread = Thread(target=files.serve_forever, args=(0.01,))
        thread.start()
        for path in ("/", "/p/1", "/p/4", "/robots.txt"):
            reply = await get(f"http://127.0.0.1:{files.server_port}{path}")
            assert reply.body == web.answer(Request(host, path, 0.0)).body
        files.shutdown()
        thread.join()
        files.server_close()


def test_the_port_has_to_be_known_before_files_are_written(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="port"):
        write_static(Web(replace(OPTIONS, port=0)), tmp_path)


def test_the_nginx_configuration_names_port_and_folder_and_lets_only_loopback_in(tmp_path: Path) -> None:
    conf = write_nginx_conf(write_static(Web(OPTIONS), tmp_path), workers=2).read_text()
    assert "worker_processes 2;" in conf
    assert "listen 8000" in conf
    assert f"root {tmp_path}/$host;" in conf
    assert "deny all;" in conf
    assert conf.count("{") == conf.count("}")


async def test_the_command_serves_until_it_is_interrupted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log_file = tmp_path / "access.jsonl"
    running = asyncio.create_task(run_web(replace(OPTIONS, port=0), log_file))
    said = ""

    def has_spoken() -> bool:
        nonlocal said
        said += capsys.readouterr().out
        return said.endswith("\n")

    await until(has_spoken)
    url = said.rsplit(maxsplit=1)[-1]
    assert urlsplit(url).hostname == "127.1.0.1"
    assert (await get(url)).status == 200
    os.kill(os.getpid(), signal.SIGINT)
    await running
    assert [entry.url for entry in AccessLog.load(log_file).entries] == [url]
