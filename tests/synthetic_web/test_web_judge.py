"""The judge finds what it is there to find, and accuses nobody wrongly."""

from __future__ import annotations

import asyncio
from pathlib import Path

from gossamer.synthetic_web import AccessLog, Entry, Web, WebOptions, asked, gaps_below, overlapping, serve
from tests.synthetic_web.client import get


def entry(time_in: float, time_out: float, host: str = "a.test", path: str = "/") -> Entry:
    return Entry(time_in, time_out, host, 8000, path, 200)


def test_two_requests_in_flight_to_one_host_are_found() -> None:
    first, second, third = entry(1.0, 2.0), entry(1.5, 1.6), entry(2.5, 3.0)
    assert overlapping([third, second, first]) == [(first, second)]


def test_a_long_request_is_paired_with_all_that_came_during_it() -> None:
    long, one, other = entry(0.0, 10.0), entry(1.0, 2.0), entry(3.0, 4.0)
    assert overlapping([long, one, other]) == [(long, one), (long, other)]


def test_requests_to_different_hosts_may_overlap() -> None:
    entries = [entry(1.0, 2.0, "a.test"), entry(1.5, 1.6, "b.test")]
    assert overlapping(entries) == []
    assert gaps_below(entries, lambda host: 5.0) == []


def test_a_request_that_starts_when_the_last_one_ends_does_not_overlap() -> None:
    assert overlapping([entry(1.0, 2.0), entry(2.0, 3.0)]) == []


def test_a_gap_is_counted_from_the_end_of_the_last_answer() -> None:
    entries = [entry(0.0, 3.0), entry(3.9, 4.0), entry(5.5, 5.6)]
    (gap,) = gaps_below(entries, lambda host: 1.0)
    assert (gap.before, gap.after, gap.delay_s) == (entries[0], entries[1], 1.0)
    assert round(gap.gap_s, 3) == 0.9


def test_a_gap_after_a_long_request_counts_from_its_end_though_others_came_between() -> None:
    long, short, late = entry(0.0, 10.0), entry(1.0, 2.0), entry(10.5, 11.0)
    assert [(gap.before, gap.after) for gap in gaps_below([long, short, late], lambda host: 1.0)] == [
        (long, short),
        (long, late),
    ]


def test_each_host_has_its_own_delay_and_a_little_tolerance() -> None:
    entries = [entry(0.0, 1.0, host) for host in ("slow.test", "fast.test")]
    entries += [entry(1.999, 2.5, host) for host in ("slow.test", "fast.test")]
    found = gaps_below(entries, {"slow.test": 3.0, "fast.test": 1.0}.__getitem__)
    assert [gap.after.host for gap in found] == ["slow.test"]


def test_what_was_asked_for_is_told_as_urls() -> None:
    entries = [entry(1, 2, "a.test", "/x?y=1"), entry(3, 4, "a.test", "/x?y=1"), Entry(5, 6, "b.test", 80, "/", None)]
    assert asked(entries) == {"http://a.test:8000/x?y=1", "http://b.test/"}


async def test_a_polite_client_is_not_accused_and_an_impolite_one_is() -> None:
    async with serve(Web(WebOptions(hosts=2))) as server:
        for page in range(1, 15):
            await get(server.url(0, f"/p/{page}"))
            await asyncio.sleep(0.01)
        assert overlapping(server.log.entries) == []
        assert gaps_below(server.log.entries, lambda host: 0.01, tolerance_s=0.0) == []
        await get(server.url(0))
        await get(server.url(0))
        (gap,) = gaps_below(server.log.entries[-2:], lambda host: 5.0)
        assert gap.after == server.log.entries[-1]


async def test_the_log_file_can_be_read_while_the_server_runs_and_after_it(tmp_path: Path) -> None:
    file = tmp_path / "access.jsonl"
    async with serve(Web(WebOptions(hosts=2)), log_file=file) as server:
        await get(server.url(1, "/p/1"), {"User-Agent": "gossamer/1 (+me)"})
        (seen,) = AccessLog.load(file).entries
        assert seen == server.log.entries[0]
        assert (seen.user_agent, seen.status, seen.path) == ("gossamer/1 (+me)", 200, "/p/1")
        await get(server.url(1, "/p/2"))
    assert [entry.path for entry in AccessLog.load(file).entries] == ["/p/1", "/p/2"]
    with file.open("a") as lines:
        lines.write('{"time_in": 17')  # a line that is being written
    assert len(AccessLog.load(file).entries) == 2
