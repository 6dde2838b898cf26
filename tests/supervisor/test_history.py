"""The history of a crawl: what is read back, whatever happened to the file, and what was done today."""

from __future__ import annotations

from pathlib import Path

import pytest

from gossamer.folder import CrawlFolder
from gossamer.messages.control_messages import Point
from gossamer.supervisor.history import DAY_S, History, last, points

NOON = 19_676 * DAY_S + DAY_S / 2


def minutes(folder: CrawlFolder, count: int, start: float = NOON, pages: int = 0) -> list[Point]:
    """A run that fetches a page a minute."""
    noted = [Point(start + 60 * minute, pages + minute, hosts=3) for minute in range(count)]
    history = History(folder.history, noted[0])
    for point in noted[1:]:
        history.note(point)
    return noted


@pytest.fixture
def crawl(folder: Path) -> CrawlFolder:
    return CrawlFolder(folder)


def test_a_line_a_minute_and_a_point_a_second_are_kept(crawl: CrawlFolder) -> None:
    history = History(crawl.history, Point(NOON))
    for tenth in range(1, 1800):
        history.note(Point(NOON + tenth / 10, pages=tenth))
    assert [point.pages for point in points(crawl)] == [0, 600, 1200]
    assert 170 <= len(history.recent) <= 180 and history.recent[-1].pages > 1780


def test_a_long_history_is_told_by_a_few_points_the_last_one_always(crawl: CrawlFolder) -> None:
    noted = minutes(crawl, 1000)
    assert points(crawl, most=2000)[:900] == noted[:900]
    for most in (1, 2, 7, 100):
        some = points(crawl, most=most)
        assert len(some) == most and some[-1] == noted[-1] and some == sorted(some, key=lambda point: point.at)
    since = points(crawl, since=noted[900].at - 1, most=500)
    assert since[0] == noted[900] and len(since) == 100
    assert points(crawl, since=noted[-1].at + 1) == []


def test_what_is_no_line_is_passed_over(crawl: CrawlFolder) -> None:
    assert points(crawl) == [] and last(crawl) is None
    noted = minutes(crawl, 5)
    with crawl.history.open("ab") as file:
        file.write(b'gar\xffbage\n\n{}\n[1]\n{"at": 17000')
    assert points(crawl) == noted and last(crawl) == noted[-1]
    after = minutes(crawl, 5, start=NOON + 3600)
    assert points(crawl) == noted + after


def test_today_begins_at_midnight_whatever_ran_before(crawl: CrawlFolder) -> None:
    midnight = NOON + DAY_S / 2
    minutes(crawl, 21, start=midnight - 600 - 30)  # a page a minute, until ten minutes after
    morning = midnight + 8 * 3600
    history = History(crawl.history, Point(morning, pages=20))
    assert history.pages_today(25) == pytest.approx(25 - 10.5, abs=0.5)
    history.note(Point(morning + DAY_S, pages=100))
    assert history.pages_today(107) == 7


def test_what_a_killed_run_did_after_its_last_line_was_not_done_today(crawl: CrawlFolder) -> None:
    minutes(crawl, 11)  # until ten past noon; then killed, with five more pages
    history = History(crawl.history, Point(NOON + DAY_S, pages=15))
    assert history.pages_today(18) == 3


def test_where_it_cannot_be_written_the_crawl_goes_on(folder: Path) -> None:
    history = History(folder / "missing" / "history.jsonl", Point(NOON, pages=5))
    assert history.pages_today(7) == 2


def test_where_nothing_ran_the_ends_of_both_runs_are_told_however_few_points_are_wanted(crawl: CrawlFolder) -> None:
    runs = []
    for start in (NOON, NOON + 50_000.0):
        noted = [Point(start + 60 * minute, minute, started_at=start) for minute in range(300)]
        history = History(crawl.history, noted[0])
        for point in noted[1:]:
            history.note(point)
        runs.append(noted)
    for most in (2, 3, 10, 100):
        some = points(crawl, most=most)
        assert some == sorted(some, key=lambda point: point.at) and len(some) <= most + 2
        assert {runs[0][-1].at, runs[1][0].at} <= {point.at for point in some}


def test_lines_of_an_earlier_version_are_read(crawl: CrawlFolder) -> None:
    crawl.history.write_text(f'{{"at":{NOON},"pages":3,"bytes":9,"errors":1,"queued":2,"waiting":0,"hosts":1}}\n')
    assert last(crawl) == Point(NOON, 3, 9, 1, 2, 0, 1)
