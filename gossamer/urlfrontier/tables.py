"""The schema of a frontier's store.

    urls     URL key                        -> queue, date, turn, made at      every URL, whatever its state
    queue    queue, date, turn              -> URLInfo                         waits; the oldest date of a queue first
    leases   end in µs, turn                -> queue, date, URLInfo            in process until then
    done     queue, turn                    -> URLInfo                         never again, by its client's word
    queues   queue                          -> QueueRecord                     what was said about a queue
    counts   queue                          -> active, completed, clock in µs  of each queue, as of the last batch
    crawls   crawl                          -> its name
    meta     "service"                      -> ServiceRecord                   what was said about the whole
             "totals"                       -> last turn, URLs

A URL key is the number of its crawl (4 bytes) and a hash of both (16 bytes): a URL is known once a crawl. Numbers are
big-endian, so that byte order is number order. A queue has a number (8 bytes) that is never used again: what is left
of a deleted queue is nobody's, and is swept away in small steps.

A turn is the number of a change of a URL. Among equal dates the lower turn comes first, and with the date of its URL
it says where the URL stands: `done` if the date is 0, `leases` if the turn is in process, else `queue`. URLInfo is
the message of the .proto, as it is sent: nothing is encoded when a URL is handed out.
"""

from __future__ import annotations

from hashlib import blake2b
from struct import Struct
from typing import NamedTuple

import msgspec

TABLES = ("urls", "queue", "leases", "done", "queues", "counts", "crawls", "meta")
SERVICE, TOTALS = b"service", b"totals"
MICROSECONDS = 1_000_000

_RECORD, _PLACE, _NUMBER, _PAIR, _COUNTS = (
    Struct(">QQQI"),
    Struct(">QQQ"),
    Struct(">Q"),
    Struct(">QQ"),
    Struct(">QQQ"),
)
PAIR_BYTES = _PAIR.size

number, number_in = _NUMBER.pack, _NUMBER.unpack_from
place = _PLACE.pack  # queue, date, turn
pair, pair_in = _PAIR.pack, _PAIR.unpack_from  # a lease: end, turn; in its value: queue, date; `done`: queue, turn
counts, counts_in = _COUNTS.pack, _COUNTS.unpack  # active, completed, clock
packed = _RECORD.pack


class UrlRecord(NamedTuple):
    queue: int
    date: int  # from when on it is due, in seconds; 0: never
    turn: int
    made_at: int  # in seconds


def url_record(value: bytes) -> UrlRecord:
    return UrlRecord(*_RECORD.unpack(value))


def crawl_prefix(crawl: int) -> bytes:
    return crawl.to_bytes(4, "big")


def url_key(prefix: bytes, url: str) -> bytes:
    """`prefix`: of its crawl."""
    return prefix + blake2b(prefix + url.encode(), digest_size=16).digest()


class QueueRecord(msgspec.Struct, array_like=True):
    crawl: int
    key: str
    delay_s: int = -1  # -1: as the service says
    blocked_until: int = 0
    limit: int = 0  # URLs that may be completed; 0: any number
    is_deleted: bool = False  # what is left of it is swept away


class ServiceRecord(msgspec.Struct, array_like=True):
    is_active: bool = True
    delay_s: int = 1
    queues: int = 0  # numbers that were given
    crawls: int = 0


encode = msgspec.msgpack.Encoder().encode
queue_record = msgspec.msgpack.Decoder(QueueRecord).decode
service_record = msgspec.msgpack.Decoder(ServiceRecord).decode
