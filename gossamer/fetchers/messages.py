"""What a worker and a fetcher say to each other, over one gRPC stream: batches of typed messages.

A fetcher says Hello and is told the rules of the crawl (Welcome). From then on it says every second that it is there
and how many jobs it can have at once (Alive, its credit). The worker gives it jobs, never more than that. The fetcher
answers each (Answered, and Piece before it where a body is long), or it does not: then the job is over by itself. The
worker may say that nobody waits for a job any more (Drop), or that it gives no more (Drain).

A job may be used until a moment of the fetcher's own clock, so that no two clocks have to agree: with each job comes
the stamp of the last Alive that the worker had heard when it gave the job (`Job.at`). The job was given after that
moment, so whoever begins no request later than `ask_s` after the stamp begins none later than `ask_s` after the job.

A batch is a list of messages in msgpack, checked against these types before anything is done with it; for gRPC it is
bytes (fetchers.proto). Both ends are of one version, which `Hello` says.
"""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from gossamer.cluster.wire import Message
from gossamer.headers import ExtraHeaders
from gossamer.records import Exchange, Page, Reason, Url, Validators
from gossamer.settings import FetchSettings, ProcessSettings

ALIVE_S = 1.0  # between two words of a fetcher
STALE_S = 3.0  # a fetcher that was not heard for so long gets no job
SILENT_S = 30.0  # and one that was not for so long has to come again
PIECE_BYTES_MAX = 256 << 10
BATCH_BYTES_MAX = 1 << 20  # about: a batch ends with the message that is beyond it
MESSAGE_BYTES_MAX = 16 << 20  # what either end takes

Name = Annotated[str, Meta(pattern=r"\A[A-Za-z0-9._-]{1,64}\Z")]


class Hello(Message, frozen=True):
    name: Name
    region: Annotated[str, Meta(pattern=r"\A[a-z0-9-]{0,31}\Z")]
    version: str
    processes: bool  # it reads the pages that it fetches


class Alive(Message, frozen=True):
    at: float  # by the fetcher's clock, which runs also while it is frozen
    room: Annotated[int, Meta(ge=0, le=65_536)]  # jobs that it can have at once


class Piece(Message, frozen=True):
    """A part of a body, of which the rest comes with its answer."""

    job: int
    body: bytes


class Answered(Message, frozen=True, omit_defaults=True):
    """What came of a job; the fields of its `Answer`. With a page, `body` is the packed record of the archive."""

    job: int
    kind: Literal["fetched", "moved", "refused", "failed", "postponed"]
    exchange: Exchange | None = None
    body: bytes = b""
    target: Url = ""
    reason: Reason | None = None
    detail: str = ""
    wait_s: Annotated[float, Meta(ge=0, le=86_400)] = 0.0
    page: Page | None = None
    body_bytes: Annotated[int, Meta(ge=0)] = 0  # of the body in the record
    start: bytes = b""  # of the record, before the body
    digest: str = ""  # SHA-256 of the body


class Leaving(Message, frozen=True):
    """No more jobs, please: it answers those that it has and ends."""


ToWorker = Hello | Alive | Piece | Answered | Leaving


class Welcome(Message, frozen=True):
    """The rules under which every job of this crawl is done."""

    crawl: str
    user_agent: str
    agent: str
    fetch: FetchSettings
    process: ProcessSettings
    media_types: tuple[str, ...]
    parameters_dropped: tuple[str, ...]
    parameters_kept: tuple[str, ...]
    ip_requests_per_s: float
    ip_burst: int
    allow_private: bool
    ask_s: float


class Job(Message, frozen=True):
    """One request, for a lease."""

    number: int
    lease: bytes
    epoch: int
    at: float  # the stamp of the last `Alive` that was heard
    url: Url
    validators: Validators | None = None
    body_bytes_max: int | None = None
    is_page: bool = True  # else it is a robots.txt
    takes_any_type: bool = False  # it is a sitemap
    is_suspect: bool = False
    extra: ExtraHeaders | None = None


class Drop(Message, frozen=True):
    job: int


class Drain(Message, frozen=True):
    """An operator wants this fetcher to end when it has answered what it has."""


ToFetcher = Welcome | Job | Drop | Drain


encode = msgspec.msgpack.Encoder().encode
decode_to_worker = msgspec.msgpack.Decoder(list[ToWorker]).decode
decode_to_fetcher = msgspec.msgpack.Decoder(list[ToFetcher]).decode
