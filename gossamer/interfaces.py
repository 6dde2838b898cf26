"""All that can be swapped, on one page.

The stages (frontier, fetch, process) know these and the records, and never each other; `worker/worker.py` is the only
place that names the classes behind them. One machine and a hundred differ in `LinkLog`, `SharedState` and `Archive`.
Longer than 400 lines: it is the one page.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager, nullcontext
from typing import NamedTuple, Protocol

import msgspec

from gossamer.headers import ExtraHeaders
from gossamer.outlinks import OwnLinks
from gossamer.questions import Question
from gossamer.records import (
    Answer,
    Claim,
    Fetched,
    Host,
    Lease,
    Link,
    Outcome,
    Page,
    Place,
    Reason,
    Result,
    Url,
    UrlRecord,
    Validators,
    Verdict,
)
from gossamer.rendered import Gain, RenderCost
from gossamer.url.media_types import MediaTypes

Process = Callable[[bytes, Url, str | None], Page]
"""A processor of one media type: body, URL, declared content type. The table of them is in process/media_types.py."""


class Batch(Protocol):
    """Several changes to a `Store` that happen together or not at all."""

    def put(self, table: str, key: bytes, value: bytes) -> None: ...
    def delete(self, table: str, key: bytes) -> None: ...
    def __len__(self) -> int: ...


BATCH_MAX = 2000  # entries of a batch, about: 5 ms of RocksDB, in which nobody else gets a turn


class Store(Protocol):
    """Ordered keys and values in named tables. The whole state of a partition lives in one.

    A batch counts from the moment `write` returns, and survives the end of the process; with `sync`, a power cut too.
    Keys are in the order of their bytes. Reading sees all that was written; a `scan` sees the table as it was when
    the scan began. tests/contract/test_store.py says the rest."""

    def get(self, table: str, key: bytes) -> bytes | None: ...
    def get_many(self, table: str, keys: list[bytes]) -> list[bytes | None]: ...
    def scan(self, table: str, start: bytes = b"", prefix: bytes = b"") -> Iterator[tuple[bytes, bytes]]: ...
    def first(self, table: str, prefix: bytes, most: int, start: bytes = b"") -> list[tuple[bytes, bytes]]: ...
    def last(self, table: str, prefix: bytes, before: bytes | None = None) -> tuple[bytes, bytes] | None: ...
    def batch(self) -> Batch: ...
    def write(self, batch: Batch, *, sync: bool) -> None: ...
    def close(self) -> None: ...


class Mark(NamedTuple):
    """How far the state of a partition is: its last write batch."""

    epoch: int = 0  # of the owner that wrote it
    number: int = 0  # of the batch; goes on from owner to owner
    position: int = 0  # in the journal: that batch and all that follow lie at or behind it


class StoreJournal(Protocol):
    """What follows a store: told of every batch once it is written, it sees to its durability elsewhere.

    `position`: behind all that is acknowledged. `append` does not wait, and does not fail."""

    epoch: int
    position: int

    def append(self, mark: Mark, entries: bytes) -> None: ...


class OwnJournal(StoreJournal, Protocol):
    """The journal of a partition that is ours. `appended`, `number`: of the last batch that was appended, and that is
    acknowledged; `bytes`: appended so far; `unacknowledged_bytes`: of these, what would be lost with this machine.

    `settled` gives the position behind all that was appended, once it is acknowledged."""

    appended: int
    number: int
    bytes: int
    unacknowledged_bytes: int

    async def settled(self) -> int: ...


class JournalEntry(NamedTuple):
    offset: int
    mark: Mark
    entries: bytes


class JournalLost(Exception):
    """What is wanted of the journal is not there any more; the message says what, and what to do."""


class Journal(Protocol):
    """The write batches of all partitions, durable elsewhere. Who appends needs no leave: readers know which entries
    count, by the cuts of the ownership records. `mark` gives the offset of a new marker: the cut of an ownership."""

    @property
    def held_up(self) -> str: ...
    def begin(self, partition: int, epoch: int, cut: int) -> OwnJournal: ...
    async def mark(self, partition: int, node: str) -> int: ...
    def entries(self, partition: int, start: int, end: int) -> AsyncGenerator[list[JournalEntry], None]: ...
    async def delete_before(self, partition: int, position: int) -> None: ...


class Objects(Protocol):
    """Named objects that all nodes see: a bucket, or a folder in tests. A name is taken once (`create`), by one."""

    async def create(self, name: str, content: bytes) -> bool:
        """Whether the name was free and is ours now. Durable when it returns. `content` is nobody else's: it has a
        token in it, so that a try of ours whose answer was lost is known again."""

    def names(self, prefix: str = "") -> Iterator[str]: ...
    def read(self, name: str, offset: int, length: int) -> bytes: ...
    def chunks(self, name: str, offset: int = 0) -> Iterator[bytes]: ...
    def put(self, name: str, parts: Iterable[bytes], bytes_max: int = 0) -> None: ...
    def modified_at(self, name: str) -> float: ...
    def remove(self, names: Iterable[str]) -> None: ...


class Gains(Protocol):
    """What rendering gained for patterns of URLs: of a URL's own, and of its whole host (frontier/gains.py)."""

    def of(self, url: Url) -> tuple[Gain | None, Gain | None]: ...
    def rendered(self, url: Url, cost: RenderCost, now: float) -> None: ...
    def passed(self, url: Url) -> None: ...


class Partition(Protocol):
    """One part of the crawl: what to fetch next and when it is polite, and what became of it.

    Every accepted URL is in exactly one state. `lease` follows `ready` in the same turn of the event loop. What was
    saved, and then applied, is durable."""

    number: int
    epoch: int
    in_flight: int
    is_leaving: bool
    is_lost: bool

    def ready(self) -> Mapping[int, int]: ...
    def lease(self, most: int) -> list[Lease]: ...
    def answered(self, lease: Lease, result: Result) -> None: ...
    def processing(self, lease: Lease) -> None: ...
    def processed(self) -> None: ...
    def give_back(self, lease: Lease) -> None: ...
    async def save(self, outcomes: Sequence[Outcome]) -> list[Place | None]: ...
    def apply_outcomes(self, outcomes: Sequence[Outcome], places: Sequence[Place | None]) -> None: ...
    def next_at(self, *, only_booked: bool = False) -> float | None: ...
    @property
    def gains(self) -> Gains: ...
    @property
    def claims(self) -> list[Claim]: ...
    @property
    def pages(self) -> int: ...
    @property
    def is_idle(self) -> bool: ...


class LaterOwner(Exception):
    """Somebody else has come to own the partition since: whoever is told so has to leave it alone."""


class Credit(Protocol):
    """What the pages of a partition are worth, by the links that lead to them: schedule/credit.py."""

    def for_seed(self) -> int: ...
    def for_new_page(self, worth: int) -> int: ...
    def promise(self, url: Url, worth: int) -> int: ...
    def promise_each(self, urls: Sequence[Url], worth: int) -> list[int]: ...
    def bits_without_effect(self, known: UrlRecord) -> int: ...
    def pay_promises(self, known: UrlRecord) -> UrlRecord | None: ...
    def count_promises(self, known: UrlRecord) -> UrlRecord | None: ...
    def to_share(self, known: UrlRecord, host: Host) -> int: ...
    def spend(self, before: UrlRecord, after: UrlRecord) -> UrlRecord: ...
    def give_back(self, known: UrlRecord) -> UrlRecord: ...
    def importance(self, known: UrlRecord) -> float: ...
    def authority(self, host: Host) -> float: ...
    def has_earned_its_pages(self, host: Host) -> bool: ...


class Dates(Protocol):
    """When each page of a partition is visited again: schedule/dates.py."""

    def after_visit(
        self, before: UrlRecord, after: UrlRecord, host: Host, outcome: Outcome, now: float, *, is_suspect: bool
    ) -> UrlRecord: ...
    def forget(self, known: UrlRecord, host: Host | None) -> UrlRecord: ...
    def chance_outdated(self, known: UrlRecord, host: Host, now: float) -> float: ...
    def apply_lastmod(self, known: UrlRecord, host: Host, lastmod: str, now: float) -> UrlRecord | None: ...


class Planner(Protocol):
    """Both of them, and what they have to remember: `changes` goes into the same batch as what they were asked."""

    @property
    def credit(self) -> Credit: ...
    @property
    def dates(self) -> Dates: ...
    def load(self, stored: bytes) -> None: ...
    def changes(self) -> bytes | None: ...


class Owner(Protocol):
    """Whoever owns partitions, as those who deal them out see it (supervisor/worker_pool.py, and what a cluster has).

    `assigned`: they are ours, in an epoch above all before; all that their last owner left is in order when this
    returns. It gives those that nobody can open, and why. `revoked`: finish or drop what is open, and give them up;
    they may be opened elsewhere when this returns. `lost`: somebody else may own them already. Nothing more is asked
    for, saved or applied, from this moment on."""

    async def assigned(self, partitions: Collection[int], epoch: int) -> dict[int, str]: ...
    async def revoked(self, partitions: Collection[int]) -> None: ...
    async def lost(self, partitions: Collection[int]) -> None: ...


class Fetcher(Protocol):
    """One lease, at most one request. A redirect is a result and not a second request."""

    async def fetch(self, lease: Lease) -> Result: ...


BookingOf = Callable[[Url], AbstractAsyncContextManager[Callable[[Answer], None]]]
"""The turn of a URL's host, wherever that host is owned: entered when it may be asked, left when the answer ended.
The host's owner wants to hear the answer: its next turn depends on it. Raises `NoBooking`, also while it is held:
then the request has to be dropped."""


class NoBooking(Exception):
    """The turn did not come in time, or whoever gave it is gone."""


class HostBlocked(NoBooking):
    """The operator blocks the host: its turn never comes."""


class HostElsewhere(NoBooking):
    """Another node of the cluster owns the host, and nodes book no turns with each other."""


class SchemeFetcher(Protocol):
    """What fetches the URLs of one scheme (fetch/protocols.py): asks once, and makes a value of whatever comes."""

    async def fetch(
        self,
        url: Url,
        validators: Validators | None = None,
        *,
        body_bytes_max: int | None = None,
        wanted: MediaTypes | None = None,
        extra: ExtraHeaders | None = None,
    ) -> Answer: ...


class Resolver(Protocol):
    """Names to addresses. An empty list: the name has none; raises OSError where nobody answered.

    It wants to hear how connections to its addresses went, to forget one that has moved."""

    async def resolve(self, host: str) -> list[str]: ...
    def check(self, host: str) -> None: ...  # raises where the configuration forbids the name
    def failed(self, host: str, address: str) -> None: ...
    def worked(self, host: str) -> None: ...


Watched = Callable[[], AbstractContextManager[None]]


class NotRead(Exception):
    """The crawl ends, and this page was not asked for or not read yet: its URL stays leased, for the next start."""


class Processor(Protocol):
    """`watched` is entered while a body is read in this very process: should that kill us, this page is a suspect.

    A suspect is read where it can kill nobody. After `hurry`, what still waits to be read raises `NotRead`. Raises
    `OSError` where this machine is short of something: the page may be read later."""

    async def process(
        self, url: Url, fetched: Fetched, watched: Watched = nullcontext, *, is_suspect: bool = False
    ) -> Page: ...
    def hurry(self) -> None: ...


class Renderer(Protocol):
    """Shows a page in a browser where that gains something; `page`: as it was read, `read`: reads what came of it.

    Raises `NotRead` where the crawl ends before its turn."""

    async def render(
        self, url: Url, fetched: Fetched, page: Page, gains: Gains, read: Callable[[Fetched], Awaitable[Page]]
    ) -> Page: ...
    def hurry(self) -> None: ...


class Duplicates(Protocol):
    """Who had this content first? A claim is settled when its page is stored, and others wait for that.

    `judge` gives None for a claim that has to wait: ask again a little later."""

    async def judge(self, claims: Sequence[Claim]) -> list[Verdict | None]: ...
    async def settle(self, claims: Sequence[Claim]) -> None: ...


class Claims(Protocol):
    """The same at once, and for many holders: the workers that have the pages in their hands."""

    def judge(self, claims: Sequence[Claim], holder: int = 0) -> list[Verdict | None]: ...
    def settle(self, claims: Sequence[Claim]) -> None: ...
    def release(self, holder: int) -> None: ...
    def lose(self, partition: int, epoch: int) -> None: ...


class OtherIndex(Exception):
    """The index on the disk was made with other settings; the message says which."""


class Pause(msgspec.Struct, frozen=True):
    """What a request has to wait for. With `wait_s` it is not to be made, and asked about again after that; else it
    counts, and is made after `hold_s`."""

    wait_s: float = 0.0
    hold_s: float = 0.0
    charged_bytes: int = 0
    reason: Reason = Reason.IP_PACE


class SharedState(Duplicates, Protocol):
    """What crosses partitions besides links: who had which content, and the pace of addresses and of the crawl.

    `begin`: somebody owns a partition in this epoch, and claims of an earlier one change nothing from now on.
    `pace` is asked before every request. `surplus_bytes`: what others that have ended brought beyond their charge.
    `away`: why each process judges by itself for now; empty: all is well."""

    @property
    def away(self) -> str: ...

    async def begin(self, partition: int, epoch: int) -> None: ...
    async def pace(self, ip: str, surplus_bytes: int = 0) -> Pause: ...


class Archive(Protocol):
    """Durable when `save` returns; what a crash left behind the last committed place is cut off by `recover`, which
    returns what it has set aside because nobody knows it.

    Raises `Unreachable`, or `OSError` with ENOSPC, where it may succeed later: then nothing counts as saved."""

    @property
    def end(self) -> Place | None: ...
    async def save(self, outcomes: Sequence[Outcome]) -> list[Place | None]: ...
    async def recover(self, end: Place | None) -> list[str]: ...
    def close(self) -> None: ...


class Unreachable(OSError):
    """Whoever keeps the archive does not answer. It may be over in a while; the text says who and why."""


class LinkBatch(msgspec.Struct, frozen=True):
    links: list[Link]
    position: int  # behind them
    questions: list[Question] = []  # of other nodes, that came between them


class LinksLost(Exception):
    """Links that nobody has read are not in the log any more: a person has to look. `first`: where it begins now."""

    def __init__(self, text: str, partition: int, first: int = 0) -> None:
        super().__init__(text)
        self.partition = partition
        self.first = first


class LinkLog(Protocol):
    """Links on their way to their partitions: a log for each, appended to by everybody, read by its owner.

    `append` is durable when it returns, and waits for no reader. A reader keeps its own position, which only grows;
    what comes after it is there until it says by `trim` that it will not ask for it again. `read` gives None where
    nothing more has come. A batch may be empty: only the position moves. A partition is opened before it is read, and
    shut when its owner gives it up. `end` may be late where others append, `ends` asks now: every partition that has
    a log. While there is a reason in `held_up`, `append` waits for a log that cannot be reached."""

    @property
    def held_up(self) -> str: ...
    async def append(self, links: Mapping[int, Sequence[Link]]) -> None: ...
    async def open(self, partition: int, position: int) -> None: ...
    def read(self, partition: int, position: int) -> LinkBatch | None: ...
    def shut(self, partition: int) -> None: ...
    def trim(self, partition: int, position: int) -> None: ...
    def end(self, partition: int) -> int: ...
    async def ends(self) -> dict[int, int]: ...
    def unread_bytes(self, partition: int) -> int: ...
    def close(self) -> None: ...


class Links(Protocol):
    """Links to the partitions that they belong to; durable when `send` returns.

    `receive` applies what others send, until it is cancelled. While there is a reason in `held_up`, as few pages as
    possible should be fetched: links that were sent wait to be read."""

    held_up: str

    async def send(self, links: Iterable[Link | OwnLinks]) -> None: ...
    async def receive(self) -> None: ...
    @property
    def has_unread(self) -> bool: ...


class Filter(Protocol):
    """The link filter: None lets a link in, a `Reason` keeps it out."""

    def __call__(self, link: Link) -> Reason | None: ...


__all__ = [
    "BATCH_MAX",
    "Archive",
    "Batch",
    "Claims",
    "Credit",
    "Dates",
    "Duplicates",
    "Fetcher",
    "Filter",
    "Gains",
    "HostBlocked",
    "HostElsewhere",
    "Journal",
    "JournalEntry",
    "JournalLost",
    "LaterOwner",
    "LinkBatch",
    "LinkLog",
    "Links",
    "LinksLost",
    "Mark",
    "NoBooking",
    "NotRead",
    "Objects",
    "OtherIndex",
    "OwnJournal",
    "Owner",
    "Partition",
    "Pause",
    "Planner",
    "Process",
    "Processor",
    "Renderer",
    "Resolver",
    "SchemeFetcher",
    "SharedState",
    "Store",
    "StoreJournal",
    "Unreachable",
    "Watched",
]
