"""A bucket of an object store as a shelf: S3 and what speaks like it, through obstore.

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
finds his name taken looks whether it was himself.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit

from obstore import open_writer
from obstore.exceptions import AlreadyExistsError, BaseError, GenericError, UnknownConfigurationKeyError
from obstore.store import S3Store

from gossamer.archive.series import Opening, check, next_name
from gossamer.archive.shelf import Contents
from gossamer.interfaces import Unreachable
from gossamer.records import Body, Place

CHUNK_BYTES = 8 << 20  # of a read, and of a part of a large object
PARTS_MAX = 9_000  # S3 takes 10,000 parts of an object
LIST_AT_ONCE = 1_000
PUTS_AT_ONCE, PARTS_AT_ONCE = 16, 2
REMOVE_AT_ONCE = 1_000  # what one request of S3 takes
PASSING = {408, 429}  # and all from 500 on
# Of the connection rather than of the store; the others go to the store as they are.
CLIENT_OPTIONS = {"allow_http", "allow_invalid_certificates", "connect_timeout", "proxy_url", "timeout", "user_agent"}


class ArchiveRefused(OSError):
    """The object store does not want us, or does not know what we speak of."""


class BucketShelf:
    def __init__(self, url: str, options: Mapping[str, str]) -> None:
        if urlsplit(url).scheme not in ("s3", "s3a") or not urlsplit(url).netloc:
            raise ArchiveRefused(f"archive.url = {url!r} is not like s3://bucket/prefix")
        self.where = url.rstrip("/")
        client: dict[str, Any] = {"connect_timeout": "5s", "timeout": "30s"}
        client["allow_http"] = options.get("endpoint", "").startswith("http://")
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
        return f"BucketShelf({self.where})"

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

    async def put_contents(self, contents: Contents) -> None:
        at_once = asyncio.Semaphore(PUTS_AT_ONCE)

        async def put(name: str, content: Body, media_type: str) -> None:
            async with at_once:
                with self._faults(), suppress(AlreadyExistsError):
                    attributes = {"Content-Type": media_type} if media_type else None
                    await self._store.put_async(name, content, attributes=attributes, mode="create")

        await asyncio.gather(*(put(name, *content) for name, content in contents.items()))

    async def put_new(self, name: str, content: bytes | bytearray) -> None:
        """Like `put_contents` for a name that says nothing of the content. Somebody else's is replaced."""
        while True:
            with self._faults():
                try:
                    await self._store.put_async(name, content, mode="create")
                    return
                except AlreadyExistsError:
                    # We ourselves, and the answer was lost; or somebody who died before he could commit it.
                    there = await self._store.get_async(name)
                    if bytes(await there.bytes_async()) == content:
                        return
                    await self._store.delete_async(name)

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
                raise ArchiveRefused(f"the archive at {self.where} is refused: {story_of(fault)}") from fault
            raise FileNotFoundError(f"{self.where}: {first_line(fault)}") from fault
        except BaseError as fault:
            status = status_of(fault)
            if status is None or status >= 500 or status in PASSING:
                raise Unreachable(f"the archive at {self.where} does not answer: {story_of(fault)}") from fault
            raise ArchiveRefused(f"the archive at {self.where} is refused: {story_of(fault)}") from fault


class BucketSeries:
    """Implements `series.Series`: every group is an object of its own."""

    def __init__(self, shelf: BucketShelf, partition: int, kind: str, opening: Opening) -> None:
        self.end: Place | None = None
        self._shelf = shelf
        self._partition = partition
        self._kind = kind
        self._opening = opening

    async def append(self, group: bytes | bytearray, at: float) -> Place:
        file = next_name(self.end, self._partition, self._kind)
        opening = self._opening(file, at)
        await self._shelf.put_new(file, opening + group)
        self.end = Place(file, len(opening) + len(group), 0)
        return Place(file, len(opening), len(group))

    async def go_back(self, end: Place | None) -> None:
        # Objects behind the end may stay: they are the next to be written, and `put_new` takes or replaces them.
        self.end = end

    async def recover(self, end: Place | None) -> None:
        await asyncio.to_thread(self._recover, end)

    def _recover(self, end: Place | None) -> None:
        if end is None:
            next(self._shelf.names(), None)  # of a bucket that is not there one hears only by a list
        else:
            path = f"{self._shelf.where}/{end.file}"
            check(end, self._size(end.file) or 0, path, self._partition, self._kind)
        # They were written one after the other; taken away from the last one on, so that none is ever overlooked.
        # Asked for one by one: a list would be of all that the partition ever wrote.
        behind: list[str] = []
        while self._size(name := next_name(Place(behind[-1], 0, 0) if behind else end, self._partition, self._kind)):
            behind.append(name)
        for name in reversed(behind):
            self._shelf.remove([name])
        self.end = end

    def _size(self, name: str) -> int | None:
        try:
            return self._shelf.size(name)
        except FileNotFoundError:
            return None

    def close(self) -> None:
        pass


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
    if status is not None:
        said = re.search(r"<Message>([^<]*)</Message>", text)
        return " ".join(filter(None, [f"status {status}", code_of(fault), f"({said[1]})" if said else ""]))
    if "ConnectionRefused" in text:
        return "connection refused"
    if "dns error" in text:
        return "its name has no address"
    if "TimedOut" in text or "kind: Timeout" in text:
        return "no answer in time"
    return first_line(fault)


def first_line(fault: Exception) -> str:
    return str(fault).strip().partition("\n")[0]
