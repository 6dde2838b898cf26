"""What a fetcher does with a job: one request under the rules of the crawl, by its own DNS and from its own address.

Everything that holds in a worker holds here: limits of a transfer, private addresses refused at connect time, one
request a job, and the pace of an address, which is this fetcher's own. Besides, no request goes out later than
`ask_s` after the job's stamp, by a clock that runs while this process is frozen: the moment is looked at when libcurl
has the connection and is about to ask (`Incoming.on_request`).
"""

from __future__ import annotations

from isal import isal_zlib
from msgspec.structs import replace

from gossamer.archive.warc import encode as records_of
from gossamer.clock import Clock
from gossamer.cluster.pace import Pace
from gossamer.fetch.dns import Dns
from gossamer.fetch.http import Http
from gossamer.fetch.transfer import Transfers
from gossamer.fetchers.answers import GZIP, RECORD_END
from gossamer.fetchers.messages import PIECE_BYTES_MAX, Answered, Job, Piece, Welcome
from gossamer.interfaces import Pause
from gossamer.process.processor import Processor
from gossamer.records import (
    Answer,
    Claim,
    Failed,
    Fetched,
    Lease,
    Link,
    Moved,
    Outcome,
    Page,
    Postponed,
    Refused,
)
from gossamer.settings import DnsSettings
from gossamer.url.canonical import choose
from gossamer.url.media_types import MediaTypes
from gossamer.url.site import host_of

# The worker has no use for texts: what it keeps of them is in the archive's body, and in fingerprints.
SENT_OF_PAGE = tuple(name for name in Page.__struct_fields__ if name not in ("text", "main_text"))


class Rules:
    """Of one crawl, as a worker has told them. Close it when done."""

    def __init__(
        self,
        told: Welcome,
        dns: DnsSettings,
        proxy: tuple[str, ...],
        clock: Clock,
        *,
        at_once: int,
        processes: bool,
        allow_private: bool,
    ) -> None:
        """`proxy`: of this machine; the crawl's own are where the crawl is. `allow_private`: whether this machine's
        operator lets the crawl go to private addresses, where it wants."""
        self.told = told
        self._clock = clock
        schemes = told.fetch.schemes
        choose(schemes, told.parameters_dropped, told.parameters_kept)
        self._dns = Dns(clock, dns)
        self._pace = Pace(clock, told.ip_requests_per_s, told.ip_burst)
        self.transfers = Transfers(
            self._dns,
            clock,
            replace(told.fetch, in_flight_max=at_once, proxy=proxy),
            allow_private=told.allow_private and allow_private,
            pace=self._pause,
        )
        self._http = Http(self.transfers, told.user_agent)
        self._wanted = MediaTypes(told.media_types)
        self._processor = (
            Processor(
                told.agent,
                told.process,
                schemes=schemes,
                parameters_dropped=told.parameters_dropped,
                parameters_kept=told.parameters_kept,
            )
            if processes
            else None
        )

    async def close(self) -> None:
        if self._processor is not None:
            await self._processor.close()
        await self.transfers.close()
        await self._dns.close()

    async def _pause(self, ip: str, surplus_bytes: int) -> Pause:
        return Pause(self._pace.wait_s(ip))

    async def do(self, job: Job) -> list[Piece | Answered]:
        """All that is to be sent of what came of a job."""
        until = job.at + self.told.ask_s
        answer = await self._http.fetch(
            job.url,
            job.validators,
            body_bytes_max=job.body_bytes_max,
            wanted=self._wanted if job.is_page and not job.takes_any_type else None,
            extra=job.extra,
            may_ask=lambda: self._clock.boottime() < until,
        )
        if (
            self._processor is not None
            and job.is_page
            and isinstance(answer, Fetched)
            and not answer.is_not_modified
            and answer.body
        ):
            page = await self._read(job, answer, self._processor)
            if page is not None:
                return sent_of(job, answer, page)
        return sent_of(job, answer)

    async def _read(self, job: Job, answer: Fetched, processor: Processor) -> Page | None:
        """None: this machine is short of something, and the worker has to read it."""
        try:
            page = await processor.process(job.url, answer, is_suspect=job.is_suspect)
        except OSError:
            return None
        return Page(**{name: getattr(page, name) for name in SENT_OF_PAGE})


def sent_of(job: Job, answer: Answer, page: Page | None = None) -> list[Piece | Answered]:
    number = job.number
    match answer:
        case Refused(reason=reason, detail=detail, wait_s=wait_s):
            return [Answered(number, "refused", reason=reason, detail=detail, wait_s=wait_s)]
        case Postponed(reason=reason, detail=detail, wait_s=wait_s):
            return [Answered(number, "postponed", reason=reason, detail=detail, wait_s=wait_s)]
        case Failed(reason=reason, exchange=exchange, detail=detail):
            return [Answered(number, "failed", exchange, reason=reason, detail=detail)]
        case Moved(exchange=exchange, body=body, target=target):
            *pieces, last = cut(number, body[:])
            return [*pieces, Answered(number, "moved", exchange, last.body, target)]
    if page is None:
        *pieces, last = cut(number, answer.body[:])
        return [*pieces, Answered(number, "fetched", answer.exchange, last.body)]
    start, digest, record = record_of(job, answer, page)
    *pieces, last = cut(number, record)
    answered = Answered(
        *(number, "fetched", answer.exchange, last.body),
        page=page,
        body_bytes=len(answer.body),
        start=start,
        digest=digest,
    )
    return [*pieces, answered]


def record_of(job: Job, answer: Fetched, page: Page) -> tuple[bytes, str, bytes]:
    """As the archive would write a page that nobody has shown before: what stands before the body in it, the body's
    digest, and the record, packed."""
    lease, digest = Lease(Link(job.url), host_of(job.url), 0.0), answer.digest
    claim = Claim(digest, job.url, answer.exchange.started_at)
    record = records_of(Outcome(lease, answer, Page(job.url, page.media_type), claim=claim), answer).page
    start_bytes = int.from_bytes(record[-4:], "little") - len(answer.body) - len(RECORD_END)
    return isal_zlib.decompressobj(wbits=GZIP).decompress(record, start_bytes), digest, record


def cut(number: int, body: bytes) -> list[Piece]:
    """One at least."""
    starts = range(0, len(body), PIECE_BYTES_MAX) or (0,)
    return [Piece(number, body[start : start + PIECE_BYTES_MAX]) for start in starts]
