"""What is told of a crawl: pictures of any size, why nothing happens, and lines where nobody watches."""

from __future__ import annotations

import asyncio
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from rich.text import Text

from gossamer.clock import VirtualClock
from gossamer.fetch.dns import DnsCounts
from gossamer.fetch.robots import RobotsCounts
from gossamer.folder import CrawlFolder
from gossamer.frontier.disk.tables import Totals
from gossamer.messages.control_messages import FETCH_S, Event, Now, Point, RestingHost, SlowHost, Wait, WorkerNow
from gossamer.messages.worker_messages import News
from gossamer.records import Reason
from gossamer.settings import CrawlSettings, Tree
from gossamer.supervisor.chart import bar, chart
from gossamer.supervisor.picture import Scene, picture
from gossamer.supervisor.standstill import why_nothing
from gossamer.supervisor.status import CrawlStatus
from gossamer.supervisor.terminal import Terminal
from gossamer.supervisor.worker_pool import WorkerPool
from gossamer.text import time_of_day

NOON = 1_763_380_800.0
LATER = NOON + 3000
WORKER = WorkerNow(0, 4711, "working")
NOW = Now(
    at=NOON,
    started_at=NOON - 300,
    totals=Totals(
        known=2000,
        queued=1500,
        waiting=12,
        pages=400,
        hosts=83,
        bytes=91_234_567,
        resting=9,
        resting_hosts={"connect": 2},
    ),
    totals_at_start=Totals(),
    pages_today=400,
    pages_per_s=4.0,
    bytes_per_s=80_000,
    errors_per_s=0.1,
    errors={"robots": 43, "gone": 12},
    in_flight=40,
    active_hosts=62,
    queue_levels=[],
    dns=DnsCounts(),
    robots=RobotsCounts(),
    fetch_s=[],
    workers=[WORKER],
    memory_bytes=312_000_000,
    disk_free_bytes=45_000_000_000,
    under_way=23,
    statuses={200: 390, 204: 10, 301: 120, 404: 12, 500: 3, 0: 4},
    slow=(SlowHost("slow.test", 14.2, is_under_way=True), SlowHost("late.test", 3.2)),
    resting=(RestingHost("down.test", LATER, "connect", 7), RestingHost("away.test", LATER + 86_400, "timeout", 2)),
)
POINTS = [Point(NOON - 100 + second, pages=4 * second) for second in range(101)]
EVENTS = [Event(NOON, "page", f"http://www.test/{number}", 200, None, 1234, 0.5) for number in range(60)]


def scene(now: Now = NOW, **limits: Any) -> Scene:
    said = [(NOON - 5, "worker 1 was killed by SIGKILL\nTraceback")]
    return Scene(now, POINTS, EVENTS, said, CrawlSettings(**limits), "crawl-www.test")


def text_of(rows: list[Text]) -> str:
    return "\n".join(row.plain for row in rows)


# ---- pictures --------------------------------------------------------------------------------------------


def test_a_picture_has_as_many_rows_as_the_window_and_its_first_and_last_are_always_there() -> None:
    for height in range(2, 70):
        for width in (1, 5, 12, 30, 60, 80, 120, 300):
            rows = picture(scene(max_pages=1000), width, height)
            assert len(rows) == height
            assert rows[0].plain.strip()[:1] in "g…" and rows[-1].plain.startswith("Ctrl-C")


@pytest.mark.parametrize(("width", "height"), [(120, 40), (80, 24), (60, 20)])
def test_every_usual_window_has_all_that_there_is_to_tell(width: int, height: int) -> None:
    text = text_of(picture(scene(max_pages=1000), width, height))
    for told in (
        " 40%  400 of 1,000 pages · about 2 min 30 s left",  # 600 pages at 4 a second
        "2xx 400  3xx 120  4xx 12  5xx 3  none 4",
        "robots 43  gone 12",
        "top 4/s",
        "SIGKILL",
        "23 requests under way",
        f"until {time_of_day(LATER, NOON)}",
        "resting hosts: 2",
    ):
        assert told in text, told
    assert [row.split()[0] for row in text.splitlines() if "so far" in row and "URLs" not in row] == ["slow.test"]
    assert "40 leased" in text and "Traceback" not in text
    assert text.count("http://www.test/") >= height // 5


def test_the_bar_goes_towards_the_limit_that_is_reached_first() -> None:
    def progress(**limits: Any) -> str:
        return text_of(picture(scene(**limits), 80, 24))

    assert " 50%  5 min 00 s of 10 min 00 s · about 5 min 00 s left" in progress(max_time_s=600, max_pages=100_000)
    assert " 40%  400 of 1,000 pages" in progress(max_time_s=86_400, max_pages=1000)
    assert " 24%  488 of 2,000 URLs known so far" in progress()
    idle = replace(NOW, pages_per_s=0.0)
    quiet = Scene(idle, POINTS[:1], EVENTS, (), CrawlSettings(max_pages=1000), "")
    assert " 40%  400 of 1,000 pages\n" in text_of(picture(quiet, 80, 24))


def test_bars_and_charts() -> None:
    assert [bar(share, 4, "").plain for share in (-1, 0.1, 0.25, 2)] == ["░░░░", "░░░░", "█░░░", "████"]
    assert chart([8, 0, 0.001, 4], 6, 1) == ["  █ ▁▄"]
    assert chart([2, 1, 0.5], 3, 2) == ["█  ", "██▄"]
    assert chart([9, 1, 2], 2, 1) == ["▄█"] and chart([], 3, 1) == ["   "]


# ---- why nothing happens ---------------------------------------------------------------------------------

IDLE = replace(NOW, in_flight=0, under_way=0, pages_per_s=0.0, slow=())


@pytest.mark.parametrize(
    ("now", "why"),
    [
        (NOW, ""),
        (replace(NOW, under_way=0), ""),
        (
            replace(NOW, is_draining=True),
            "stopping: 23 requests under way will be finished; slow.test has taken 14 s so far",
        ),
        (replace(NOW, is_draining=True, under_way=0), "stopping: 40 pages will be stored"),
        (replace(IDLE, is_draining=True), "stopping"),
        (replace(IDLE, paused="as asked"), "paused: as asked"),
        (replace(IDLE, paused="the disk is full"), "paused: the disk is full; it resumes by itself"),
        (replace(IDLE, workers=[WORKER, WorkerNow(1, 1, "starting")]), "starting: 1 of 2 workers at work"),
        (replace(IDLE, workers=[WorkerNow(3, 1, "not answering")]), "worker 3 does not answer; the others go on"),
        (replace(NOW, pages_per_s=0.0), "waiting for answers: slow.test has taken 14 s so far"),
        (
            replace(IDLE, wait=Wait(NOON + 2.4, "turn", "a.test", Reason.CRAWL_DELAY)),
            "waiting: a.test is asked again in 2 s: Crawl-delay in robots.txt (62 hosts with work)",
        ),
        (
            replace(IDLE, active_hosts=1, wait=Wait(LATER, "turn", "a.test", Reason.ASKED_BY_SERVER)),
            f"waiting: a.test is asked again at {time_of_day(LATER, NOON)}: Retry-After",
        ),
        (
            replace(IDLE, wait=Wait(LATER, "try")),
            "waiting for hosts that rest: down.test is asked again at "
            f"{time_of_day(LATER, NOON)}: no connection to its server",
        ),
        (
            replace(IDLE, resting=(), wait=Wait(LATER, "try")),
            f"only later tries are left: 12 URLs, the first at {time_of_day(LATER, NOON)}",
        ),
        (
            replace(IDLE, wait=Wait(LATER, "visit")),
            f"everything is fetched; the next page is visited again at {time_of_day(LATER, NOON)}",
        ),
        (
            replace(
                IDLE, unanswered={"dns": 2, "connect": 5}, wait=Wait(NOON + 3, "turn", "a.test", Reason.BACK_OFF)
            ),
            "no server answers any more (5 × no connection to its server, 2 × its name could not be resolved); "
            "waiting: a.test is asked again in 3 s: it was overloaded (62 hosts with work)",
        ),
        (
            replace(IDLE, totals=Totals(turned_away={"excluded": 1})),
            "nothing to fetch: what it was to start from is rejected: matches an --exclude pattern",
        ),
        (IDLE, ""),
    ],
)
def test_why_nothing_happens_is_told_in_a_sentence(now: Now, why: str) -> None:
    assert why_nothing(now) == why


def test_moments_are_told_as_a_clock_on_the_wall_does() -> None:
    assert time_of_day(NOON + 1, NOON).count(":") == 2
    assert time_of_day(NOON + 5 * 86_400, NOON).split()[1] == "Nov"


# ---- lines -----------------------------------------------------------------------------------------------


async def test_where_nobody_watches_a_line_comes_with_news_and_once_a_minute_without(
    folder: Path, clock: VirtualClock
) -> None:
    status, out = CrawlStatus(CrawlFolder(folder), clock), StringIO()
    pool = status.pool = WorkerPool(CrawlFolder(folder), Tree(), None, None, print)  # type: ignore[arg-type] # no workers
    pool.totals = {0: Totals(pages=5, queued=1)}
    terminal = Terminal(folder, CrawlSettings(), status, clock, out)
    showing = asyncio.create_task(terminal.show())

    async def lines_after(seconds: int) -> list[str]:
        before = len(out.getvalue().splitlines())
        for _ in range(seconds):
            await settle()
            clock.advance(1.0)
        await settle()
        return out.getvalue().splitlines()[before:]

    first = await lines_after(5)
    assert len(first) == 1 and first[0].startswith("gossamer: pages=5 ") and "; starting" in first[0]
    assert await lines_after(55) == []
    assert await lines_after(300) == first * 5
    pool.totals = {0: Totals(pages=6)}
    status.progress.add(News(errors={"gone": 1}, fetch_s=[0] * (len(FETCH_S) + 1)))
    [news] = await lines_after(10)
    assert "pages=6 " in news and " gone=1" in news
    terminal.say("something\x1b[2J happened")
    assert out.getvalue().endswith("gossamer: something\\x1b[2J happened\n")
    showing.cancel()


async def settle() -> None:
    for _ in range(5):
        await asyncio.sleep(0)
