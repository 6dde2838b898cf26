"""The partition reader: reading a partition's state, from within and from without.

The frontier reads through it, and so do `status`, `pages`, `hosts` and `why` on a store opened read-only, whether the
crawl is running or not. Nothing here writes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import islice

import msgspec

from gossamer.frontier.disk.tables import (
    HOST_KEY_BYTES,
    OUTAGE,
    URL_KEY_BYTES,
    Meta,
    Site,
    decode_claims,
    decode_host,
    decode_jar,
    decode_meta,
    decode_note,
    decode_robots,
    decode_site,
    decode_url_record,
    entry_of,
    is_apart,
    is_position,
    jar_key,
    key_in,
    level_of,
    moment_of,
    url_key,
    url_record_in,
)
from gossamer.interfaces import Store
from gossamer.records import Claim, Host, RobotsCopy, State, Url, UrlRecord
from gossamer.visitor.cookies import Jar

DUE_READ_MAX = 200


class PartitionReader:
    def __init__(self, store: Store) -> None:
        self._store = store

    def meta(self) -> Meta:
        value = self._store.get("meta", b"meta")
        return decode_meta(value) if value is not None else Meta()

    def claims(self) -> list[Claim]:
        """Of the last batch that finished anything."""
        value = self._store.get("meta", b"claims")
        return decode_claims(value) if value is not None else self.meta().claims

    @property
    def has_anything(self) -> bool:
        """Whether anything was ever written: no batch is without the partition's counters."""
        return self._store.get("meta", b"meta") is not None

    def plans(self) -> bytes | None:
        """What the planner of the partition knows."""
        return self._store.get("meta", b"plans")

    def levels(self) -> dict[int, int]:
        """How many hosts stand at each level of the front: for states that have not counted them."""
        return dict(Counter(level_of(key) for key, _ in self._store.scan("front") if not is_apart(key)))

    def known(self, key: bytes) -> UrlRecord | None:
        value = self._store.get("urls", key)
        return self.read(key, value) if value is not None else None

    def known_among(self, keys: list[bytes]) -> dict[bytes, UrlRecord]:
        return self.read_many(self.stored_among(keys))

    def stored_among(self, keys: list[bytes]) -> dict[bytes, bytes]:
        """What `urls` has of them: records, and where those stand that were never asked for."""
        found = zip(keys, self._store.get_many("urls", keys), strict=True)
        return {key: value for key, value in found if value is not None}

    def read_many(self, stored: dict[bytes, bytes]) -> dict[bytes, UrlRecord]:
        """What `stored_among` found, read to the end, in one look into the queues."""
        queued = [key for key, value in stored.items() if is_position(value)]
        entries = self._store.get_many("queue", [entry_of(key, stored[key]) for key in queued])
        found = dict(zip(queued, entries, strict=True))
        return {
            key: self._queued(key, found[key]) if key in found else decode_url_record(value)
            for key, value in stored.items()
        }

    def read(self, key: bytes, value: bytes) -> UrlRecord:
        """What `urls` has of a URL, read to the end."""
        if not is_position(value):
            return decode_url_record(value)
        return self._queued(key, self._store.get("queue", entry_of(key, value)))

    def _queued(self, key: bytes, entry: bytes | None) -> UrlRecord:
        known = url_record_in(entry) if entry is not None else None
        assert known is not None, f"not where it should stand: {key.hex()}"
        return known

    def host(self, key: bytes) -> Host | None:
        value = self._store.get("hosts", key)
        return decode_host(value) if value is not None else None

    def site(self, name: str) -> Site:
        value = self._store.get("sites", name.encode())
        return decode_site(value) if value is not None else Site()

    def jar(self, site: str) -> Jar:
        value = self._store.get("sites", jar_key(site))
        return decode_jar(value) if value is not None else ()

    def robots(self, origin: str) -> RobotsCopy | None:
        value = self._store.get("robots", origin.encode())
        return decode_robots(value) if value is not None else None

    def state(self, url: Url) -> UrlRecord | None:
        """All that is known of a URL; None: it was never accepted."""
        key = url_key(url)
        known = self.known(key)
        if known is not None and known.state is State.QUEUED and key in self.keys_in_flight():
            return msgspec.structs.replace(known, state=State.IN_FLIGHT)
        return known

    def all_url_records(self, start: bytes = b"", prefix: bytes = b"") -> Iterator[tuple[bytes, UrlRecord]]:
        for key, value in self._store.scan("urls", start, prefix):
            yield key, self.read(key, value)

    def all_asked(self) -> Iterator[UrlRecord]:
        """Those that were never asked for are passed over, most of them unread."""
        for _, value in self._store.scan("urls"):
            if not is_position(value) and (known := decode_url_record(value)).fetched_at is not None:
                yield known

    def queued(self, host: bytes) -> Iterator[UrlRecord]:
        """The URLs of a host, best first."""
        for entry, value in self._store.scan("queue", prefix=host):
            known = url_record_in(value) or self.known(key_in(entry, value))
            assert known is not None, f"queued but unknown: {entry.hex()}"
            yield known

    def resting(self, most: int) -> dict[bytes, float]:
        """Hosts that rest, or of which URLs wait for the end of an outage: until when, the soonest first.

        Only the first of what waits is looked at, so that this takes microseconds however much that is."""
        found: dict[bytes, float] = {}
        for due, kind in islice(self._store.scan("due"), DUE_READ_MAX):
            key = due[8:]
            if len(key) == HOST_KEY_BYTES or kind == OUTAGE:
                found.setdefault(key[:HOST_KEY_BYTES], moment_of(due))
                if len(found) == most:
                    break
        return found

    def all_hosts(self) -> Iterator[Host]:
        for _, value in self._store.scan("hosts"):
            yield decode_host(value)

    def quarantined(self) -> Iterator[UrlRecord]:
        for key, _ in self._store.scan("quarantine"):
            known = self.known(key)
            assert known is not None, f"in quarantine but unknown: {key.hex()}"
            yield known

    def in_flight(self) -> int:
        return sum(1 for _ in self.keys_in_flight())

    def keys_in_flight(self) -> Iterator[bytes]:
        for turn, note in self._store.scan("leases"):
            if len(turn) != URL_KEY_BYTES:  # else it is a booked turn
                yield from (key for entry, key in decode_note(note).entries if self._store.get("queue", entry))
