"""A bucket of an object store as a storage: S3 and what speaks like it, through obstore.

Where it is comes from `archive.url` and `archive.options` (endpoint, region, and whatever else obstore's S3 store
knows); who we are comes from the environment (`AWS_ACCESS_KEY_ID` and its kin) or the machine's role, as with other
tools. Secrets are no settings: those are written down in the crawl's folder.

Faults are of three kinds, and this file is where they are told apart, because obstore gives little more than a text:

    FileNotFoundError     the object is not there
    Unreachable           no connection, no answer in time, 408, 429, 5xx: may be over in a while
    ArchiveRefused        any other status: wrong credentials, no such bucket, a bad request; a person has to look

**A PUT without an answer** may have been carried out, and may even be carried out later: a server that hangs takes up
what lies in its sockets when it wakes, and the sender may be dead by then. So objects are created and never
overwritten (`If-None-Match: *`): of two writers of one name the first one wins, and a late one changes nothing. Who
finds his name taken looks whether it was himself, now or before he died; if not, somebody else writes here, and
nothing is touched. And no object is ever removed but by compaction and by whoever wrote it: names have the epoch of
their owner (segments.py), so that what an earlier owner still has on its way harms nobody.

**Two copies of a crawl with one bucket** would take each other's objects for what a crash left. So whoever opens a
partition leaves a name of his in `PPP.owner`, and notes it beside the partition's store. One who finds a name there
that he has not noted learns that somebody else has written since, and stops before he touches anything. And whoever
was there first, because the copy was made while he wrote, looks now and then and stops, too.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from secrets import token_hex
from typing import Any
from urllib.parse import urlsplit

import msgspec
from obstore import open_writer
from obstore.exceptions import AlreadyExistsError, BaseError, GenericError, UnknownConfigurationKeyError
from obstore.store import S3Store

from gossamer import atomic
from gossamer.archive.segments import Opening, check, next_name
from gossamer.archive.storage import ArchiveDamaged
from gossamer.interfaces import Unreachable
from gossamer.records import Place
from gossamer.settings import ArchiveSettings

CHUNK_BYTES = 8 << 20  # of a read, and of a part of a large object
PARTS_MAX = 9_000  # S3 takes 10,000 parts of an object
LIST_AT_ONCE = 1_000
PUTS_AT_ONCE, PARTS_AT_ONCE = 16, 2
OWNER_EVERY = 50  # groups that are written before a look whether another crawl writes here, too: some ten seconds
REMOVE_AT_ONCE = 1_000  # what one request of S3 takes
ROLES = "//169.254.169.254/"  # where a machine in a cloud asks for its role: whoever was given no key is asked there
PASSING = {408, 429}  # and all from 500 on
# Of the connection rather than of the store; the others go to the store as they are.
CLIENT_OPTIONS = {"allow_http", "allow_invalid_certificates", "connect_timeout", "proxy_url", "timeout", "user_agent"}


class ArchiveRefused(OSError):
    """The object store does not want us, or does not know what we speak of."""


class Owner(msgspec.Struct, frozen=True):
    """Who opened a partition last."""

    id: str
    who: str


class BucketStorage:
    def __init__(self, url: str, options: Mapping[str, str], *, noun: str = "the archive") -> None:
        """`noun`: what messages call it."""
        if urlsplit(url).scheme not in ("s3", "s3a") or not urlsplit(url).netloc:
            raise ArchiveRefused(f"archive.url = {url!r} is not like s3://bucket/prefix")
        self.where = url.rstrip("/")
        self._noun = noun
        self._claims: dict[int, str] = {}  # the partitions that we write, and what we are called there
        # The endpoint may come from the environment, too; whoever names one with http:// wants it so.
        client: dict[str, Any] = {"connect_timeout": "5s", "timeout": "30s", "allow_http": True}
        client |= {name: value for name, value in options.items() if name in CLIENT_OPTIONS}
        config: dict[str, Any] = {name: value for name, value in options.items() if name not in CLIENT_OPTIONS}
        try:
            self._store = S3Store.from_url(
                self.where,
                config=config,  # type: ignore[arg-type]  # it says itself what it does not know
                client_options=client,  # type: ignore[arg-type]
                # A hiccup is nobody's business. Longer waits are the crawl's: it has to say why it waits.
                retry_config={
                    "max_retries": 3,
                    "retry_timeout": timedelta(seconds=10),
                    "backoff": {"init_backoff": timedelta(seconds=0.2), "max_backoff": timedelta(seconds=2)},
                },
            )
        except (UnknownConfigurationKeyError, GenericError) as fault:
            raise ArchiveRefused(f"archive.options: {first_line(fault)}") from fault

    def __repr__(self) -> str:
        return f"BucketStorage({self.where})"

    def names(self, prefix: str = "") -> Iterator[str]:
        return (name for name, _ in self.sizes(prefix))

    def sizes(self, prefix: str = "") -> Iterator[tuple[str, int]]:
        # The store's own prefixes are whole folders; the rest of one is asked for by where to begin. One character
        # less, because a folder of that very name would be passed over.
        above, _, rest = prefix.rpartition("/")
        begin = prefix[:-1] if rest else ""
        with self._faults():
            for some in self._store.list(above or None, offset=begin or None, chunk_size=LIST_AT_ONCE):
                for each in some:
                    name = each["path"]
                    if not name.startswith(prefix):
                        if name > prefix:
                            return
                        continue
                    yield name, each["size"]

    def size(self, name: str) -> int:
        with self._faults():
            return self._store.head(name)["size"]

    def stamp(self, name: str) -> str:
        """Another one whenever the object was written."""
        with self._faults():
            head = self._store.head(name)
            return f"{head['size']} bytes, {head['e_tag']}, {head['last_modified']}"

    def read(self, name: str, offset: int, length: int) -> bytes:
        if length <= 0:
            return b""
        with self._faults():
            try:
                return bytes(self._store.get_range(name, start=offset, length=length))
            except GenericError as fault:
                if status_of(fault) == 416:  # nothing lies behind that offset
                    return b""
                raise

    def chunks(self, name: str, offset: int = 0) -> Iterator[bytes]:
        """By ranges rather than one long answer: a reader may take its time between them."""
        while chunk := self.read(name, offset, CHUNK_BYTES):
            yield chunk
            offset += len(chunk)
            if len(chunk) < CHUNK_BYTES:
                return

    def put(self, name: str, parts: Iterable[bytes], bytes_max: int = 0) -> None:
        part_bytes = max(CHUNK_BYTES, bytes_max // PARTS_MAX)
        with self._faults():
            file = open_writer(self._store, name, buffer_size=part_bytes, max_concurrency=PARTS_AT_ONCE)
            for part in parts:
                file.write(part)
            file.close()  # only now it is there; what fails before leaves nothing that anybody sees

    async def put_new(self, name: str, content: bytes | bytearray, partition: int) -> None:
        """Durable when it returns. A name that exists is not overwritten."""
        while True:
            with self._faults():
                try:
                    await self._store.put_async(name, content, mode="create")
                    return
                except AlreadyExistsError:
                    there = await self._store.get_async(name)
                    if bytes(await there.bytes_async()) == content:
                        return  # we ourselves, and the answer was lost
                    await self.check_owner(partition)
                    # The name has our own epoch: a try of ours that failed, and whose request was carried out late.
                    await self._store.delete_async(name)

    async def create(self, name: str, content: bytes) -> bool:
        with self._faults():
            try:
                await self._store.put_async(name, content, mode="create")
            except AlreadyExistsError:
                there = await self._store.get_async(name)
                return bytes(await there.bytes_async()) == content  # we ourselves, and the answer was lost
            return True

    def modified_at(self, name: str) -> float:
        with self._faults():
            return self._store.head(name)["last_modified"].timestamp()

    async def check_owner(self, partition: int) -> None:
        """Raises where another crawl has opened a partition since we did."""
        with self._faults():
            owner = await self._owner(partition)
        if owner.id != self._claims.get(partition, ""):
            raise ArchiveDamaged(
                f"{self.where} is written by another crawl, too: {owner.who} has opened partition {partition} since. "
                "Nothing was overwritten. Give one of them an archive.url of its own"
            )

    async def _owner(self, partition: int) -> Owner:
        try:
            there = await self._store.get_async(owner_name(partition))
            return msgspec.json.decode(bytes(await there.bytes_async()), type=Owner)
        except (FileNotFoundError, msgspec.DecodeError):
            return Owner("", "")

    async def claim(self, partition: int, note: Path, who: str, *, take_over: bool = False) -> None:
        try:
            noted = msgspec.json.decode(note.read_bytes(), type=list[str])
        except (FileNotFoundError, msgspec.DecodeError):
            noted = []
        with self._faults():
            found = await self._owner(partition)
            if found.id and found.id not in noted and not take_over:
                raise ArchiveDamaged(
                    f"{self.where} is written by another crawl: {found.who} has opened partition {partition} since. "
                    "Nothing was touched. A copy of a crawl needs an archive.url of its own; where the other one is "
                    f"gone for good, remove {self.where}/{owner_name(partition)}"
                )
            owner = Owner(token_hex(16), who)
            atomic.make_folder(note.parent)
            atomic.replace(note, msgspec.json.encode([found.id, owner.id]))  # both, in case we die before the next
            await self._store.put_async(owner_name(partition), msgspec.json.encode(owner))
            self._claims[partition] = owner.id

    def remove(self, names: Iterable[str]) -> None:
        every = list(names)
        for first in range(0, len(every), REMOVE_AT_ONCE):
            with self._faults():
                self._store.delete(every[first : first + REMOVE_AT_ONCE])

    def tidy(self) -> None:
        """Nothing is to be seen of what was not written whole."""

    @contextmanager
    def _faults(self) -> Iterator[None]:
        try:
            yield
        except FileNotFoundError as fault:
            if code_of(fault) == "NoSuchBucket":
                raise ArchiveRefused(f"{self._noun} at {self.where} is refused: {story_of(fault)}") from fault
            raise FileNotFoundError(f"{self.where}: {first_line(fault)}") from fault
        except BaseError as fault:
            status = status_of(fault)
            if status is None or status >= 500 or status in PASSING:
                raise Unreachable(f"{self._noun} at {self.where} does not answer: {story_of(fault)}") from fault
            raise ArchiveRefused(f"{self._noun} at {self.where} is refused: {story_of(fault)}") from fault


class BucketSegments:
    """Implements `segments.Segments`: every group is an object of its own."""

    def __init__(self, storage: BucketStorage, partition: int, epoch: int, opening: Opening) -> None:
        self.end: Place | None = None
        self._storage = storage
        self._partition = partition
        self._epoch = epoch
        self._opening = opening
        self._appended = 0

    async def append(self, group: bytes | bytearray, at: float) -> Place:
        self._appended += 1
        if self._appended % OWNER_EVERY == 0:
            await self._storage.check_owner(self._partition)
        file = next_name(self.end, self._partition, self._epoch)
        opening = self._opening(file, at)
        await self._storage.put_new(file, opening + group, self._partition)
        self.end = Place(file, len(opening) + len(group), 0)
        return Place(file, len(opening), len(group))

    async def go_back(self, end: Place | None) -> None:
        # Objects behind the end may stay: the same pages are saved again, and make the same objects.
        self.end = end

    async def recover(self, end: Place | None) -> list[str]:
        await asyncio.to_thread(self._check, end)
        self.end = end
        return []  # whatever is behind the end has the epoch of an earlier owner, and readers pass it over

    def _check(self, end: Place | None) -> None:
        if end is None:
            next(self._storage.names(), None)  # of a bucket that is not there one hears only by a list
        else:
            check(end, self._size(end.file) or 0, f"{self._storage.where}/{end.file}", self._partition)

    def _size(self, name: str) -> int | None:
        try:
            return self._storage.size(name)
        except FileNotFoundError:
            return None

    def close(self) -> None:
        pass


def owner_name(partition: int) -> str:
    return f"{partition:03d}.owner"


# ---- what obstore says -----------------------------------------------------------------------------------


def status_of(fault: Exception) -> int | None:
    """None: there was no answer."""
    found = re.search(r"non-2xx status code: (\d{3})", str(fault))
    return int(found[1]) if found else None


def code_of(fault: Exception) -> str:
    found = re.search(r"<Code>([^<]*)</Code>", str(fault))
    return found[1] if found else ""


def story_of(fault: Exception) -> str:
    """Why, in one line for a person."""
    text = str(fault)
    status = status_of(fault)
    if ROLES in text:
        return "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY are not set, and this machine has no role"
    if status is not None:
        said = re.search(r"<Message>([^<]*)</Message>", text)
        hint = "see AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY" if status in (401, 403) else ""
        return " ".join(filter(None, [f"status {status}", code_of(fault), f"({said[1]})" if said else "", hint]))
    if "ConnectionRefused" in text:
        return "connection refused"
    if "dns error" in text:
        return "its name has no address"
    if "TimedOut" in text or "kind: Timeout" in text:
        return "no answer in time"
    return first_line(fault)


def first_line(fault: Exception) -> str:
    return str(fault).strip().partition("\n")[0]


def open_state(settings: ArchiveSettings) -> BucketStorage:
    """Where the nodes of a cluster keep what is not archive: ownership records and snapshots, beside it."""
    return BucketStorage(f"{settings.url.rstrip('/')}-state", settings.options, noun="the state of the cluster")
