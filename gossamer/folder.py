"""The crawl's folder: everything about a crawl is in it, and it can be copied.

gossamer.toml     the configuration in force
seeds.txt         the seeds, one a line: the URL, then `priority=` and `max_depth=` where they have them;
                  all are added again at every start, which changes nothing
partitions/NNN/   frontier, seen set, page records (RocksDB)
fingerprints/     content seen so far (RocksDB)
archive/          WARC files
history.jsonl     how the crawl went, a line a minute
course.json       what visiting pages again costs, and what for
ranks             PageRank of pages and hosts, where `gossamer rank` was run (schedule/ranks.py)
crawl.lock        locked while a crawl runs in here; says which process that is, and where it listens
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from gossamer.frontier.policy import Policies
from gossamer.records import Seed, Url
from gossamer.schedule.course import Course

# What a crawl that was killed while it was being created may have left.
OURS = {"archive", "crawl.lock", "fingerprints", "partitions", "policies.json", "seeds.tmp", "seeds.txt"}
OURS |= {".gossamer.toml.new", "policies.tmp", "history.jsonl", "course.json", "course.tmp"}


class FolderError(Exception):
    """This folder cannot be used as it was meant to; the message says why and what to do."""


class CrawlFolder:
    def __init__(self, path: Path) -> None:
        self.path = path
        self.archive = path / "archive"
        self.fingerprints = path / "fingerprints"
        self.history = path / "history.jsonl"
        self._lock = path / "crawl.lock"
        self._config = path / "gossamer.toml"
        self._seeds = path / "seeds.txt"
        self._policies = path / "policies.json"
        self._course = path / "course.json"
        self._ranks = path / "ranks"

    def partition(self, number: int) -> Path:
        return self.path / "partitions" / f"{number:03d}"

    @property
    def is_crawl(self) -> bool:
        return self._config.is_file()

    def must_be_crawl(self) -> None:
        if not self.path.exists():
            raise FolderError(f"{self.path} does not exist; `gossamer crawl URL --dir {self.path}` would create it")
        if not self.is_crawl:
            raise FolderError(f"{self.path} is not a crawl: it has no gossamer.toml")

    def create(self) -> None:
        """Make the folder, or take an empty one; never one that holds something else."""
        if self.path.is_file():
            raise FolderError(f"{self.path} is a file; a crawl needs a folder")
        if self.path.is_dir() and not self.is_crawl:
            strangers = {entry.name for entry in self.path.iterdir()} - OURS
            if strangers:
                raise FolderError(
                    f"{self.path} is not empty and not a crawl (it holds {min(strangers)}): choose another --dir"
                )
        try:
            for folder in (self.path, self.archive, self.fingerprints, self.path / "partitions"):
                folder.mkdir(parents=True, exist_ok=True)
        except OSError as fault:
            raise FolderError(f"{self.path} cannot be made: {fault.strerror}") from fault

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Nobody else crawls in here meanwhile. The system lets go of the lock however we end."""
        self.path.mkdir(parents=True, exist_ok=True)
        with self._lock.open("a+") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                lock.seek(0)
                owner = lock.readline().strip() or "another process"
                raise FolderError(
                    f"{self.path} is being crawled by {owner}: wait for it, or stop it with Ctrl-C"
                ) from None
            lock.truncate(0)
            lock.write(f"process {os.getpid()}\n")
            lock.flush()
            try:
                yield
            finally:
                lock.truncate(0)

    @property
    def is_locked(self) -> bool:
        try:
            with self._lock.open("r") as lock:
                # The lock is tried only where its owner seems to live: who tries it has it for a moment, and a crawl
                # that starts in that moment would give up.
                if _lives(lock.readline()):
                    fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except FileNotFoundError:
            return False
        except OSError:
            return True
        return False

    def listen_at(self, socket: Path) -> None:
        """Say where the crawl that has the lock can be reached (control/talk.py)."""
        with self._lock.open("a") as lock:
            lock.write(f"{socket}\n")

    @property
    def socket(self) -> Path | None:
        """Where the last crawl in here listened, which may be over."""
        try:
            lines = self._lock.read_text(encoding="utf-8").splitlines()
        except FileNotFoundError:
            return None
        return Path(lines[1]) if len(lines) > 1 else None

    def seeds(self) -> list[Url]:
        return [seed.url for seed in self.all_seeds()]

    def all_seeds(self) -> list[Seed]:
        try:
            lines = self._seeds.read_text(encoding="utf-8").splitlines()
        except FileNotFoundError:
            return []
        try:
            return [_seed_in(line) for line in lines if line.strip()]
        except (ValueError, msgspec.ValidationError) as fault:
            raise FolderError(f"{self._seeds} is damaged ({fault}): mend it") from fault

    def add_seeds(self, seeds: Iterable[Url | Seed]) -> None:
        """Remember seeds for good. One that is there already stays as it is."""
        named = (seed if isinstance(seed, Seed) else Seed(seed) for seed in seeds)
        all_seeds = {seed.url: seed for seed in self.all_seeds()}
        before = len(all_seeds)
        for seed in named:
            all_seeds.setdefault(seed.url, seed)
        if len(all_seeds) > before:
            _replace(self._seeds, "".join(f"{_line_of(seed)}\n" for seed in all_seeds.values()).encode())

    @property
    def seeds_changed_at(self) -> tuple[int, int]:
        """Changes whenever the seeds do."""
        try:
            stat = self._seeds.stat()
        except FileNotFoundError:
            return 0, 0
        return stat.st_mtime_ns, stat.st_size

    def policies(self) -> Policies:
        try:
            return msgspec.json.decode(self._policies.read_bytes(), type=Policies)
        except FileNotFoundError:
            return Policies()
        except msgspec.DecodeError as fault:
            raise FolderError(f"{self._policies} is damaged ({fault}): mend it, or remove it") from fault

    def set_policies(self, policies: Policies) -> None:
        """In force from each host's next turn on, also in a crawl that is running."""
        _replace(self._policies, msgspec.json.format(msgspec.json.encode(policies)))

    def course(self) -> Course:
        """As the last run left it: what visits again cost, and what for (schedule/course.py)."""
        try:
            return msgspec.json.decode(self._course.read_bytes(), type=Course)
        except (FileNotFoundError, msgspec.DecodeError):
            return Course()  # found again within seconds

    def set_course(self, course: Course) -> None:
        _replace(self._course, msgspec.json.encode(course))

    @property
    def policies_changed_at(self) -> int:
        """Changes whenever the policies do."""
        return _changed_at(self._policies)

    @property
    def ranks_changed_at(self) -> int:
        return _changed_at(self._ranks)


def _changed_at(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except FileNotFoundError:
        return 0


def _lives(owner: str) -> bool:
    number = owner.removeprefix("process ").strip()
    if not number.isdecimal():
        return False
    try:
        os.kill(int(number), 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True


def _seed_in(line: str) -> Seed:
    url, *words = line.split()
    if not words:  # as most are
        return Seed(url)
    said = dict(word.split("=", 1) for word in words)
    return msgspec.convert({"url": url} | said, Seed, strict=False)


def _line_of(seed: Seed) -> str:
    said = msgspec.structs.asdict(seed)
    return " ".join([said.pop("url"), *(f"{name}={value}" for name, value in said.items() if value is not None)])


def _replace(path: Path, content: bytes) -> None:
    """The old content or the new one, whatever happens."""
    partial = path.with_suffix(".tmp")
    with partial.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    partial.replace(path)
