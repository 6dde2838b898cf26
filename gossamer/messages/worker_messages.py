"""Worker messages: what the supervisor and its workers say to each other, beside the questions about shared state.

A worker's life: it connects, says Hello and is told what to crawl (Welcome), says Ready, is given partitions
(Assign), may have to give some up again (Revoke), knows who owns the others (Owners), reports when asked (Ask,
Report), is allowed so many pages where they are limited (Allow), does what an operator wants of its partitions
(AddSeeds, ReleaseUrl, Retry, Instruct; Done), and is told to go (Leave).
"""

from __future__ import annotations

import msgspec

from gossamer.cluster import shared
from gossamer.cluster.wire import Message
from gossamer.fetch.dns import DnsCounts
from gossamer.fetch.robots import RobotsCounts
from gossamer.frontier.disk.tables import Totals
from gossamer.messages import control_messages
from gossamer.messages.control_messages import (
    Event,
    FetcherNow,
    FetchReport,
    ReleaseUrl,
    ReportTaken,
    RestingHost,
    SlowHost,
    Wait,
)
from gossamer.messages.node_messages import KeepingCounts, Kept
from gossamer.records import Reason, Seed
from gossamer.rendered import RenderCounts
from gossamer.schedule.recrawl_plan import PartitionStatistics, RecrawlPlan
from gossamer.settings import Tree
from gossamer.visitor.proxies import ProxyNow


class Hello(Message, frozen=True):
    worker: int


class Welcome(Message, frozen=True):
    folder: str
    config: Tree
    kill_at: str = ""  # for tests: see kill_point.py
    log_fd: int | None = None  # where log lines go; the worker has inherited it
    node: str = ""  # of a cluster; empty: this machine is alone


class Ready(Message, frozen=True):
    """Listening for other workers, and free for partitions."""


class Assign(Message, frozen=True):
    """Open a partition, and own it in this epoch."""

    partition: int
    epoch: int
    accept_loss: bool = False  # somebody has said to go on from what is there, whatever is gone


class Assigned(Message, frozen=True):
    totals: Totals
    damage: str = ""  # why it could not be opened, and what to do: no other worker could either
    is_lost: bool = False  # it was somebody else's before it was open


class Revoke(Message, frozen=True):
    """Finish what is in flight of a partition and close it; the answer comes when it can be opened elsewhere."""

    partition: int
    within_s: float | None = None  # what is in flight after that is let go of


class Lose(Message, frozen=True):
    """A partition is somebody else's already: drop all that is open of it."""

    partition: int


class Owners(Message, frozen=True):
    version: int
    owners: list[int | None]
    damaged: tuple[int, ...] = ()  # partitions that nobody can own
    epochs: tuple[int, ...] = ()  # in which each partition is owned
    elsewhere: tuple[int, ...] = ()  # partitions of other nodes


class Ask(Message, frozen=True):
    """Report; and whether to lease meanwhile, and whether to give back pages that were allowed and are not needed."""

    is_paused: bool
    give_back: bool
    is_ending: bool = False
    is_watched: bool = False  # somebody looks on: tell more of what happens
    recrawl_plan: RecrawlPlan | None = None  # a new one, from the statistics of all partitions
    wants_statistics: bool = False
    owned_until: float | None = None  # by `Clock.boottime`: nothing is asked for after that; None: no end
    links_read: dict[int, int] | None = None  # of a cluster, now and then: how far the owner of each partition read
    drained: tuple[str, ...] = ()  # fetchers that get no more jobs


class Allow(Message, frozen=True):
    pages: int


class News(msgspec.Struct, frozen=True, array_like=True):
    """What a worker has done since its last report."""

    pages: int = 0
    bytes: int = 0
    errors: dict[str, int] = {}
    outcomes: int = 0
    events: list[Event] = []  # the last of the outcomes
    fetch_s: list[int] = []  # how many answers took so long: classes as in control_messages.FETCH_S
    fetch_s_sum: float = 0.0
    statuses: dict[int, int] = {}  # of answers; 0: of requests that had none
    unanswered: dict[str, int] = {}  # the latter, by reason
    slow: list[SlowHost] = []


class Returned(msgspec.Struct, frozen=True, array_like=True):
    """A partition has looked through what was refused, because something has become more generous."""

    partition: int
    key: str  # of the setting that was raised; `policy`
    why: str  # what has changed, in words
    urls: int  # that are queued again


class FetchersReport(msgspec.Struct, frozen=True, array_like=True):
    """What a worker's fetchers do, where it has any."""

    port: int = 0  # at which this worker gives jobs
    fetchers: tuple[FetcherNow, ...] = ()
    ignored: dict[str, int] = {}  # since the worker lives: what fetchers said that changed nothing, by why
    lost: int = 0  # jobs that were never answered


class Report(Message, frozen=True):
    totals: dict[int, Totals]  # of each partition that it owns
    in_flight: int
    active_hosts: int
    is_idle: bool
    positions: dict[int, int]  # in the link log of each: all before was applied
    pages_left: int  # allowed, and not yet among the totals; 0 where there is no limit
    no_room: str  # why it cannot save
    news: News
    dns: DnsCounts  # since it lives
    robots: RobotsCounts  # since it lives
    levels: dict[int, int]  # hosts with work, by their level in the front
    memory_bytes: int
    cpu_s: float
    statistics: dict[int, PartitionStatistics]  # of each partition, where they are wanted
    under_way: int = 0  # requests; `in_flight` counts leases that are not finished
    slow: tuple[SlowHost, ...] = ()  # of these requests, the oldest
    resting: tuple[RestingHost, ...] = ()
    wait: Wait | None = None
    next_try_at: float | None = None  # of what failed or rests
    pages_returned: int = 0  # of those that were allowed, because they were wanted back
    pages_spare: int = 0  # of those left, what nothing in flight is expected to need
    returned: tuple[Returned, ...] = ()  # since its last report
    looking: tuple[tuple[str, int], ...] = ()  # what has changed, and how many refused URLs are looked at again
    kept: dict[int, Kept] = msgspec.field(default_factory=dict)  # of each partition, in a cluster
    keeping: KeepingCounts = msgspec.field(default_factory=KeepingCounts)
    shared_away: str = ""  # why it judges copies and pace by itself
    instructed: dict[int, list[tuple[int, int]]] = msgspec.field(
        default_factory=dict
    )  # of each partition, in a cluster: `Meta.instructed`
    fetchers: FetchersReport = FetchersReport()
    render: RenderCounts | None = None  # since it lives; None: it renders nothing
    proxies: tuple[ProxyNow, ...] = ()


class AddSeeds(Message, frozen=True):
    """Add seeds to the partition that they belong to. Answered with how many were new."""

    partition: int
    seeds: list[Seed]


class Retry(Message, frozen=True):
    """Bring back what failed, rests or was refused in a partition, see frontier/retry.py. Answered with how many."""

    partition: int
    host: str | None
    reason: Reason | None


class Instruct(Message, frozen=True):
    """An instruction of an operator of a cluster, for a partition that is to remember it (node/instructions.py).
    None: it concerns others. Answered with how many URLs it concerned."""

    partition: int
    number: int
    what: control_messages.Retry | ReleaseUrl | None


class Done(Message, frozen=True):
    count: int | None  # None: nothing, because the partition is not ours


class Leave(Message, frozen=True):
    """Finish what is in flight, close everything, end."""


class Said(Message, frozen=True):
    """Something that the user may want to know."""

    text: str


class Failure(Message, frozen=True):
    """A fault of the world that no new worker would cure, such as a damaged store: the crawl has to stop."""

    text: str


class Damaged(Message, frozen=True):
    """A partition cannot be read any more, and this worker ends with it; the other partitions can go on."""

    partition: int
    text: str


class NoRoom(Message, frozen=True):
    """The disk is full, and this worker ends, because its stores have to be opened anew once there is room."""

    text: str


ToSupervisor = Hello | Ready | Assigned | Report | Done | Said | Failure | Damaged | NoRoom | shared.Question
ToSupervisor |= ReportTaken
ToWorker = Welcome | Assign | Revoke | Lose | Owners | Ask | Allow | AddSeeds | ReleaseUrl | Retry | Leave
ToWorker |= Instruct | FetchReport | shared.Reply
