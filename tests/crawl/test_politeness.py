"""What the operators of web servers see: their access log, over a crawl of many hosts, is the proof."""

from __future__ import annotations

import time
from itertools import pairwise
from pathlib import Path

from gossamer.synthetic_web.access_log import Entry
from gossamer.synthetic_web.options import RobotsKind, WebOptions
from gossamer.synthetic_web.server import serve
from gossamer.synthetic_web.web import Web
from tests.crawl.command import gossamer, quick_settings
from tests.crawl.judge import broken_delays, requests_at_once
from tests.fetch.raw_server import raw_server

HOSTS, SHARED = 200, 50
IP_PER_S, IP_BURST = 40.0, 10
RETRY_AFTER_S = 2
WEB = WebOptions(
    hosts=HOSTS,
    pages_per_host=5,
    links_per_page=8,
    page_bytes=500,
    link_by_name=True,
    robots_kinds=(RobotsKind.OPEN, RobotsKind.MISSING, RobotsKind.DELAY),
    too_many_requests=0.05,
    retry_after_s=RETRY_AFTER_S,
    seed=3,
)


def addresses(web: Web) -> dict[str, str]:
    """The first hosts share one address; the others have one each."""
    return {web.atlas.name(host): web.atlas.address(max(host, SHARED - 1)) for host in range(HOSTS)}


async def test_two_hundred_hosts_of_which_fifty_share_an_address_see_a_polite_crawl(folder: Path) -> None:
    web = Web(WEB)
    async with serve(web) as server:
        names = "{" + ", ".join(f'"{name}" = "{ip}"' for name, ip in addresses(web).items()) + "}"
        folder.mkdir(exist_ok=True)
        more = folder / "more.toml"
        more.write_text(f"[dns]\noverrides = {names}\n")
        flags = ["--allow-private", "--scope", "any", "--workers", 2, "--config", more]
        flags += quick_settings(
            politeness__ip_requests_per_s=IP_PER_S, politeness__ip_burst=IP_BURST, fetch__timeout_s=20
        )
        ran = await gossamer("crawl", server.url(0), "--dir", folder / "crawl", *flags, timeout_s=150)
        assert ran.code == 0 and "Complete" in ran.out, ran.err
        entries = server.log.entries

    assert len({entry.host for entry in entries}) == HOSTS
    assert requests_at_once(entries) == []
    assert broken_delays(entries, web) == []
    assert_retry_after_was_kept(entries)
    of_the_shared = sorted(
        entry.time_in for entry in entries if addresses(web)[entry.host] == addresses(web)["h0.test"]
    )
    assert len(of_the_shared) > SHARED * WEB.pages_per_host
    assert_pace(of_the_shared, IP_PER_S, IP_BURST)


def assert_retry_after_was_kept(entries: list[Entry]) -> None:
    by_host: dict[str, list[Entry]] = {}
    for entry in sorted(entries):
        by_host.setdefault(entry.host, []).append(entry)
    refused = 0
    for visits in by_host.values():
        for before, after in pairwise(visits):
            if before.status == 429:
                refused += 1
                assert after.time_in - before.time_out >= RETRY_AFTER_S, (before, after)
    assert refused > 10


def assert_pace(moments: list[float], per_s: float, burst: int) -> None:
    """No stretch of time, long or short, saw more requests than its tokens and the burst."""
    late_s = 0.25  # a request is counted before it is sent, and a busy machine lets it wait on its way
    worst = max(
        count - (moments[first + count - 1] - moments[first]) * per_s
        for first in range(len(moments))
        for count in (2 * burst, 4 * burst, 8 * burst, 16 * burst)
        if first + count <= len(moments)
    )
    assert worst <= burst + late_s * per_s, worst


async def test_a_host_in_strain_is_asked_half_as_often_each_time_and_recovers_as_slowly(folder: Path) -> None:
    """Answers 3 to 6 are 503. What was asked for then comes again at the end."""
    delay_s, moments = 0.1, []

    def answer(request: bytes) -> list[bytes | float]:
        moments.append(time.monotonic())
        if b"/robots.txt" in request:
            return [b"HTTP/1.1 404 X\r\nContent-Length: 0\r\n\r\n"]
        if 3 <= len(moments) <= 6:
            return [b"HTTP/1.1 503 X\r\nContent-Length: 0\r\n\r\n"]
        links = "".join(f'<a href="/{n}">{n}</a>' for n in range(10))
        body = f"<p>{request.split()[1].decode()}{links}".encode()
        return [b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body)]

    async with raw_server() as server:
        server.answer = answer
        flags = ["--allow-private", "--workers", 1, *quick_settings(politeness__delay_s=delay_s)]
        flags += quick_settings(politeness__delay_s=delay_s, politeness__back_off_s_max=60, fetch__timeout_s=20)
        ran = await gossamer("crawl", server.url("/"), "--dir", folder, *flags)
        assert ran.code == 0, ran.err

    gaps = [after - before for before, after in pairwise(moments)]
    doubled = [delay_s * 2**n for n in range(1, 5)]
    eased = [doubled[-1] / 2**n for n in range(1, 4)]
    for gap_s, wanted_s in zip(gaps[2:], [*doubled, *eased, delay_s], strict=False):
        assert wanted_s - 0.005 <= gap_s < wanted_s + 5, gaps
    assert len(moments) == 1 + 11 + 4  # robots.txt, eleven pages, four of them twice


async def test_a_trap_of_thousands_of_urls_does_not_get_its_host_asked_twice_at_once(folder: Path) -> None:
    """A hub with 6,000 links of one pattern whose pages are alike, then honest pages that answer slowly."""
    delay_s, slow_s, honest = 0.02, 0.1, 6
    spans: list[tuple[float, float, str]] = []

    def answer(request: bytes) -> list[bytes | float]:
        path, started = request.split()[1].decode(), time.monotonic()
        if path == "/robots.txt":
            return [b"HTTP/1.1 404 X\r\nContent-Length: 0\r\n\r\n"]
        body = "<p>There is nothing to see on this page, and the next one is the same."
        if path == "/":
            links = [f"/item/{n}" for n in range(6000)] + [f"/honest-{word}" for word in "abcdef"[:honest]]
            body = "<p>All of it." + "".join(f'<a href="{link}">x</a>' for link in links)
        elif path.startswith("/honest"):
            body = f"<p>This is the story of {path}: " + f"{path[1:]} " * 20
        wait_s = slow_s if path.startswith("/honest") else 0.0
        spans.append((started, started + wait_s, path))
        head = f"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {len(body)}\r\n\r\n"
        return [wait_s, (head + body).encode()]

    async with raw_server() as server:
        server.answer = answer
        flags = ["--allow-private", "--workers", 1, "--set", "crawl.partitions=1"]
        flags += quick_settings(politeness__delay_s=delay_s, politeness__latency_factor=0, fetch__timeout_s=20)
        ran = await gossamer("crawl", server.url("/"), "--dir", folder, *flags)
        assert ran.code == 0 and "Complete" in ran.out, ran.err

    asked = [path for _, _, path in spans]
    assert sum(path.startswith("/honest") for path in asked) == len(set(asked)) - asked.index("/honest-a") == honest
    assert sum(path.startswith("/item") for path in asked) < 60, "most of them were refused at their turn"
    for (_, ended, before), (started, _, after) in pairwise(spans):
        assert started - ended >= delay_s - 0.005, f"{after} {started - ended:.3f} s after {before}"
