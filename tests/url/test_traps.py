from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.clock import VirtualClock
from gossamer.records import Reason
from gossamer.settings import TrapsSettings
from gossamer.url import traps
from gossamer.url.traps import trap_in

BOUNDS = TrapsSettings()
IN_2024 = VirtualClock(start=1_720_000_000.0).now()


def trap(rest: str) -> Reason | None:
    return trap_in(f"http://a.test{rest}", BOUNDS, IN_2024)


@pytest.mark.parametrize(
    "rest",
    [
        "/",
        "/shop/item/12345.html?colour=red&size=42",
        "/" + "/".join(f"part{n}" for n in range(16)),
        "/en/docs/en/index.html",
        "/en/docs/en/docs/intro",
        "/a/b/c/x/a/b/c",  # not in a row
        "/2011/05/a/2011/05/a",
        "/commit/9f3ac01b77d0e4c2a1b5/diff",
        "/2011/11/11/11",  # a date and a number
        "/img/00/00/00/42.jpg",  # numbered folders
        "/img/1/2/3/4.jpg",
        "/2026/11/12/13",
        "/shoes/-/-/-/red",  # choices not made
        "/search?tag=a&tag=b&tag=c&tag=d",
        "/go?to=http%3A%2F%2Fb.test%2F%3Fto%3Dhttp%253A%252F%252Fc.test%252F",
        "/2003/05/some-title",
        "/2003/05/",
        "/1998-12-24.html",
        "/archive?date=1950-01-01",  # a newspaper
        "/calendar/2024/07",
        "/calendar/2010/05",
        "/calendar/2026/01",
        "/events/2005/05",
        "/events/2045/08/12/total-eclipse",
        "/events?date=2025-05-01",
        "/council/agenda/2001/03/14",
        "/products/2100/5",
        "/images/8745/12/03.jpg",
        "/goals/2050/",
        "/forecast?year=2050",
        "/report-2040-12-31-final.pdf",
        "/item?id=20400101",
        "/iso/8601/",
    ],
)
def test_an_honest_url_is_let_through(rest: str) -> None:
    assert trap(rest) is None


@pytest.mark.parametrize(
    ("rest", "reason"),
    [
        ("/" + "a" * 3000, Reason.URL_TOO_LONG),
        ("/" + "/".join(f"part{n}" for n in range(17)), Reason.TRAP_PATH_DEPTH),
        ("/a/b/a/b/a/b", Reason.TRAP_REPEATED_PATH),
        ("/info/more/info/more/info/more/", Reason.TRAP_REPEATED_PATH),
        ("/x/x/x", Reason.TRAP_REPEATED_PATH),
        ("/deep/1/2/3/4/5", Reason.TRAP_REPEATED_PATH),
        ("/a/1/a/2/a/3", Reason.TRAP_REPEATED_PATH),
        ("/a/b/c/a/b/c", Reason.TRAP_REPEATED_PATH),
        ("/site/a/b/c/d/a/b/c/d/x", Reason.TRAP_REPEATED_PATH),
        ("/x?" + "&".join(f"p{n}=1" for n in range(9)), Reason.TRAP_PARAMETERS),
        ("/x?f=1&f=2&f=3&f=4&f=5", Reason.TRAP_PARAMETERS),
        ("/x?f=1&f=1&f=1", Reason.TRAP_PARAMETERS),
        ("/login?to=%2525252Flogin%2525252525253F", Reason.TRAP_PARAMETERS),
        ("/calendar/2031/05", Reason.TRAP_CALENDAR),
        ("/calendar/2031-5.html", Reason.TRAP_CALENDAR),
        ("/calendar/2031/05/01/day", Reason.TRAP_CALENDAR),
        ("/calendar/9999/12", Reason.TRAP_CALENDAR),
        ("/kalender/1950/01", Reason.TRAP_CALENDAR),
        ("/events/2045/08/12/", Reason.TRAP_CALENDAR),
        ("/events?date=2031-05-01", Reason.TRAP_CALENDAR),
        ("/events?date=1931-05-01", Reason.TRAP_CALENDAR),
        ("/calendar?date=2099-12", Reason.TRAP_CALENDAR),
        ("/x?date=2031-05-01", Reason.TRAP_CALENDAR),
        ("/x?date=20310501", Reason.TRAP_CALENDAR),
        ("/x?date=1.5.2031", Reason.TRAP_CALENDAR),
        ("/x?start=2031%2F05%2F01", Reason.TRAP_CALENDAR),
        ("/x?month=5&year=2031", Reason.TRAP_CALENDAR),
        ("/news/2031/01/05/", Reason.TRAP_CALENDAR),
    ],
)
def test_a_trap_is_told_by_its_url(rest: str, reason: Reason) -> None:
    assert trap(rest) is reason


def test_the_bounds_are_settings() -> None:
    bounds = TrapsSettings(path_depth_max=2, parameters_max=1, url_bytes_max=40)
    assert trap_in("http://a.test/1/2/3", bounds, IN_2024) is Reason.TRAP_PATH_DEPTH
    assert trap_in("http://a.test/1?a=1&b=2", bounds, IN_2024) is Reason.TRAP_PARAMETERS
    assert trap_in("http://a.test/" + "x" * 40, bounds, IN_2024) is Reason.URL_TOO_LONG


def test_a_calendar_moves_on_with_time() -> None:
    a_year_s = 366 * 86_400
    assert trap_in("http://a.test/calendar/2027/01", BOUNDS, IN_2024) is Reason.TRAP_CALENDAR
    assert trap_in("http://a.test/calendar/2027/01", BOUNDS, IN_2024 + a_year_s) is None


def test_a_calendar_is_left_after_a_bounded_number_of_pages() -> None:
    months = [f"/calendar/{month // 12}/{month % 12 + 1:02}" for month in range(12 * 1800, 12 * 9999)]
    assert sum(trap(month) is None for month in months) <= 12 * 18


PIECES = st.sampled_from([*"0123456789-/_.=&aw", "20", "2031", "1905", "9999", "05", "12", "day", "calendar", "%2F"])


@given(st.lists(PIECES, max_size=16).map("".join))
def test_no_calendar_hides_from_the_quick_look(text: str) -> None:
    """Most URLs are told from calendars by one search, and only others are looked at closely."""
    if traps._DATE.search(text):
        assert traps._MAY_BE_DATED.search(text)
    if traps._is_far_in_a_calendar("/calendar", [f"date={text}", f"year={text}"], IN_2024):
        assert traps._HAS_YEAR.search(f"date={text}&year={text}")
