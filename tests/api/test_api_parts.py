"""Parts of the API by themselves, where a whole server would tell too little."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path

import msgspec
import pytest

from gossamer.api.crawl_client import UNREAD_MAX, Listener, Told
from gossamer.api.names import host_named
from gossamer.api.routes.history import over_time, quantile
from gossamer.api.routes.hosts import DomainsQuery, piece, read_place
from gossamer.api.routes.policies import policy_shape
from gossamer.api.table import ROUTES
from gossamer.api.views import AGE_S, View, Views
from gossamer.clock import VirtualClock
from gossamer.frontier.rules.policy import Policy
from gossamer.messages.control_messages import FETCH_S, Point
from tests.api.serving import empty_crawl


async def test_all_read_one_view_until_it_is_old_and_who_still_reads_keeps_theirs(
    folder: Path, clock: VirtualClock
) -> None:
    views = Views(empty_crawl(folder / "crawl"), clock)
    first = await views.read(lambda view: view)
    assert await views.read(lambda view: view) is first
    reading, go_on = threading.Event(), threading.Event()

    def slowly(view: View) -> int:
        reading.set()
        assert go_on.wait(20)
        return view.totals().pages

    slow = asyncio.ensure_future(views.read(slowly))
    await asyncio.to_thread(reading.wait, 20)
    clock.advance(AGE_S)
    second = await views.read(lambda view: view)
    assert second is not first and await views.read(lambda view: view) is second
    go_on.set()
    assert await slow == 0  # its view was still open
    views.close()


async def test_a_listener_that_reads_slowly_is_told_how_much_it_missed() -> None:
    listener = Listener([])
    for number in range(1, UNREAD_MAX + 11):
        listener.tell(Told(number, "page", b"{}"))
    told = listener.take()
    assert len(told) == UNREAD_MAX + 1 and told[0].name == "left_out"
    assert msgspec.json.decode(told[0].data) == {"count": 10}
    assert [one.number for one in told] == list(range(10, UNREAD_MAX + 11))
    assert listener.take() == []


@pytest.mark.parametrize("order", ["asc", "desc"])
def test_pieces_of_a_list_in_order_miss_nothing(order: str) -> None:
    names = [(value, f"{name}.test") for value in (0.0, 0.1, 1e300) for name in "abcde"]
    query = msgspec.convert({"order": order, "limit": 4}, DomainsQuery)
    seen: list[tuple[float, str]] = []
    cursor = None
    while True:
        chosen, cursor = piece(names, lambda one: one, query, read_place(cursor))
        seen += chosen
        if cursor is None:
            break
    assert seen == sorted(names, reverse=order == "desc")


@pytest.mark.parametrize(
    ("name", "host"),
    [
        ("Example.ORG", "example.org"),
        ("bücher.example", "xn--bcher-kva.example"),
        ("127.1", "127.0.0.1"),
        ("::1", "::1"),
        ("[::1]", "::1"),
        ("a.test:80", None),
        ("a/b", None),
        ("a b", None),
        ("u@a.test", None),
        ("a?b", None),
        ("a\n", None),
        ("%", None),
    ],
)
def test_a_host_is_named_as_records_name_it(name: str, host: str | None) -> None:
    assert host_named(name) == host


@pytest.mark.parametrize(
    ("delay_s", "rate"), [(0.5, 2.0), (3.0, 0.333333), (0.0, 10_000.0), (1e9, 1e-5), (None, None)]
)
def test_a_delay_is_shown_as_a_rate(delay_s: float | None, rate: float | None) -> None:
    assert policy_shape(Policy(delay_s=delay_s)).crawl_rate == rate


def test_no_two_routes_are_for_the_same_and_what_changes_something_needs_control() -> None:
    asked = [(route.method, route.path) for route in ROUTES]
    assert len(asked) == len(set(asked))
    free = {route.path for route in ROUTES if route.scope is None}
    assert free == {"/health", "/ready", "/api/v1/login"}
    harmless = {"/api/v1/login", "/api/v1/logout"}
    changing = {route.path: route.scope for route in ROUTES if route.method != "GET" and route.path not in harmless}
    assert changing.pop("/api/v1/crawler/report") == "fetch"
    assert set(changing.values()) == {"control"}


def test_points_become_rates_quantiles_and_estimates_with_a_gap_where_nothing_ran() -> None:
    def point(at: float, pages: int, started_at: float, fetch_s: list[int]) -> Point:
        return Point(
            at, pages, queued=100, started_at=started_at, duplicates=pages // 2, statuses=[0, pages], fetch_s=fetch_s
        )

    shown = over_time(
        [
            point(1000.0, 10, 990.0, [10, 0, 0]),
            point(1060.0, 70, 990.0, [10, 40, 20]),
            point(9000.0, 70, 8990.0, [10, 40, 20]),
            point(9060.0, 190, 8990.0, [10, 160, 20]),
        ],
        max_pages=250,
    )
    assert [one.is_start for one in shown] == [True, False, True, False]
    assert [one.pages_per_s for one in shown] == [0.0, 1.0, 0.0, 2.0]
    assert [one.answers_per_s["2xx"] for one in shown] == [0.0, 1.0, 0.0, 2.0]
    assert [one.duplicates_share for one in shown] == [None, 0.5, None, 0.5]
    assert shown[1].answer_p50_s == pytest.approx(0.01 + 0.015 * 30 / 40, abs=1e-4)
    assert shown[1].answer_p95_s == pytest.approx(0.025 + 0.025 * 17 / 20, abs=1e-4)
    assert shown[2].answer_p50_s is None
    assert [one.eta_s for one in shown] == [None, 100.0, None, 30.0]  # of 100 queued; of 60 up to the limit
    assert over_time([], None) == []


def test_the_middle_of_answers_that_all_took_longer_than_any_class_is_the_last_bound() -> None:
    assert quantile([0] * len(FETCH_S) + [5], 0.5) == FETCH_S[-1]
    assert quantile([], 0.5) is None
