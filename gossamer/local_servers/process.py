"""What the servers have in common: a process on loopback that can be killed, frozen, and started again.

It dies with the process that started it, also where that ends by kill -9; its folder goes when that ends by itself.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path

START_S = 60.0
PR_SET_PDEATHSIG = 1  # <sys/prctl.h>
LIBC = ctypes.CDLL(None)


class ServerMissing(Exception):
    """There can be no such server on this machine; the message says what to install."""


class ServerFailed(Exception):
    """It did not start, and this is the last that it said."""


class ServerProcess:
    """Implements all but the command, and how one sees that it serves."""

    name: str

    def __init__(self, folder: Path | None = None) -> None:
        """`folder`: a temporary one unless named; in either case `remove` deletes it."""
        if folder is None:
            folder = Path(tempfile.mkdtemp(prefix=f"{self.name}-"))
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder.absolute()
        self.port = free_port()
        self._process: subprocess.Popen[bytes]

    @property
    def pid(self) -> int:
        return self._process.pid

    def command(self) -> Sequence[str | Path]:
        raise NotImplementedError

    def answers(self) -> bool:
        raise NotImplementedError

    def prepare(self) -> None:
        """In the new process, before it becomes the server; nothing here may take a lock."""
        end_with_parent()

    def start(self) -> None:
        """With the data that it had, and ready when this returns."""
        self.launch()
        until = time.monotonic() + START_S
        try:
            while not self.answers():
                if self._process.poll() is not None or time.monotonic() > until:
                    raise ServerFailed(f"{self.name} did not start:\n{(self.folder / 'log').read_text()[-2000:]}")
                time.sleep(0.01)
        except BaseException:
            self.kill()
            raise

    def launch(self) -> None:
        """Start it, and do not wait until it is ready."""
        command = self.command()
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self.folder,
                start_new_session=True,  # Ctrl-C is for whoever started it
                preexec_fn=self.prepare,  # noqa: PLW1509 - calls to the system, and no lock is taken
            )

    def freeze(self) -> None:
        """It takes connections and bytes, and answers nothing."""
        os.kill(self._process.pid, signal.SIGSTOP)
        while not self._is_still():
            time.sleep(0.001)

    def _is_still(self) -> bool:
        """Every thread is stopped; the signal takes its time to reach those that run."""
        threads = Path(f"/proc/{self._process.pid}/task").glob("*/stat")
        return all(stat.read_text().rpartition(") ")[2].startswith("T") for stat in threads)

    def thaw(self) -> None:
        os.kill(self._process.pid, signal.SIGCONT)

    def kill(self) -> None:
        """As a power cut would, but that the system keeps what was written."""
        self._process.kill()
        self._process.wait()

    def remove(self) -> None:
        self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)


def end_with_parent() -> None:
    """However the parent ends, also by kill -9, this process does not outlive it."""
    LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def kill_with_children(process: subprocess.Popen[bytes]) -> None:
    """As when a machine loses power: all its processes at once, those in sessions of their own as well."""
    for pid in (process.pid, *children(process.pid)):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    process.wait()


def children(pid: int) -> list[int]:
    """And theirs."""
    try:
        found = [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except (FileNotFoundError, ProcessLookupError):
        return []
    return [each for child in found for each in (child, *children(child))]


def environment(more: Mapping[str, str], without: str) -> dict[str, str]:
    """Ours for another process, with more, and without what begins with `without`."""
    return {name: value for name, value in os.environ.items() if not name.startswith(without)} | dict(more)


def free_port() -> int:
    (port,) = free_ports(1)
    return port


def free_ports(count: int) -> list[int]:
    with ExitStack() as held:
        sockets = [held.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [int(one.getsockname()[1]) for one in sockets]
