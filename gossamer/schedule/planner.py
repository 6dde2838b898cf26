"""The planner of a partition: what its pages are worth, and when each of them is visited again.

It stands between the frontier, which knows states and queues, and the pure functions of this package. The frontier
asks it at four moments:

    a link comes         what credit it brings, and whether a queued page deserves a better place for it
    a URL is leased      what it may give to the pages it links to
    a page is finished   its history after this visit, what its host's word was worth, and when it is due again
    a sitemap speaks     whether a page is due sooner

What it knows of the partition as a whole (the census, the middle pace, the treasury) is written in the same batch as
the pages that changed it. What the partitions share comes from outside as a `Course`.

**Promises.** Most links lead to pages that are known already. To write each of those pages anew for every link would
cost more than all else that is done with links. So what a link is worth is noted in memory first, and counts when the
page is leased, or when it has doubled and the page is looked at for a better place. Until then Lambda has not paid,
so that a crash loses a little evidence and no credit. Memory holds the latest `PROMISES_MAX`.
"""

from __future__ import annotations

from collections import OrderedDict
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

import msgspec

from gossamer.records import Fetched, History, Host, Known, Lease, Link, Moved, Outcome, Pace, State
from gossamer.schedule import importance
from gossamer.schedule.change import NEVER, gone, is_change, look_of, seen
from gossamer.schedule.course import Course, Survey, bounds_of
from gossamer.schedule.importance import Treasury
from gossamer.schedule.ranks import Ranks
from gossamer.schedule.rate import Belief, belief, moved, pace_of, prior_rate
from gossamer.schedule.recrawl import DAY_S, again_when_gone_s, cell_of, chance_fresh, interval_s, recount, sooner_s
from gossamer.schedule.trust import after_visit, dates_are_trusted, odds_of_call
from gossamer.settings import ProcessSettings, ScheduleSettings
from gossamer.url.site import host_of, origin_of, site_of

PROMISES_MAX = 10_000  # of a partition: some 2 MB


class Books(msgspec.Struct):
    """What has to survive, beside what stands with each page and host."""

    treasury: Treasury = msgspec.field(default_factory=Treasury)
    census: dict[int, int] = {}
    pace: Pace = Pace()  # of all pages
    visits: int = 0  # of pages that were there before


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Books).decode


class Planner:
    def __init__(self, settings: ScheduleSettings, process: ProcessSettings, course: Course) -> None:
        self._settings = settings
        self._process = process
        self._bounds = bounds_of(settings)
        self._course = course
        self._books = Books()
        self._is_changed = False
        self._promises: OrderedDict[str, int] = OrderedDict()  # to find the oldest of a dict takes 5 µs
        self.ranks: Ranks | None = None  # of an earlier `gossamer rank`: better than any estimate, of what it knows

    # ---- what survives -----------------------------------------------------------------------------------

    def load(self, stored: bytes) -> None:
        self._books = _decode(stored)

    def changes(self) -> bytes | None:
        """What has to be written in this batch; None: nothing is new since the last."""
        if not self._is_changed:
            return None
        self._is_changed = False
        return _encode(self._books)

    # ---- with the other partitions -----------------------------------------------------------------------

    def survey(self, known: int, overdue: int) -> Survey:
        books = self._books
        treasury = books.treasury
        return Survey(
            dict(books.census), known, treasury.cash, treasury.minted, dict(treasury.given), books.visits, overdue
        )

    def follow(self, course: Course, number: int) -> None:
        """`number`: of this partition."""
        self._course = course
        treasury = self._books.treasury
        for source, given in course.given.items():
            if number in given:
                importance.told(treasury, source, given[number])
        if course.cashes:
            importance.level(treasury, number, course.cashes)
        self._is_changed = True

    @property
    def minted(self) -> int:
        return self._course.minted or self._books.treasury.minted

    # ---- credit ------------------------------------------------------------------------------------------

    def mint(self) -> int:
        """A seed comes."""
        self._is_changed = True
        return importance.mint(self._books.treasury)

    def advance(self, worth: int) -> int:
        """A link comes to a new page: what the page gets."""
        self._is_changed = True
        return importance.advance(self._books.treasury, worth)

    def promise(self, url: str, worth: int) -> int:
        """A link comes to a page that is known. Returns what it was promised so far."""
        promised = self._promises.pop(url, 0) + worth
        self._promises[url] = promised  # the latest are last
        if len(self._promises) > PROMISES_MAX:
            self._promises.popitem(last=False)
        return promised

    def raised(self, known: Known) -> Known | None:
        """The page with what it was promised, if that makes it worth a better place in its queue."""
        promised = self._promises.get(known.url, 0)
        if not promised or not importance.is_worth_more(known.credit + promised, known.credit):
            return None
        del self._promises[known.url]
        return msgspec.structs.replace(known, credit=known.credit + self.advance(promised))

    def esteemed(self, known: Known) -> Known | None:
        """A page that was fetched, with what links have promised it since, if that doubles what it is worth.

        It is not to be visited now, so nothing is paid: what it earned says how important it is, and no more."""
        promised = self._promises.get(known.url, 0)
        if not promised or promised < known.earned:
            return None
        del self._promises[known.url]
        return msgspec.structs.replace(known, earned=known.earned + promised)

    def dropped(self, known: Known, host: Host | None) -> Known:
        """A page will not be asked for: what it held goes to Lambda, and nobody plans for it any more.

        `host`: of a page that was visited before."""
        self._return(known.credit)
        history = known.history
        if history is not None and host is not None:
            history = self._counted(history, host, None, 1.0)
        return msgspec.structs.replace(known, credit=0, history=history, due_at=None)

    def _return(self, credit: int) -> None:
        importance.finished(self._books.treasury, credit)
        self._is_changed = True

    def to_give(self, known: Known, host: Host) -> int:
        """What a page may give to those it links to when it is fetched."""
        even = importance.grant(self._course.even_share, host.pages, host.in_links)
        return known.credit + self._promises.get(known.url, 0) + even

    def standing(self, known: Known) -> float:
        """What links make of a page, in [0, 1]: by its rank where it has one, else by its credit to the power of two:
        pages of about the same credit have the same."""
        ranked = self.ranks.page(known.url) if self.ranks is not None else None
        if ranked is not None:
            return ranked
        return importance.standing(1 << (known.credit or known.earned).bit_length(), self.minted)

    def authority(self, host: Host) -> float:
        """What other sites make of a host, in [0, 1]."""
        ranked = self.ranks.host(host.name) if self.ranks is not None else None
        return importance.standing(host.earned, self.minted) if ranked is None else ranked

    def weight(self, known: Known, earned: int) -> float:
        """What a page is worth to come back to, as a multiple of the mean."""
        ranked = self.ranks.pages.rank(known.url) if self.ranks is not None else None
        if self.ranks is not None and ranked is not None:
            return importance.bounded(ranked * len(self.ranks.pages))
        return importance.weight(earned, self.minted, self._course.known)

    def earns_its_keep(self, host: Host) -> bool:
        return importance.earns_its_keep(host.earned, host.pages, self.minted, self._course.known)

    # ---- visits ------------------------------------------------------------------------------------------

    def finished(self, before: Known, after: Known, host: Host, outcome: Outcome, now: float) -> Known:
        """The record of a URL whose outcome is final: what it has learnt, when it is due again, its credit given."""
        gave = before.credit + self._promises.pop(before.url, 0)
        self._return(before.credit)
        history, due_at = before.history, None
        earned = before.earned + gave
        if isinstance(outcome.result, Fetched | Moved) and after.state is State.DONE:
            self._books.visits += history is not None
            history = self._visited(history or NEVER, host, outcome)
            history, due_at = self._planned(history, host, self.weight(before, earned), now)
        elif history is not None:
            history = gone(history, now)
            wait_s = again_when_gone_s(history.gone)
            due_at = now + wait_s if wait_s is not None else None
            history = self._counted(history, host, None, 1.0)
        return msgspec.structs.replace(after, history=history, due_at=due_at, credit=0, earned=earned)

    def _visited(self, history: History, host: Host, outcome: Outcome) -> History:
        result = outcome.result
        assert isinstance(result, Fetched | Moved)
        exchange = result.exchange
        date = modified_at(exchange.header("Last-Modified"))
        is_first, look = not history.visited_at, self._look(outcome)
        changed = not is_first and look is not None and is_change(history.look, look, self._process.near_bits)
        trusted = date if dates_are_trusted(host.trust) else None
        after = seen(history, exchange.started_at, changed=changed, look=look, modified_at=trusted)
        if not is_first:
            later = None if date is None or look is None else date > history.visited_at
            host.trust = after_visit(host.trust, changed=changed, dated_later=later, said=history.said)
        return after

    def _look(self, outcome: Outcome) -> int | None:
        """None: as it was before."""
        result, page, process = outcome.result, outcome.page, self._process
        if isinstance(result, Moved):
            return look_of(0, 0, result.target, "", words_min=1)
        if page is None:
            return None
        text = page.main_text or page.text
        return look_of(page.simhash, page.words, text, outcome.content_hash, words_min=process.near_words_min)

    def _planned(self, history: History, host: Host, weight: float, now: float) -> tuple[History, float]:
        believed = self._belief(history, host)
        wait_s = interval_s(believed, weight, self._course.multiplier, self._bounds)
        return self._counted(history, host, believed, weight), now + max(wait_s, self._least_s(host))

    def _least_s(self, host: Host) -> float:
        """As long as it takes to visit all pages of a host, at the pace that it can be asked or may cost."""
        most = self._settings.host_visits_a_day
        return host.pages * max(host.delay_s, DAY_S / most if most is not None else 0.0)

    def _counted(self, history: History, host: Host, believed: Belief | None, weight: float) -> History:
        """Count the page where it belongs now: by its pace at its host and everywhere, and in the census."""
        pace, cell = (pace_of(believed), cell_of(believed, weight)) if believed is not None else (0, -1)
        host.pace = moved(host.pace, history.pace, pace)
        self._books.pace = moved(self._books.pace, history.pace, pace)
        recount(self._books.census, history.cell, cell)
        return msgspec.structs.replace(history, pace=pace, cell=cell)

    def _belief(self, history: History, host: Host) -> Belief:
        return belief(history, prior_rate(host.pace, self._books.pace, 1 / self._settings.first_guess_s))

    def need(self, known: Known, host: Host, now: float) -> float:
        """How much a new copy is needed, in [0, 1]: the chance that the one we have is not good any more."""
        if known.history is None or known.history.gone:
            return 1.0
        return 1.0 - chance_fresh(max(0.0, now - known.history.visited_at), self._belief(known.history, host))

    def called(self, known: Known, host: Host, lastmod: str, now: float) -> Known | None:
        """A sitemap says when the page changed last: the page as it is after that; None: nothing new."""
        history, moment = known.history, stamp(lastmod)
        if history is None or known.due_at is None or moment is None:
            return None
        said = 2 if moment > history.visited_at else 1
        if history.said >= said:
            return None
        due_at, odds = known.due_at, odds_of_call(host.trust)
        if said == 2 and odds > 1:
            age_s, planned_s = max(0.0, now - history.visited_at), due_at - history.visited_at
            sooner = now + sooner_s(age_s, planned_s, self._belief(history, host), odds)
            due_at = max(min(due_at, sooner), history.visited_at + self._bounds.shortest_s)
        return msgspec.structs.replace(known, history=msgspec.structs.replace(history, said=said), due_at=due_at)

    def explained(self, known: Known, host: Host) -> dict[str, float | int]:
        """What the next visit follows from, for people."""
        history = known.history or NEVER
        return {
            "visits": history.visits + bool(history.visited_at),
            "changes_seen": history.changes + history.dated,
            "changes_every_s": round(1 / self._belief(history, host).rate),
            "weight": round(self.weight(known, known.earned), 4),
            "gone": history.gone,
        }


def share_out(lease: Lease, links: list[Link]) -> list[int]:
    """What each link of a page is worth: those to other sites more than those within the site."""
    origin, site = origin_of(lease.url) + "/", site_of(lease.host)
    crosses = [not link.url.startswith(origin) and site_of(host_of(link.url)) != site for link in links]
    return importance.worths(lease.credit, crosses)


def modified_at(text: str | None) -> float | None:
    """`Last-Modified` as seconds; None where there is none that can be read."""
    if text is None:
        return None
    try:
        return parsedate_to_datetime(text).timestamp()
    except (ValueError, OverflowError):
        return None


def stamp(text: str) -> float | None:
    """A date as sitemaps give it; None: no date."""
    try:
        moment = datetime.fromisoformat(text.strip())
    except ValueError:
        return None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
