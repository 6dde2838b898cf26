"""What a running crawl says about itself and can be told: the messages between its supervisor and observers.

The supervisor listens on a Unix socket beside those of its workers; the second line of `crawl.lock` says where. Who
connects (control_client.py: the control API, `gossamer status`) may ask how it stands (`AskNow`, `AskRecent`), watch
what happens (`Watch`, after which `EventBatch` comes unasked), and steer it (`Steer`, `AddSeeds`, `ReleaseUrl`,
`Retry`). Several may at once. The next `EventBatch` comes when the last one was answered: an observer that reads
slowly loses events, and holds up nobody. control_server.py is the other end.

Without a socket the crawl is not running, and the folder itself is the place to look and to write.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from gossamer.cluster.wire import Message
from gossamer.fetch.dns import DnsCounts
from gossamer.fetch.robots import RobotsCounts
from gossamer.frontier.disk.tables import Totals
from gossamer.messages.node_messages import ClusterNow
from gossamer.records import Place, Reason, Seed, Url
from gossamer.rendered import RenderCounts
from gossamer.schedule.recrawl_plan import RecrawlPlan
from gossamer.visitor.proxies import ProxyNow

# ---- asked ---------------------------------------------------------------------------------------------------


class AskNow(Message, frozen=True):
    """How does it stand? Answered with `Now`."""


class AskRecent(Message, frozen=True):
    """How did the last ten minutes go? Answered with `Lately`."""


class Watch(Message, frozen=True):
    """Tell me what happens from now on. Answered with nothing; then `EventBatch` again and again."""

    recent: bool = False  # at once a first batch, with the last few events of before


class Steer(Message, frozen=True):
    """Pause: lease nothing more until resumed. Drain: finish what is in flight, and end. Answered when it is so."""

    to: Literal["pause", "resume", "drain"]


class AddSeeds(Message, frozen=True):
    """Answered with `SeedsAdded` once they are durable, in the list of seeds and in their queues."""

    seeds: list[Seed]


class ReleaseUrl(Message, frozen=True):
    """Take a URL out of quarantine: to be tried again, or to be dropped for good. Answered with `UrlReleased`."""

    url: Url
    drop: bool = False


class Retry(Message, frozen=True):
    """Bring back what failed, rests or was refused, of a host or of all, for one reason or for any that is an outage.

    Answered with `Retried`."""

    host: str | None = None
    reason: Reason | None = None
    others: tuple[str, ...] = ()  # in a cluster: further hosts of the same site, which are in the same partition


class FetchReport(Message, frozen=True):
    """What came of a job of a fetcher, reported beside its stream. Answered with `ReportTaken`."""

    crawl: str
    lease: str  # in hexadecimal digits
    epoch: int
    url: Url
    status: int  # of HTTP; 0: there was no answer
    content_hash: str = ""  # SHA-256 of the body
    body_bytes: int = 0
    links: tuple[Url, ...] = ()
    body: bytes = b""
    content_type: str = ""
    location: str = ""  # of a redirect
    error: str = ""  # why there was no answer


class DrainFetcher(Message, frozen=True):
    """This fetcher gets no more jobs, and ends. Answered when all workers know."""

    name: str


# ---- answered ------------------------------------------------------------------------------------------------


class WorkerNow(msgspec.Struct, frozen=True):
    number: int
    pid: int
    state: str  # starting | working | idle | paused | not answering
    in_flight: int = 0
    active_hosts: int = 0
    partitions: list[int] = []
    memory_bytes: int = 0  # resident
    cpu_s: float = 0.0  # since it lives
    node: str = ""  # where several are looked at


class SlowHost(msgspec.Struct, frozen=True, array_like=True):
    """A host with an answer that took long, or has not ended yet."""

    host: str
    took_s: float
    is_under_way: bool = False


class RestingHost(msgspec.Struct, frozen=True, array_like=True):
    """A host that is left alone for a while."""

    host: str
    until: float
    reason: str = ""  # a `Reason`
    urls: int = 0  # that wait for it


class Wait(msgspec.Struct, frozen=True, array_like=True):
    """The next moment at which there is something to ask for."""

    at: float
    what: Literal[
        "turn", "try", "visit"
    ]  # of a host; of a URL that failed, or of a host that rests; of a page, again
    host: str = ""
    reason: Reason | None = None  # why not before


class FetcherNow(msgspec.Struct, frozen=True):
    """A fetcher, as all workers that it has a stream to know it."""

    name: str
    region: str
    address: str
    processes: bool  # it reads what it fetches
    is_leaving: bool  # it gets no more jobs
    jobs: int  # that it has
    room: int  # for jobs
    done: int  # since it came
    bytes: int
    silent_s: float


class SinkNow(msgspec.Struct, frozen=True):
    """A sink of a running crawl: somewhere that records of its pages go."""

    to: str  # kafka | postgres
    title: str  # PostgreSQL at host:port
    handed_on: int = 0  # records, in this run
    visits: int | None = None  # that the crawl had made when all was handed on; None: not yet in this run
    trouble: str = ""  # why it gets nothing now
    is_refused: bool = False  # it answers and does not take us

    def behind(self, totals: Totals) -> int | None:
        """Records that are still to be handed on; None: nobody knows yet."""
        return None if self.visits is None else max(0, visits_in(totals) - self.visits)


class SinkTold(msgspec.Struct, frozen=True):
    """A line of the process that feeds sinks: how one of them stands, or in a cluster how far it came."""

    now: SinkNow | None = None
    target: str = ""
    positions: dict[int, Place] = {}  # of the partitions that moved on


class SinksOwned(msgspec.Struct, frozen=True):
    """A line for the process that feeds sinks, of a node: what is its own to feed, and how far that came."""

    epochs: dict[int, int] = {}  # in which each partition is ours
    noted: dict[str, dict[int, Place]] = {}  # by target


def visits_in(totals: Totals) -> int:
    """What the archive has records of."""
    return totals.pages + totals.visits + totals.moved


class Now(Message, frozen=True):
    """A crawl at this moment, all its workers together. Rates are over the last ten seconds."""

    at: float
    started_at: float
    totals: Totals  # from the crawl's first start on
    totals_at_start: Totals  # when this run began
    pages_today: int  # since midnight UTC, earlier runs included
    pages_per_s: float
    bytes_per_s: float
    errors_per_s: float
    errors: dict[str, int]  # by reason, in this run
    in_flight: int
    active_hosts: int
    queue_levels: list[int]  # hosts with work, by tenths of the priority of their best URL, best first
    dns: DnsCounts
    robots: RobotsCounts
    fetch_s: list[int]  # answers by the time they took: how many in each of FETCH_S, and above
    workers: list[WorkerNow]
    memory_bytes: int  # the supervisor and all workers
    disk_free_bytes: int
    paused: str = ""  # why nothing is leased; empty: it is being leased
    is_draining: bool = False
    fetch_s_sum: float = 0.0  # of all the times that `fetch_s` counts
    recrawl_plan: RecrawlPlan = RecrawlPlan()
    render: RenderCounts = msgspec.field(default_factory=RenderCounts)  # of this run
    under_way: int = 0  # requests that are being made; `in_flight` counts every lease that is not finished
    statuses: dict[int, int] = msgspec.field(default_factory=dict)  # answers in this run; 0: requests that had none
    unanswered: dict[str, int] = msgspec.field(default_factory=dict)  # requests since the last answer, by reason
    slow: tuple[SlowHost, ...] = ()  # of the last minute, the slowest first
    resting: tuple[RestingHost, ...] = ()  # the soonest first; not all where there are many
    wait: Wait | None = None  # None: somebody may be asked now, or there is nobody
    sinks: tuple[SinkNow, ...] = ()
    cluster: ClusterNow | None = None  # None: this machine is alone
    fetchers: tuple[FetcherNow, ...] = ()
    fetch_reports_ignored: dict[str, int] = msgspec.field(default_factory=dict)  # by why
    fetch_jobs_lost: int = 0
    proxies: tuple[ProxyNow, ...] = ()


STATUS_CLASSES = ("1xx", "2xx", "3xx", "4xx", "5xx", "none")
"""What answers are counted by: the first digit of their status. None: there was no answer, or one above 599."""

FETCH_S = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
"""Upper ends of the classes that times of answers are counted in."""


class Point(msgspec.Struct, frozen=True):
    """A crawl at one moment, for a picture of it over time (history.py). What was done only grows, over all runs."""

    at: float
    pages: int = 0
    bytes: int = 0
    errors: int = 0
    queued: int = 0
    waiting: int = 0
    hosts: int = 0
    memory_bytes: int = 0
    started_at: float = 0.0  # the run that it belongs to; 0: a line of an earlier version
    duplicates: int = 0
    disk_free_bytes: int = 0
    freshness: float = 0.0  # of pages that are visited again, as estimated
    statuses: list[int] = []  # answers by STATUS_CLASSES
    fetch_s: list[int] = []  # answers by the time they took, as in `Now`


class RecentPoints(Message, frozen=True):
    """The last ten minutes of this run, a point a second, oldest first."""

    points: list[Point]


AS_ASKED = "as asked"
"""What `paused` says where it was an operator; other reasons pass by themselves."""


class Event(msgspec.Struct, frozen=True, array_like=True):
    """One outcome, or one thing that the supervisor said."""

    at: float
    kind: Literal["page", "redirect", "failure", "refusal", "said"]
    url: Url = ""
    status: int | None = None
    reason: Reason | None = None
    bytes: int = 0
    took_s: float = 0.0
    note: str = ""

    @property
    def is_good(self) -> bool:
        return self.kind in ("page", "redirect")


class EventBatch(Message, frozen=True):
    """Events since the last one of these, newest last. `left_out`: there were more than anybody can read."""

    events: list[Event]
    left_out: int = 0


class Refusal(msgspec.Struct, frozen=True):
    url: Url
    reason: Reason


class SeedsAdded(Message, frozen=True):
    added: int
    duplicates_skipped: int
    refused: list[Refusal]


class UrlReleased(Message, frozen=True):
    done: bool  # False: it was not in quarantine


class Retried(Message, frozen=True):
    urls: int


class ReportTaken(Message, frozen=True):
    reason: str  # why it changes nothing; empty: it does


ToCrawl = AskNow | AskRecent | Watch | Steer | AddSeeds | ReleaseUrl | Retry | FetchReport | DrainFetcher
FromCrawl = Now | RecentPoints | EventBatch | SeedsAdded | UrlReleased | Retried | ReportTaken
