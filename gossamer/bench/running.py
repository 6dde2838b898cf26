"""One run of one program: how long it took, and what it and all that it started used.

CPU time comes from the system's account of the process and of the children that it waited for; where it had to be
killed, and waited for nobody, from what its processes had used when they were last looked at. Memory is looked at
several times a second: the proportional share (PSS) of every process of the tree, so that what they share counts
once. Bytes written are those that went towards the disk, whoever of the tree wrote them.

A run that is not done at its limit is asked to stop (SIGINT), and a little later told to: what it got until then
counts, because the pace is what is measured. When it has ended nothing of it is left: whoever still runs in its group
is killed.
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
from collections.abc import Iterator, Set
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from gossamer.bench.cores import on
from gossamer.clock import RealClock

LOOK_S = 0.25
STOP_S = 20.0  # from being asked to being told


@dataclass(frozen=True)
class Usage:
    elapsed_s: float
    cpu_s: float
    memory_bytes: int  # the most, of the whole tree
    written_bytes: int
    left_bytes: int  # in its folder, at the end
    code: int
    was_stopped: bool
    said: str  # the last of what it printed


def run(command: list[str], folder: Path, limit_s: float, cores: Set[int] = frozenset()) -> Usage:
    """Run in a folder of its own, which is empty before; on these cores, or on any."""
    clock, said = RealClock(), folder.parent / f"{folder.name}.out"
    with said.open("wb") as out, on(cores):
        started_at = clock.now()
        process = subprocess.Popen(
            command,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    ended, memory, seen_s, was_stopped = os.pidfd_open(process.pid), 0, 0.0, False
    try:
        while not select.select([ended], [], [], LOOK_S)[0]:
            pids = list(tree(process.pid))
            memory = max(memory, sum(map(memory_bytes, pids)))
            seen_s = max(seen_s, sum(map(cpu_s_with_ended, pids)))
            over_s = clock.now() - started_at - limit_s
            if over_s > 0 and not was_stopped:
                was_stopped = True
                process.send_signal(signal.SIGINT)
            if over_s > STOP_S:
                kill(process.pid)
    except BaseException:  # Ctrl-C: what we started does not hear it by itself
        kill(process.pid)
        raise
    finally:
        os.close(ended)
        with suppress(ProcessLookupError, PermissionError):  # not yet buried: the number is still its own
            os.killpg(process.pid, signal.SIGKILL)
    elapsed_s = clock.now() - started_at
    # It is dead and not yet buried: its account of bytes, with those of its children, can still be read.
    written = written_bytes(process.pid)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    left_bytes = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
    text = said.read_text(encoding="utf-8", errors="replace")[-2000:]
    used_s = max(used.ru_utime + used.ru_stime, seen_s)
    return Usage(elapsed_s, used_s, memory, written, left_bytes, process.returncode, was_stopped, text)


def kill(pid: int) -> None:
    for each in reversed(list(tree(pid))):  # children first: their CPU time is to reach the parent
        with suppress(ProcessLookupError):
            os.kill(each, signal.SIGKILL)


def tree(pid: int) -> Iterator[int]:
    """A process and all below it, as far as they are still there."""
    yield pid
    with suppress(OSError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            for child in (task / "children").read_text().split():
                yield from tree(int(child))


def memory_bytes(pid: int) -> int:
    with suppress(OSError):
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) * 1024
    return 0


def written_bytes(pid: int) -> int:
    with suppress(OSError):
        for line in Path(f"/proc/{pid}/io").read_text().splitlines():
            if line.startswith("write_bytes:"):
                return int(line.split()[1])
    return 0


def cpu_s(pid: int) -> float:
    return sum(_cpu_times_s(pid)[:2])


def cpu_s_with_ended(pid: int) -> float:
    """Also of the children that ended and were waited for."""
    return sum(_cpu_times_s(pid))


def _cpu_times_s(pid: int) -> list[float]:
    with suppress(OSError):
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()
        return [int(field) / os.sysconf("SC_CLK_TCK") for field in fields[11:15]]
    return []
