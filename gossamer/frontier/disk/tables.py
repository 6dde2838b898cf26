"""The schema of a partition's store: every table, its key and its value.

    urls        URL key                  -> UrlRecord        every accepted URL, whatever its state
                                         -> order, turn, depth, octave of its credit
                                                         one that was never asked for: its record is in `queue`
    queue       host key, order, turn     -> URL key      the back queues: one range of keys per host, best first
                                         -> URL hash, UrlRecord  of one that was never asked for
    hosts       host key                 -> Host         clocks and counters of every host ever met
    sites       site                     -> Site         counters of every site ever met
                "cookies " and site      -> [Cookie]     its jar (gossamer/visitor/cookies.py), where cookies are kept
    front       level, turn              -> host key     hosts with something queued: best level first, then oldest
                APART + level, turn      -> host key     the same of hosts that rest or have to wait for long
    leases      turn                     -> LeaseNote    URLs handed out together, until the last of them is finished
                host key and zeros       -> nothing      a turn given away for something else than a page
    due         moment in ms, key        -> nothing      URLs that wait for another try, and hosts that rest
                                         -> "outage"     a URL that waits for the end of an outage, see due.py
    again       moment in ms, URL key    -> nothing      pages that are to be visited again
    quarantine  URL key                  -> nothing      URLs that killed their workers
    robots      origin                   -> RobotsCopy
    patterns    host key                 -> {pattern: Pattern}   how many of its pages were alike, see patterns.py
                host key, "render"       -> {pattern: Gain}  what rendering gained for them, see gains.py
    meta        "meta"                   -> Meta         counters, last turn, end of the archive
                "claims"                 -> [Claim]      of the last finish: settled again after a crash, see
                                                         process/fingerprints/duplicates.py
                "plans"                  -> Plans        credit and census of the partition, see schedule/plans.py
                "journal"                -> Mark         the last batch, where a journal follows the store (packed.py)
                "limits"                 -> Held         what refusals depend on, see lifted.py

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
from functools import lru_cache
from hashlib import blake2b
from operator import attrgetter

import msgspec

from gossamer.records import Claim, Host, Place, RobotsCopy, Url, UrlRecord
from gossamer.url.site import clock_name, host_of
from gossamer.visitor.cookies import Jar

TABLES = (
    *("urls", "queue", "hosts", "sites", "front", "leases", "due", "again", "quarantine", "robots", "patterns"),
    "meta",
)

Entry = tuple[bytes, bytes]  # key and value in the queue

HOST_KEY_BYTES = 8
TURN_BYTES = 8
URL_KEY_BYTES = 20
URL_HASH_BYTES = URL_KEY_BYTES - HOST_KEY_BYTES
HOSTS_REMEMBERED = 16_384  # their keys; an entry takes about 200 bytes
APART = 1 << 15  # levels are below: they sink by 36 a year
OUTAGE = b"outage"
INSTRUCTIONS_KEPT = 4
POSITION_BYTES = 16  # order, turn, depth, octave; a UrlRecord is longer


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
    reasons: dict[str, int] = {}  # refusals and failures of accepted URLs, and pages that could not be read
    turned_away: dict[str, int] = {}  # links that the link filter did not let in
    resting: int = 0  # of those queued and waiting, URLs never fetched that wait for the end of an outage
    resting_hosts: dict[str, int] = {}  # their hosts, by the failure behind it
    outcomes_ignored: dict[str, int] = {}  # of leases that were not out any more, by why (leases.Ignored)
    later: int = 0  # of those waiting, URLs never fetched that failed and are tried again

    @property
    def knows_anything(self) -> bool:
        """Whether a link ever arrived here, be it that none was let in."""
        return bool(self.known or self.turned_away)

    @property
    def open(self) -> int:
        """URLs that were never fetched, and that the crawl can do something about."""
        return self.queued - self.revisits + self.waiting - self.resting


class Meta(msgspec.Struct):
    """What a partition knows of itself, as one value: it is read once and written with every batch."""

    turn: int = 0
    totals: Totals = msgspec.field(default_factory=Totals)
    archive_end: Place | None = None
    claims: list[Claim] = []  # as an earlier version kept them: they are longer than all else, which is written often
    levels: dict[int, int] | None = None  # hosts in `front` by their level; None: written before they were counted
    written_at: float = 0.0  # the moment of the last batch, by the clock of then (clock_jumps.py)
    log_position: int = 0  # how far the link log was read
    epoch: int = 0  # of the last owner
    floor_at: float = (
        0.0  # when an owner came after one that may have asked hosts unnoted: their delays run from then
    )
    instructed: list[tuple[int, int]] = []  # in a cluster: the last instructions, and how many URLs each concerned

    def note_instruction(self, number: int, urls: int) -> None:
        before = [each for each in self.instructed if each[0] < number]
        self.instructed = [*before, (number, urls)][-INSTRUCTIONS_KEPT:]


_first_fields = attrgetter(*UrlRecord.__struct_fields__[: UrlRecord.__struct_fields__.index("attempts")])
_packed_place = struct.Struct(">IQ").pack  # of an entry in a queue: its order, then its turn

encode = msgspec.msgpack.Encoder().encode
decode_url_record = msgspec.msgpack.Decoder(UrlRecord).decode
decode_host = msgspec.msgpack.Decoder(Host).decode
decode_site = msgspec.msgpack.Decoder(Site).decode
decode_jar = msgspec.msgpack.Decoder(Jar).decode
decode_robots = msgspec.msgpack.Decoder(RobotsCopy).decode
decode_note = msgspec.msgpack.Decoder(LeaseNote).decode
decode_claims = msgspec.msgpack.Decoder(list[Claim]).decode
decode_meta = msgspec.msgpack.Decoder(Meta).decode


def is_short(known: UrlRecord) -> bool:
    """Whether it was never asked for: then half of its fields are empty.

    Only what a seed says of itself stands at the very end, because it came into the records last."""
    if known.attempts or known.kills or known.fetched_at is not None:
        return False
    return known.max_depth is None and known.priority is None


def queued(key: bytes, known: UrlRecord) -> bytes:
    """The record of a URL as its queue has it, without the fields that are empty: an array may end early."""
    return key[HOST_KEY_BYTES:] + encode(_first_fields(known))


@lru_cache(HOSTS_REMEMBERED)  # links lead to the same hosts again and again
def host_key(host: str) -> bytes:
    return blake2b(clock_name(host).encode(), digest_size=HOST_KEY_BYTES).digest()


def jar_key(site: str) -> bytes:
    """In the table of sites; no name of a site has a space."""
    return b"cookies " + site.encode()


def url_hash(url: Url) -> bytes:
    return blake2b(url.encode(), digest_size=URL_HASH_BYTES).digest()


def url_key(url: Url) -> bytes:
    return host_key(host_of(url)) + url_hash(url)


def booking_key(host: bytes) -> bytes:
    """Stands in `leases` for a turn that was given away for something else than a page."""
    return host + bytes(URL_HASH_BYTES)


def lease_key(turn: int) -> bytes:
    """Of the note of URLs handed out together. With the key of one of them behind it, it is the id of its lease: a
    turn is never given twice (recovery.py), so no two leases have the same, in all partitions."""
    return turn.to_bytes(TURN_BYTES, "big")


def queue_key(host: bytes, order: int, turn: int) -> bytes:
    return host + _packed_place(order, turn)


def order_of(key: bytes) -> int:
    return int.from_bytes(key[8:12], "big")


# ---- where a URL stands that was never asked for, as `urls` has it


def position_at(entry: bytes, known: UrlRecord) -> bytes:
    return entry[HOST_KEY_BYTES:] + (known.depth << 8 | known.credit.bit_length()).to_bytes(4, "big")


def is_position(value: bytes) -> bool:
    """Whether this is where a URL stands that was never asked for, and not its record."""
    return len(value) == POSITION_BYTES


def entry_of(key: bytes, position: bytes) -> bytes:
    """Its key in `queue`."""
    return key[:HOST_KEY_BYTES] + position[:12]


def depth_of(position: bytes) -> int:
    return int.from_bytes(position[12:15], "big")


def octave_of(position: bytes) -> int:
    """Of its credit."""
    return position[15]


def key_in(entry: bytes, value: bytes) -> bytes:
    """The URL key of a queue entry."""
    return value if len(value) == URL_KEY_BYTES else entry[:HOST_KEY_BYTES] + value[:URL_HASH_BYTES]


def url_record_in(value: bytes) -> UrlRecord | None:
    """None: it was asked for before, and its record is in `urls`."""
    return decode_url_record(value[URL_HASH_BYTES:]) if len(value) > URL_KEY_BYTES else None


def front_key(level: int, turn: int) -> bytes:
    return level_name(level) + turn.to_bytes(8, "big")


def is_apart(front_key: bytes) -> bool:
    return front_key[:2] >= level_name(APART)


def level_name(level: int) -> bytes:
    return level.to_bytes(2, "big")


def level_of(key: bytes) -> int:
    return (key[0] << 8 | key[1]) % APART


def due_key(moment: float, key: bytes) -> bytes:
    return math.ceil(moment * 1000).to_bytes(8, "big") + key


def moment_of(key: bytes) -> float:
    return int.from_bytes(key[:8], "big") / 1000
