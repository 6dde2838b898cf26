"""A worker's process: forked from the supervisor at its very start, or started anew.

A fork has all that the supervisor has imported, in no time and in the same memory; a new process takes half a second
of CPU time and 40 MiB for that. But a fork has the thread that forked and no other: a lock that another thread holds
at that moment is never released in it. So workers are forked while the supervisor has one thread, and no event loop
and no store, before it is known what they are to do. Each waits at a pipe for its order, and ends if there comes
none. Workers that take the place of others later are started anew.
"""

from __future__ import annotations

import asyncio
import atexit
import gc
import os
import signal
import sys
import traceback
from contextlib import suppress
from pathlib import Path
from typing import NoReturn, Protocol

from gossamer.worker import process


class WorkerProcess(Protocol):
    """What the worker pool needs of `asyncio.subprocess.Process`."""

    @property
    def pid(self) -> int: ...
    @property
    def returncode(self) -> int | None: ...
    @property
    def stderr(self) -> asyncio.StreamReader | None: ...
    def kill(self) -> None: ...
    async def wait(self) -> int: ...


async def started(sockets: Path, number: int, log_fd: int | None, waiting: list[Forked]) -> WorkerProcess:
    """One of those that wait, as long as there are any."""
    if waiting:
        return await waiting.pop().begin(sockets, number)
    return await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "gossamer.worker", str(sockets), str(number)),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
        start_new_session=True,  # Ctrl-C is for the supervisor
        pass_fds=() if log_fd is None else (log_fd,),
    )


def forked(count: int, log_fd: int | None) -> list[Forked]:
    """Workers that wait for their orders; none where it is not safe to fork."""
    if not _is_alone():
        return []
    sys.stdout.flush()
    sys.stderr.flush()
    # What is there now is there for good. The search for garbage leaves it alone, so that it stays in common.
    gc.collect()
    gc.freeze()
    return [_forked(log_fd) for _ in range(count)]


def _is_alone() -> bool:
    """Whether this process has one thread. Not known on other systems than Linux."""
    try:
        return len(os.listdir("/proc/self/task")) == 1
    except OSError:
        return False


def _forked(log_fd: int | None) -> Forked:
    read_order, write_order = os.pipe()
    read_stderr, write_stderr = os.pipe()
    pid = os.fork()
    if pid == 0:
        _wait_and_work(read_order, write_stderr, log_fd)
    os.close(read_order)
    os.close(write_stderr)
    return Forked(pid, write_order, read_stderr)


class Forked:
    """Implements `WorkerProcess`, once it has begun."""

    def __init__(self, pid: int, order: int, stderr: int) -> None:
        self.pid = pid
        self.returncode: int | None = None
        self.stderr: asyncio.StreamReader | None = None
        self._order = order
        self._stderr = stderr

    async def begin(self, sockets: Path, number: int) -> Forked:
        self.stderr = asyncio.StreamReader()
        protocol = asyncio.StreamReaderProtocol(self.stderr)
        await asyncio.get_running_loop().connect_read_pipe(lambda: protocol, os.fdopen(self._stderr, "rb"))
        with suppress(BrokenPipeError), os.fdopen(self._order, "w") as order:  # it may be dead: `wait` tells
            order.write(f"{number} {sockets}")
        return self

    def kill(self) -> None:
        if self.returncode is None:  # nobody else has its number before it was waited for
            with suppress(ProcessLookupError):  # that has just happened, in the thread that waits
                os.kill(self.pid, signal.SIGKILL)

    async def wait(self) -> int:
        """To be called once, when its standard error has ended: then it takes no time."""
        return await asyncio.to_thread(self._reap)

    def _reap(self) -> int:
        _, status = os.waitpid(self.pid, 0)
        self.returncode = os.waitstatus_to_exitcode(status)
        return self.returncode


def _wait_and_work(order: int, stderr: int, log_fd: int | None) -> NoReturn:
    """The life of a fork. It ends here: what the supervisor has begun is not for it to end."""
    code = 1
    try:
        _let_go(order, stderr, log_fd)
        with os.fdopen(order) as words:
            number, _, sockets = words.read().partition(" ")
        if sockets:
            sys.orig_argv = [sys.executable, "-m", "gossamer.worker", sockets, number]  # as if it were started anew
            process.main(Path(sockets), int(number))
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        atexit._run_exitfuncs()
        sys.stderr.flush()
        os._exit(code)


def _let_go(order: int, stderr: int, log_fd: int | None) -> None:
    """Of the terminal, and of all that is open: the crawl's lock among it, which must end with the supervisor."""
    os.setsid()  # Ctrl-C is for the supervisor
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor, number in ((null, 0), (null, 1), (stderr, 2)):
        os.dup2(descriptor, number)
    # By their names, because a system may allow a billion of them; that of the list itself is closed by then.
    for number in {int(name) for name in os.listdir("/proc/self/fd")} - {0, 1, 2, order, log_fd}:
        with suppress(OSError):
            os.close(number)
