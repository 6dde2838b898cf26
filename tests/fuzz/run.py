"""Fuzzing: documents that are nearly right, made wrong in many ways, until something gives.

    python -m tests.fuzz.run --minutes 5 [--seed 7] [--only html,url] [--bytes 65536]

The inputs follow from the seed alone, so a finding can be repeated; it is also written to a file. A finding is an
exception, a broken promise (targets.py), an input that takes longer than `INPUT_S_MAX` of processor time, or memory
that goes on growing. A parser in C that crashes ends this program: which seed it was is in the file `last`.
"""

from __future__ import annotations

import argparse
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from tests.fuzz.targets import Target, targets

INPUT_S_MAX = 2.0  # of processor time; an honest input of this size takes milliseconds
BYTES_MAX = 16_384


class Hang(Exception):
    """An input took too long."""


class Finding(AssertionError):
    """An input that something gave way to; the message says which."""


def mutated(body: bytes, target: Target, chance: random.Random, bytes_max: int = BYTES_MAX) -> bytes:
    document = bytearray(body)
    for _ in range(chance.randint(1, 6)):
        start = chance.randint(0, len(document))
        end = min(len(document), start + chance.choice((1, 2, 8, 64, 512)))
        match chance.randrange(8):
            case 0:
                document[start:end] = b""
            case 1:
                document[start:end] = chance.randbytes(end - start)
            case 2 | 3:
                document[start:start] = chance.choice(target.words)
            case 4:
                document[start:end] = chance.choice(target.words)
            case 5:
                document[start:start] = bytes(document[start:end]) * chance.choice((1, 2, 10, 1000))
            case 6:
                document[start:start] = chance.choice(target.words) * chance.choice((2, 10, 1000))
            case 7:
                other = chance.choice(target.seeds)
                document[start:] = other[chance.randint(0, len(other)) :]
        del document[bytes_max:]
    return bytes(document)


@contextmanager
def time_limit() -> Iterator[None]:
    """Raises `Hang` in the middle of whatever takes too long, as soon as it is back in Python."""

    def ring(_number: int, _frame: FrameType | None) -> None:
        raise Hang(f"longer than {INPUT_S_MAX:g} s")

    before = signal.signal(signal.SIGVTALRM, ring)
    signal.setitimer(signal.ITIMER_VIRTUAL, INPUT_S_MAX)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def feed(name: str, target: Target, body: bytes, seed: int, folder: Path) -> None:
    try:
        with time_limit():
            target.read(body)
    except Exception as fault:  # whatever it is: that is what we are looking for
        file = folder / f"gossamer-fuzz-{name}-{seed}.bin"
        file.write_bytes(body)
        said = f"{type(fault).__name__}: {fault}"[:500]
        raise Finding(f"{name}, seed {seed}, {len(body)} bytes in {file}: {said}; {body[:200]!r}") from fault


def inputs(target: Target, seed: int, bytes_max: int = BYTES_MAX) -> bytes:
    """The input of a seed: the seeds of a target as they are come first."""
    if seed < len(target.seeds):
        return target.seeds[seed]
    chance = random.Random(seed)
    return mutated(chance.choice(target.seeds), target, chance, bytes_max)


def resident_bytes() -> int:
    """0 where the system does not tell."""
    try:
        return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * 4096
    except OSError:
        return 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=5.0)
    parser.add_argument("--seed", type=int, default=0, help="the first; they are counted up")
    parser.add_argument("--only", default="", help="targets, with commas between them")
    parser.add_argument("--bytes", type=int, default=BYTES_MAX, help="the longest input")
    parser.add_argument("--findings", type=int, default=20, help="stop after so many")
    arguments = parser.parse_args()
    chosen = {
        name: each for name, each in targets().items() if not arguments.only or name in arguments.only.split(",")
    }
    folder = Path(tempfile.mkdtemp())
    print(f"findings go to {folder}", file=sys.stderr)
    spent: Counter[str] = Counter()
    slowest: dict[str, tuple[float, int]] = {}
    memory: list[int] = []
    findings, seed, ends_at = 0, arguments.seed, time.monotonic() + 60 * arguments.minutes
    while time.monotonic() < ends_at and findings < arguments.findings:
        for name, target in chosen.items():
            body = inputs(target, seed, arguments.bytes)
            (folder / "last").write_text(f"{name}, seed {seed}, --bytes {arguments.bytes}", encoding="ascii")
            started = time.process_time()
            try:
                feed(name, target, body, seed, folder)
            except Finding as finding:
                findings += 1
                print(finding, file=sys.stderr)
            took = time.process_time() - started
            spent[name] += 1
            slowest[name] = max(slowest.get(name, (0.0, 0)), (took, seed))
        seed += 1
        if seed % 1000 == 0:
            memory.append(resident_bytes() >> 20)
    for name, count in spent.items():
        print(f"{name:10} {count:8} inputs, slowest {slowest[name][0]:.3f} s (seed {slowest[name][1]})")
    print(f"{findings} findings; resident MiB, now and then: {memory[:: max(1, len(memory) // 20)]}")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
