"""A frontier as lines of JSON: into a folder, and out of it, while no server has it.

A line is a `URLItem` as Protocol Buffers write it in JSON, or a URL by itself, which was discovered. Beside these
there are lines of ours, with what was said about a queue and about the whole:

    {"known":{"info":{"url":"https://a.example/","key":"a.example","crawlID":"DEFAULT"},"refetchableFromDate":"17"}}
    {"queue":{"crawlID":"DEFAULT","key":"a.example","delay":5,"blockedUntil":0,"limit":0}}
    {"service":{"active":true,"delay":1}}

What is in process is written as it was before: whoever reads it hands it out again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain, islice

import msgspec

from gossamer.config import UsageError
from gossamer.urlfrontier.frontier import Frontier
from gossamer.urlfrontier.intake import OK, Put
from gossamer.urlfrontier.listing import Listed, listed
from gossamer.urlfrontier.queues import DEFAULT_CRAWL, Queue
from gossamer.urlfrontier.urlfrontier_pb2 import StringList, URLInfo

STEP = 500
Whole = int | str  # 64 bits are a string in the JSON of Protocol Buffers


class Values(msgspec.Struct):
    values: list[str] = []


class InfoLine(msgspec.Struct, omit_defaults=True):
    url: str
    key: str = ""
    metadata: dict[str, Values] = {}
    crawlID: str = ""


class DiscoveredItem(msgspec.Struct):
    info: InfoLine


class KnownItem(msgspec.Struct, omit_defaults=True, rename="camel"):
    info: InfoLine
    refetchable_from_date: Whole = 0


class QueueSaid(msgspec.Struct, rename="camel"):
    key: str
    crawl_id: str = msgspec.field(default=DEFAULT_CRAWL, name="crawlID")
    delay: int = -1
    blocked_until: int = 0
    limit: int = 0


class ServiceSaid(msgspec.Struct):
    active: bool = True
    delay: int = 1


class Line(msgspec.Struct, omit_defaults=True, rename="camel"):
    discovered: DiscoveredItem | None = None
    known: KnownItem | None = None
    creation_date: Whole = 0
    queue: QueueSaid | None = None
    service: ServiceSaid | None = None


_line = msgspec.json.Decoder(Line).decode
_encode = msgspec.json.Encoder().encode


def exported(frontier: Frontier) -> Iterator[bytes]:
    """Its lines."""
    service = frontier.service
    yield _encode(Line(service=ServiceSaid(service.is_active, service.delay_s))) + b"\n"
    queues = list(frontier.queues.by_number.values())
    for some in listed(frontier.store, queues):
        for each in some:
            yield _encode(_url_line(each)) + b"\n"
    for queue in queues:
        if (said := _said(queue)) is not None:
            yield _encode(Line(queue=said)) + b"\n"


def _url_line(each: Listed) -> Line:
    metadata = {name: Values(list(values.values)) for name, values in each.info.metadata.items()}
    info = InfoLine(each.info.url, each.info.key, metadata, each.info.crawlID)
    return Line(known=KnownItem(info, str(each.record.date)), creation_date=str(each.record.made_at))


def _said(queue: Queue) -> QueueSaid | None:
    record = queue.record
    said = QueueSaid(record.key, queue.crawl.name, record.delay_s, record.blocked_until, record.limit)
    return said if said != QueueSaid(record.key, queue.crawl.name) else None


def imported(frontier: Frontier, lines: Iterable[bytes], name: str) -> tuple[int, int]:
    """How many URLs were taken, and how many not: they were known, or cannot be taken. `name`: of the file."""
    taken = passed_over = 0
    numbered = enumerate(lines, 1)
    while some := list(islice(numbered, STEP)):
        read = [_read(text, number, name) for number, text in some if text.strip()]
        puts = list(chain.from_iterable(_puts(line) for line in read))
        statuses = frontier.put(puts)
        taken += statuses.count(OK)
        passed_over += len(puts) - statuses.count(OK)
        for line in read:
            if line.queue is not None:
                said = line.queue
                frontier.tell(
                    *(said.crawl_id, said.key), delay_s=said.delay, blocked_until=said.blocked_until, limit=said.limit
                )
            if line.service is not None:
                frontier.set_active(line.service.active)
                frontier.set_delay(line.service.delay)
    return taken, passed_over


def _read(text: bytes, number: int, name: str) -> Line:
    try:
        text = text.strip()
        return _line(text) if text.startswith(b"{") else Line(discovered=DiscoveredItem(InfoLine(text.decode())))
    except (msgspec.DecodeError, UnicodeDecodeError) as fault:
        raise UsageError(f"{name}, line {number}: {fault}") from None


def _puts(line: Line) -> Iterator[Put]:
    item = line.known or line.discovered
    if item is not None:
        info = URLInfo(url=item.info.url, key=item.info.key, crawlID=item.info.crawlID)
        for name, values in item.info.metadata.items():
            info.metadata[name].CopyFrom(StringList(values=values.values))
        date = int(item.refetchable_from_date) if isinstance(item, KnownItem) else None
        yield Put(info, date, int(line.creation_date))
