"""The list of seeds: all that a person asked for, one a line. It may be longer than memory, and is read as a stream.

    seeds.txt     the URL, then `priority=` and `max_depth=` where they were said. Lines are only ever added.
    seeds.fed     how many bytes of it have reached the partitions that own them, durably; then those that got a seed
    seeds.index   sorted hashes, 8 bytes each, of the URLs in the list and of their homes (what the scope is about)

The index answers two questions without reading the list: is this URL in it already, and is this host in scope? Files
are mapped, so that ten million seeds take disk and not memory. It is made of the list, and made anew where it is
missing, damaged or of another scope; what was added behind its end is read and kept in memory until it is next saved.
Two texts with the same hash are one in ten million million million: then a seed would be left out.
"""

from __future__ import annotations

import mmap
import os
import struct
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from hashlib import blake2b
from itertools import islice
from pathlib import Path
from typing import TypeVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from gossamer import atomic
from gossamer.folder import FolderError
from gossamer.records import Seed
from gossamer.url.link_filter import Scope, home_of
from gossamer.url.site import host_of
from gossamer.url.typed import NotASeed, said_of

AT_ONCE = 10_000  # seeds that are looked up and written together
SPOOL_BYTES = 8 << 20  # of seeds on their way to the list, in memory
RECENT_MAX = 500_000  # hashes in a set, about 50 MB, before they go into the sorted ones
MAGIC = b"gossamer seeds 1"
_HEAD = struct.Struct("<16s 8s Q Q Q 16s")  # magic, scope, bytes of the list, URLs, homes, digest of what follows

Hashes = NDArray[np.uint64]
NO_HASHES: Hashes = np.empty(0, np.uint64)
Item = TypeVar("Item")


class SeedList:
    def __init__(self, folder: Path) -> None:
        self.path = folder / "seeds.txt"
        self._fed = folder / "seeds.fed"
        self._index = folder / "seeds.index"

    @property
    def bytes(self) -> int:
        """How long the list is; it grows whenever a seed is added."""
        try:
            return self.path.stat().st_size
        except FileNotFoundError:
            return 0

    def __iter__(self) -> Iterator[Seed]:
        return (seed for seed, _ in self.after(0))

    def after(self, position: int) -> Iterator[tuple[Seed, int]]:
        """The seeds behind a position, each with the position behind itself."""
        try:
            file = self.path.open("rb")
        except FileNotFoundError:
            return
        with file:
            file.seek(position)
            for line in file:
                position += len(line)
                try:
                    text = line.decode().strip()
                    if text and not text.startswith("#"):
                        yield _seed_in(text), position
                except (NotASeed, UnicodeDecodeError) as fault:
                    why = "it is not UTF-8 text" if isinstance(fault, UnicodeDecodeError) else fault
                    number = self._line_at(position)
                    raise FolderError(f"{self.path} is damaged (line {number}: {why}): mend it") from None

    def add(self, seeds: Iterable[Seed], index: Index) -> None:
        """Remember seeds for good; one that is there already stays as it is. Durable when this returns."""
        with self.path.open("ab") as file:
            if file.tell() and not self._ends_a_line():
                file.write(b"\n")  # somebody wrote to it by hand
            for some in _batches(seeds):
                file.write(_lines_of(index.add(some)))
            file.flush()
            os.fsync(file.fileno())
            index.covered = file.tell()
        atomic.sync_folder(self.path.parent)

    def take(self, seeds: Iterable[Seed], scope: Scope) -> Index:
        """At the start of a crawl, whose folder is ours: new seeds, and the index of all."""
        index = self.index(scope)
        self.add(seeds, index)
        self.save(index)
        return index

    def index(self, scope: Scope) -> Index:
        """What is known of the list without reading it, as of now. `save` it where the folder is ours."""
        index = _loaded(self._index, scope, self.bytes) or Index(scope)
        for some in _batches(self.after(index.covered)):
            index.add([seed for seed, _ in some])
            index.covered = some[-1][1]
        return index

    def save(self, index: Index) -> None:
        if index.is_saved:
            return
        urls, homes = index.folded()
        content = urls.tobytes() + homes.tobytes()
        digest = blake2b(content, digest_size=16).digest()
        head = _HEAD.pack(MAGIC, index.scope.encode(), index.covered, len(urls), len(homes), digest)
        with atomic.replacing(self._index) as partial, partial.open("wb") as file:
            file.write(head)
            file.write(content)
        index.is_saved = True

    @property
    def fed(self) -> int:
        """How far the list has reached the partitions; what cannot be read means that it begins again, harmlessly."""
        try:
            return min(int(self._fed.read_text(encoding="ascii").splitlines()[0]), self.bytes)
        except (FileNotFoundError, ValueError, IndexError):
            return 0

    @property
    def fed_to(self) -> set[int] | None:
        """The partitions that got a seed of it; None: nobody knows, for a crawl of an earlier version."""
        try:
            return set(map(int, self._fed.read_text(encoding="ascii").splitlines()[1].split()))
        except (FileNotFoundError, ValueError, IndexError):
            return None

    def note_fed(self, position: int, partitions: Iterable[int]) -> None:
        atomic.replace(self._fed, f"{position}\n{' '.join(map(str, sorted(partitions)))}\n".encode())

    def _ends_a_line(self) -> bool:
        with self.path.open("rb") as file:
            file.seek(-1, os.SEEK_END)
            return file.read(1) == b"\n"

    def _line_at(self, position: int) -> int:
        with self.path.open("rb") as file:
            return file.read(position).count(b"\n") or 1


class Spooled:
    """Seeds that were read once, and can be gone through again: a long list lies in a temporary file meanwhile."""

    def __init__(self, seeds: Iterable[Seed]) -> None:
        self._file = tempfile.SpooledTemporaryFile(SPOOL_BYTES)  # noqa: SIM115 - it goes away with this
        self.first: Seed | None = None
        try:
            for some in _batches(seeds):
                self.first = self.first or some[0]
                self._file.write(_lines_of(some))
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        self._file.close()

    def __iter__(self) -> Iterator[Seed]:
        self._file.seek(0)
        return (_seed_in(line.decode()) for line in self._file)


class Index:
    """Which URLs and homes are in a list of seeds. Both questions take some microseconds; of many at a time, one."""

    def __init__(self, scope: Scope, covered: int = 0, urls: Hashes = NO_HASHES, homes: Hashes = NO_HASHES) -> None:
        self.scope = scope
        self.covered = covered  # bytes of the list
        self.is_saved = covered > 0
        self._urls, self._homes = urls, homes
        self._recent_urls: set[int] = set()
        self._recent_homes: set[int] = set()

    def has(self, url: str) -> bool:
        return _are_in(self._urls, self._recent_urls, _hashes([url]))[0]

    def __contains__(self, home: object) -> bool:
        """Whether a home is that of a seed: what `Filters` asks."""
        return _are_in(self._homes, self._recent_homes, _hashes([str(home)]))[0]

    def add(self, seeds: Sequence[Seed]) -> list[Seed]:
        """Those of the seeds that were not in it, each once."""
        hashes = _hashes([seed.url for seed in seeds])
        new: dict[int, Seed] = {}
        for hash_, seed, is_known in zip(hashes, seeds, _are_in(self._urls, self._recent_urls, hashes), strict=True):
            if not is_known:
                new.setdefault(hash_, seed)
        homes = _hashes([home_of(host, self.scope) for host in {host_of(seed.url) for seed in new.values()}])
        are_homes = _are_in(self._homes, self._recent_homes, homes)
        self._recent_urls.update(new)
        self._recent_homes.update(home for home, is_known in zip(homes, are_homes, strict=True) if not is_known)
        self.is_saved = self.is_saved and not new
        if len(self._recent_urls) >= RECENT_MAX:
            self.folded()
        return list(new.values())

    def folded(self) -> tuple[Hashes, Hashes]:
        """All hashes of URLs and of homes, sorted."""
        self._urls = _folded(self._urls, self._recent_urls)
        self._homes = _folded(self._homes, self._recent_homes)
        return self._urls, self._homes


def _batches(items: Iterable[Item]) -> Iterator[list[Item]]:
    items = iter(items)
    while some := list(islice(items, AT_ONCE)):
        yield some


def _hashes(texts: Iterable[str]) -> list[int]:
    digests = [blake2b(text.encode(), digest_size=8).digest() for text in texts]
    hashes: list[int] = np.frombuffer(b"".join(digests), "<u8").tolist()
    return hashes


def _are_in(hashes: Hashes, recent: set[int], wanted: list[int]) -> list[bool]:
    if not len(hashes):
        return [each in recent for each in wanted]
    asked = np.array(wanted, np.uint64)
    found = hashes[np.minimum(hashes.searchsorted(asked), len(hashes) - 1)] == asked
    return [is_found or each in recent for is_found, each in zip(found.tolist(), wanted, strict=True)]


def _folded(hashes: Hashes, recent: set[int]) -> Hashes:
    if not recent:
        return hashes
    both = np.concatenate([hashes, np.fromiter(recent, np.uint64, len(recent))])  # nothing is in both of them
    both.sort()
    recent.clear()
    return both


def _loaded(path: Path, scope: Scope, list_bytes: int) -> Index | None:
    """The saved index, if it is whole, of this scope, and of a list no longer than the one that there is."""
    try:
        with path.open("rb") as file:
            content = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
    except (FileNotFoundError, ValueError):
        return None
    if len(content) < _HEAD.size:
        return None
    magic, of_scope, covered, urls, homes, digest = _HEAD.unpack_from(content)
    hashes = np.frombuffer(content, np.uint64, offset=_HEAD.size) if len(content) % 8 == _HEAD.size % 8 else None
    if magic != MAGIC or of_scope.rstrip(b"\0").decode() != scope or covered > list_bytes:
        return None
    if hashes is None or len(hashes) != urls + homes or blake2b(hashes.data, digest_size=16).digest() != digest:
        return None
    return Index(scope, covered, hashes[:urls], hashes[urls:])


def _seed_in(line: str) -> Seed:
    """As it stands in the list: canonical already."""
    line = line.strip()
    if " " not in line:  # as most are
        return Seed(line)
    url, *words = line.split()
    if any("=" not in word for word in words):
        raise NotASeed(f"{line!r} is not a URL with priority= and max_depth= behind it")
    return said_of(url, words)


def _lines_of(seeds: Iterable[Seed]) -> bytes:
    return "".join([_line_of(seed) for seed in seeds]).encode()


def _line_of(seed: Seed) -> str:
    if seed.priority is None and seed.max_depth is None:  # as most are
        return f"{seed.url}\n"
    said = msgspec.structs.asdict(seed)
    words = [said.pop("url"), *(f"{name}={value}" for name, value in said.items() if value is not None)]
    return " ".join(words) + "\n"
