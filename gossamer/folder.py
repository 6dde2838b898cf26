"""The crawl's folder: everything about a crawl is in it, and it can be copied.

gossamer.toml     the configuration in force
format.json       the version of all that is on disk here, and the digest of the list below
suffixes.dat      the public suffix list that the crawl began with: it decides which partition a host belongs to
paused            there while an operator wants nothing to be asked for; says why
seeds.txt         the seeds, one a line; with seeds.index and seeds.fed beside it (seeds.py)
partitions/NNN/   frontier, seen set, page records (RocksDB)
links/NNN/        links on their way to a partition (cluster/link_log.py)
fingerprints/     content seen so far (RocksDB)
archive/          WARC files
history.jsonl     how the crawl went, a line a minute
course.json       what visiting pages again costs, and what for
ranks             PageRank of pages and hosts, where `gossamer rank` was run (schedule/ranks.py)
epoch             how often somebody began to own partitions of this crawl
exports.json      how far each export and sink has come (export/positions.py)
node              in a node of a cluster: its name, and that of the crawl
snapshots/        in a node of a cluster: snapshots on their way to the object store
crawl.lock        locked while a crawl runs in here; says which process that is, and where it listens
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path

import msgspec

from gossamer import __version__, atomic
from gossamer.clock import RealClock
from gossamer.frontier.rules.policy import Policies
from gossamer.schedule.recrawl_plan import RecrawlPlan
from gossamer.url import site

FORMAT = 3
EPOCHS_AT_ONCE = 1000  # so that not every change of an owner has to reach the disk
"""Of all files in the folder. 1: before they were numbered, and before the suffix list was kept. 2: before links on
their way were kept in a log. Fields with a
default that are added at the end of a record need no new number; what an earlier version would misread does, and a
step in `CrawlFolder._migrate` that makes the one of the other."""

# What there may be in a crawl's folder.
OURS = {"archive", "crawl.lock", "fingerprints", "partitions", "policies.json", "gossamer.toml", "ranks", "keys.json"}
OURS |= {"history.jsonl", "course.json", "format.json", "suffixes.dat", "paused", "epoch", "links"}
OURS |= {"seeds.txt", "seeds.fed", "seeds.index", "exports.json", "exports.lock", "sinks.lock", "node", "snapshots"}

ACTIVE_S = 150.0  # two lines of history, and room for a slow machine


class FolderError(Exception):
    """This folder cannot be used as it was meant to; the message says why and what to do."""


class Format(msgspec.Struct, frozen=True):
    """What is in `format.json`."""

    format: int = 1
    made_by: str = ""  # the version that wrote this file
    suffixes: str = ""  # SHA-256 of suffixes.dat; empty: there is none


class CrawlFolder:
    def __init__(self, path: Path) -> None:
        self.path = path
        self.archive = path / "archive"
        self.links = path / "links"
        self.fingerprints = path / "fingerprints"
        self.history = path / "history.jsonl"
        self._lock = path / "crawl.lock"
        self._config = path / "gossamer.toml"
        self._policies = path / "policies.json"
        self._recrawl_plan = path / "course.json"
        self._ranks = path / "ranks"
        self._format = path / "format.json"
        self._suffixes = path / "suffixes.dat"
        self._paused = path / "paused"
        self._epoch = path / "epoch"

    def partition(self, number: int) -> Path:
        return self.path / "partitions" / f"{number:03d}"

    @property
    def is_crawl(self) -> bool:
        return self._config.is_file()

    @property
    def is_of_node(self) -> bool:
        """Whether it is that of one node of a cluster, which has some partitions and not the others."""
        return (self.path / "node").exists()

    def must_be_crawl(self) -> None:
        try:
            self.path.stat()
            self._config.stat()
        except PermissionError as fault:
            raise FolderError(f"{self.path} cannot be looked into: {fault.strerror}") from fault
        except OSError:
            pass  # told apart below
        if not self.path.exists():
            raise FolderError(f"{self.path} does not exist; `gossamer crawl URL --dir {self.path}` would create it")
        if self.path.is_file():
            raise FolderError(f"{self.path} is a file; a crawl is a folder")
        if not self.is_crawl:
            raise FolderError(f"{self.path} is not a crawl: it has no gossamer.toml")
        self.go_by_format()

    @property
    def strangers(self) -> set[str]:
        """What is in the folder and not a crawl's."""
        return {entry.name for entry in self.path.iterdir() if not _is_partial(entry.name)} - OURS

    def create(self) -> None:
        """Make the folder, or take an empty one; never one that holds something else."""
        try:
            str(self.path.absolute()).encode()
        except UnicodeEncodeError:
            raise FolderError(f"{self.path} cannot be a crawl's folder: its name is not UTF-8 text") from None
        if self.path.is_file():
            raise FolderError(f"{self.path} is a file; a crawl needs a folder")
        if self.path.is_dir() and not self.is_crawl and (strangers := self.strangers):
            raise FolderError(
                f"{self.path} is not empty and not a crawl (it holds {min(strangers)}): choose another --dir"
            )
        try:
            for folder in (self.path, self.archive, self.fingerprints, self.path / "partitions"):
                folder.mkdir(parents=True, exist_ok=True)
        except OSError as fault:
            raise FolderError(f"{self.path} cannot be made: {fault.strerror}") from fault

    # ---- the format --------------------------------------------------------------------------------------

    def format(self) -> Format:
        """Raises FolderError where this version cannot read what is here."""
        try:
            found = msgspec.json.decode(self._format.read_bytes(), type=Format)
        except FileNotFoundError:
            return Format()
        except msgspec.DecodeError as fault:
            raise FolderError(f"{self._format} is damaged ({fault}): put it back from a copy") from fault
        if found.format > FORMAT:
            raise FolderError(
                f"{self.path} is in format {found.format}, written by {found.made_by or 'a later version'}; this is "
                f"gossamer {__version__}, which knows formats up to {FORMAT}: use that version, or a later one"
            )
        return found

    def go_by_format(self) -> None:
        """From now on this process cuts sites as the crawl does."""
        wanted = self.format().suffixes
        if not wanted or wanted == site.installed_digest():
            site.go_by(None)
            return
        try:
            found = sha256(self._suffixes.read_bytes()).hexdigest()
        except FileNotFoundError:
            found = ""
        if found != wanted:
            raise FolderError(
                f"{self._suffixes} is {'damaged' if found else 'missing'}, and without it nobody knows which "
                "partition a host belongs to: put it back from a copy of the crawl's folder"
            )
        site.go_by(self._suffixes)

    def keep_format(self) -> None:
        """Make the folder one of the present format. For whoever has the lock, before anything else is written."""
        found = self.format() if self.is_crawl else Format(0)
        while found.format < FORMAT:
            found = self._migrate(found)
            atomic.replace(self._format, msgspec.json.format(msgspec.json.encode(found)))
        self.go_by_format()

    def _migrate(self, found: Format) -> Format:
        """One step towards the present format. It may be cut off and begun again at any point."""
        match found.format:
            case 0 | 1:  # new, or without a list: whatever is installed is what it went by so far
                atomic.replace(self._suffixes, site.installed_list())
                return Format(2, f"gossamer {__version__}", site.installed_digest())
            case 2:  # an earlier version would not read the links that are on their way
                return Format(3, f"gossamer {__version__}", found.suffixes)
        raise AssertionError(found)

    # ---- who is in it ------------------------------------------------------------------------------------

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Nobody else crawls in here meanwhile. The system lets go of the lock however we end."""
        self.path.mkdir(parents=True, exist_ok=True)
        with held(self._lock, f"{self.path} is being crawled by {{}}: wait for it, or `gossamer stop {self.path}`"):
            yield

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
        except PermissionError:  # it is somebody else's crawl: a running one writes its history every minute
            return RealClock().now() - _changed_at(self.history) / 1e9 < ACTIVE_S
        except OSError:
            return True
        return False

    def listen_at(self, socket: Path) -> None:
        """Say where the crawl that has the lock can be reached (messages/control_client.py)."""
        with self._lock.open("a") as lock:
            lock.write(f"{socket}\n")

    @property
    def socket(self) -> Path | None:
        """Where the last crawl in here listened, which may be over."""
        try:
            lines = self._lock.read_text(encoding="utf-8").splitlines()
        except (FileNotFoundError, PermissionError):
            return None
        return Path(lines[1]) if len(lines) > 1 else None

    @property
    def paused(self) -> str:
        """Why an operator wants nothing to be asked for, also at the next start; empty: nobody does."""
        try:
            return self._paused.read_text(encoding="utf-8", errors="replace").strip()
        except FileNotFoundError:
            return ""

    def set_paused(self, why: str) -> None:
        if why:
            atomic.replace(self._paused, f"{why}\n".encode())
        else:
            self._paused.unlink(missing_ok=True)

    def next_epoch(self) -> int:
        """Above all that were given before; who has the lock may count on from it, `EPOCHS_AT_ONCE` times."""
        try:
            last = int(self._epoch.read_text(encoding="ascii"))
        except FileNotFoundError:
            last = 0 if not any((self.path / "partitions").glob("*")) else int(RealClock().now())  # the file was lost
        except ValueError as fault:
            raise FolderError(f"{self._epoch} is damaged: remove it, and the crawl goes on") from fault
        atomic.replace(self._epoch, f"{last + 1}\n".encode())
        return (last + 1) * EPOCHS_AT_ONCE

    def behind_in_epochs(self, fault: object) -> str:
        return (
            f"{fault}: {self._epoch} is older than the partitions, as when a part of a folder was put back from a "
            "copy. Remove that file, and the crawl goes on"
        )

    def policies(self) -> Policies:
        try:
            return msgspec.json.decode(self._policies.read_bytes(), type=Policies)
        except FileNotFoundError:
            return Policies()
        except msgspec.DecodeError as fault:
            raise FolderError(f"{self._policies} is damaged ({fault}): mend it, or remove it") from fault

    def change_policies(self, change: Callable[[Policies], Policies]) -> None:
        """In force from each host's next turn on, also in a crawl that is running. One change at a time."""
        with atomic.locked(self._policies):
            policies = change(self.policies())
            atomic.replace(self._policies, msgspec.json.format(msgspec.json.encode(policies)))

    def recrawl_plan(self) -> RecrawlPlan:
        """As the last run left it: what visits again cost, and what for (schedule/recrawl_plan.py)."""
        try:
            return msgspec.json.decode(self._recrawl_plan.read_bytes(), type=RecrawlPlan)
        except (FileNotFoundError, msgspec.DecodeError):
            return RecrawlPlan()  # found again within seconds

    def set_recrawl_plan(self, recrawl_plan: RecrawlPlan) -> None:
        atomic.replace(self._recrawl_plan, msgspec.json.encode(recrawl_plan))

    @property
    def policies_changed_at(self) -> int:
        """Changes whenever the policies do."""
        return _changed_at(self._policies)

    @property
    def ranks_changed_at(self) -> int:
        return _changed_at(self._ranks)


@contextmanager
def held(file: Path, taken: str) -> Iterator[None]:
    """A lock file that says who has it. `taken`: what is wrong where another process does, with {} for its name."""
    # Whoever can open the file can hold the lock, so nobody else may open it.
    try:
        descriptor = os.open(file, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as fault:
        raise FolderError(f"{file.parent} can only be looked into: {file}: {fault.strerror}") from fault
    with os.fdopen(descriptor, "a+") as lock:
        if os.fstat(descriptor).st_uid == os.geteuid():
            os.fchmod(descriptor, 0o600)  # as an earlier version left it, anybody may
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            lock.seek(0)
            raise FolderError(taken.format(lock.readline().strip() or "another process")) from None
        lock.truncate(0)
        lock.write(f"process {os.getpid()}\n")
        lock.flush()
        try:
            yield
        finally:
            lock.truncate(0)


def _is_partial(name: str) -> bool:
    return name.startswith(".") and name.endswith((atomic.PARTIAL, ".lock"))


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
