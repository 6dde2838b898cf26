"""The schema of a partition's store: every table, its key and its value.

    urls        URL key                  -> Known        every accepted URL, whatever its state
                                         -> rank, turn, depth, octave of its credit
                                                         one that was never asked for: its Known is in `queue`
    queue       host key, rank, turn     -> URL key      the back queues: one range of keys per host, best first
                                         -> URL hash, Known      of one that was never asked for
    hosts       host key                 -> Host         clocks and counters of every host ever met
    sites       site                     -> Site         counters of every site ever met
    front       level, turn              -> host key     hosts with something queued: best level first, then oldest
    leases      turn                     -> LeaseNote    URLs handed out together, until the last of them is finished
                host key and zeros       -> nothing      a turn given away for something else than a page
    due         moment in ms, key        -> nothing      URLs that wait for another try, and hosts that rest
    again       moment in ms, URL key    -> nothing      pages that are to be visited again
    quarantine  URL key                  -> nothing      URLs that killed their workers
    robots      origin                   -> RobotsCopy
    patterns    host key                 -> {pattern: Pattern}   how many of its pages were alike, see patterns.py
    meta        "meta"                   -> Meta         counters, last turn, end of the archive, last claims
                "plans"                  -> Books        credit and census of the partition, see schedule/planner.py

A URL key is its host's key (8 bytes) and a hash of the URL (12 bytes), so that one host's URLs lie together: the
links of a page mostly stay on its host, and looking them up touches few blocks. Numbers are big-endian, so that
byte order is number order. A billion URLs collide with a chance of about 1 in 10^11.

Most URLs of a large crawl wait for their first fetch. Their record is needed when their turn comes, and stands where
it is read then: in the queue, next to those that are read with it. What `urls` holds of them is small, so that the
links that lead to them again are looked up in few blocks. From the first fetch on the record is in `urls`.

Beside the store lie two files: `seen.bloom` (seen.py) and `processing` (recorder.py).
"""

from __future__ import annotations

import math
import struct
from hashlib import blake2b

import msgspec

from gossamer.records import Claim, Host, Known, Place, RobotsCopy, Url
from gossamer.url.site import host_of

TABLES = (
    *("urls", "queue", "hosts", "sites", "front", "leases", "due", "again", "quarantine", "robots", "patterns"),
    "meta",
)

HOST_KEY_BYTES = 8
URL_KEY_BYTES = 20
URL_HASH_BYTES = URL_KEY_BYTES - HOST_KEY_BYTES
STANDING_BYTES = 16  # rank, turn, depth, octave; a Known is longer


class LeaseNote(msgspec.Struct, frozen=True, array_like=True):
    """What has to survive a crash about URLs in flight. Those whose queue entry is gone are finished."""

    entries: list[tuple[bytes, bytes]]  # queue key, URL key
    expires_at: float


class Site(msgspec.Struct):
    """A site's counters: its hosts share a budget."""

    pages: int = 0


class Totals(msgspec.Struct):
    """Counters of a partition, written in the same batch as what they count."""

    known: int = 0
    queued: int = 0  # in flight included: they are queued until they are finished
    waiting: int = 0
    pages: int = 0
    moved: int = 0
    failed: int = 0
    refused: int = 0
    quarantined: int = 0
    duplicates: int = 0
    requests: int = 0
    bytes: int = 0
    hosts: int = 0
    bytes_saved: int = 0  # of duplicates: received, and not stored again
    again: int = 0  # pages that wait for their next visit
    revisits: int = 0  # of those queued, pages that were fetched before
    visits: int = 0  # of pages that were fetched before: they are not counted as pages again
    reasons: dict[str, int] = {}  # refusals and failures of accepted URLs
    turned_away: dict[str, int] = {}  # links that the door did not let in


class Meta(msgspec.Struct):
    """What a partition knows of itself, as one value: it is read once and written with every batch."""

    turn: int = 0
    totals: Totals = msgspec.field(default_factory=Totals)
    archive_end: Place | None = None
    claims: list[Claim] = []  # of the last batch: settled again after a crash, see process/duplicates.py
    levels: dict[int, int] | None = None  # hosts in `front` by their level; None: written before they were counted


_packed_place = struct.Struct(">IQ").pack  # of an entry in a queue: its rank, then its turn

encode = msgspec.msgpack.Encoder().encode
decode_known = msgspec.msgpack.Decoder(Known).decode
decode_host = msgspec.msgpack.Decoder(Host).decode
decode_site = msgspec.msgpack.Decoder(Site).decode
decode_robots = msgspec.msgpack.Decoder(RobotsCopy).decode
decode_note = msgspec.msgpack.Decoder(LeaseNote).decode
decode_meta = msgspec.msgpack.Decoder(Meta).decode


def is_short(known: Known) -> bool:
    """Whether it was never asked for: then half of its fields are empty.

    Only what a seed says of itself stands at the very end, because it came into the records last."""
    if known.attempts or known.kills or known.fetched_at is not None:
        return False
    return known.max_depth is None and known.priority is None


def queued(key: bytes, known: Known) -> bytes:
    """The record of a URL as its queue has it, without the fields that are empty: an array may end early."""
    return key[HOST_KEY_BYTES:] + encode(
        (
            known.url,
            known.state,
            known.reason,
            known.detail,
            known.depth,
            known.chain,
            known.source,
            known.found_at,
            known.context,
            known.is_sitemap,
            known.credit,
        )
    )


def host_key(host: str) -> bytes:
    return blake2b(host.encode(), digest_size=HOST_KEY_BYTES).digest()


def url_hash(url: Url) -> bytes:
    return blake2b(url.encode(), digest_size=URL_HASH_BYTES).digest()


def url_key(url: Url) -> bytes:
    return host_key(host_of(url)) + url_hash(url)


def booking_key(host: bytes) -> bytes:
    """Stands in `leases` for a turn that was given away for something else than a page."""
    return host + bytes(URL_HASH_BYTES)


def lease_key(turn: int) -> bytes:
    return turn.to_bytes(8, "big")


def queue_key(host: bytes, rank: int, turn: int) -> bytes:
    return host + _packed_place(rank, turn)


def rank_of(key: bytes) -> int:
    return int.from_bytes(key[8:12], "big")


# ---- where a URL stands that was never asked for, as `urls` has it


def standing_at(entry: bytes, known: Known) -> bytes:
    return entry[HOST_KEY_BYTES:] + (known.depth << 8 | known.credit.bit_length()).to_bytes(4, "big")


def is_standing(value: bytes) -> bool:
    """Whether this is where a URL stands that was never asked for, and not its record."""
    return len(value) == STANDING_BYTES


def entry_of(key: bytes, standing: bytes) -> bytes:
    """Its key in `queue`."""
    return key[:HOST_KEY_BYTES] + standing[:12]


def depth_of(standing: bytes) -> int:
    return int.from_bytes(standing[12:15], "big")


def octave_of(standing: bytes) -> int:
    """Of its credit."""
    return standing[15]


def key_in(entry: bytes, value: bytes) -> bytes:
    """The URL key of a queue entry."""
    return value if len(value) == URL_KEY_BYTES else entry[:HOST_KEY_BYTES] + value[:URL_HASH_BYTES]


def known_in(value: bytes) -> Known | None:
    """None: it was asked for before, and its record is in `urls`."""
    return decode_known(value[URL_HASH_BYTES:]) if len(value) > URL_KEY_BYTES else None


def front_key(level: int, turn: int) -> bytes:
    return level_name(level) + turn.to_bytes(8, "big")


def level_name(level: int) -> bytes:
    return level.to_bytes(2, "big")


def level_of(key: bytes) -> int:
    return int.from_bytes(key[:2], "big")


def due_key(moment: float, key: bytes) -> bytes:
    return math.ceil(moment * 1000).to_bytes(8, "big") + key


def moment_of(key: bytes) -> float:
    return int.from_bytes(key[:8], "big") / 1000
