"""Limits that site owners and operators expect, set before the crawl and changed while it runs."""

from __future__ import annotations

import asyncio
import json
import signal
import time
from pathlib import Path

import pytest

from tests.crawl.command import gossamer, quick_settings, start, until
from tests.fetch.raw_server import raw_server

HOSTS, PAGES = 20, 8
CRAWL_PER_S, SITE_PER_S = 4.0, 8.0


async def test_a_crawl_keeps_to_its_own_rate_then_to_its_sites_then_to_its_hosts(folder: Path) -> None:
    moments: list[float] = []

    def answer(request: bytes) -> list[bytes | float]:
        moments.append(time.monotonic())
        if b"/robots.txt" in request:
            return [b"HTTP/1.1 404 X\r\nContent-Length: 0\r\n\r\n"]
        body = str(len(moments)) + "".join(f'<a href="/{n}">{n}</a>' for n in range(PAGES))
        return [f"HTTP/1.1 200 X\r\nContent-Type: text/html\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode()]

    def slowest(since: int, requests: int, rate: float) -> bool:
        """Whether these took as long as they have to, give or take what may go at once."""
        span_s = moments[since + requests - 1] - moments[since]
        return span_s >= (requests - 1 - max(2, 0.3 * rate)) / rate

    names = [f"h{n}.big.test" for n in range(HOSTS)]
    async with raw_server() as server:
        server.answer = answer
        folder.mkdir(exist_ok=True)
        overrides = ", ".join(f'"{name}" = "127.0.0.1"' for name in names)
        (folder / "more.toml").write_text(f"[dns]\noverrides = {{{overrides}}}\n")
        flags = ["--allow-private", "--workers", 2, "--config", folder / "more.toml", *quick_settings()]
        flags += ["--set", f"politeness.site_requests_per_s={SITE_PER_S}"]
        flags += ["--set", f"politeness.requests_per_s={CRAWL_PER_S}"]
        crawl = await start("crawl", *(server.url("/", name) for name in names), "--dir", folder / "crawl", *flags)
        try:
            await until(lambda: len(moments) >= 8)
            assert slowest(0, 8, CRAWL_PER_S), moments

            await gossamer("policy", folder / "crawl", "--requests-per-s", 0)
            since = len(moments) + 2 * HOSTS  # by then those are gone that had their moment already
            await until(lambda: len(moments) >= since + 20)
            assert slowest(since, 20, SITE_PER_S), moments[since:]

            await gossamer("policy", folder / "crawl", "big.test", "--crawl-rate", 1000)
            out, err = await asyncio.wait_for(crawl.communicate(), 30)
        finally:
            if crawl.returncode is None:
                crawl.send_signal(signal.SIGKILL)
    assert crawl.returncode == 0 and b"Complete" in out, err
    assert len(moments) == HOSTS * (1 + 1 + PAGES)


async def test_a_crawl_keeps_to_its_bandwidth(folder: Path) -> None:
    """Judged by the server, which counts what it sent: however slow the machine, it is never faster than that."""
    page_bytes, bytes_per_s = 60_000, 150_000
    sent: list[float] = []  # moments

    def answer(request: bytes) -> list[bytes | float]:
        if b"/robots.txt" in request:
            return [b"HTTP/1.1 404 X\r\nContent-Length: 0\r\n\r\n"]
        sent.append(time.monotonic())
        links = "".join(f'<a href="/{n}">{n}</a>' for n in range(PAGES))
        body = f"<p>{len(sent)}</p>{links}".ljust(page_bytes)
        return [f"HTTP/1.1 200 X\r\nContent-Type: text/html\r\nContent-Length: {page_bytes}\r\n\r\n{body}".encode()]

    hosts = [f"127.0.0.{n}" for n in range(1, 4)]
    async with raw_server(also=hosts[1:]) as server:
        server.answer = answer
        flags = ["--dir", folder / "crawl", "--allow-private", "--workers", 1, *quick_settings()]
        flags += ["--set", f"politeness.bytes_per_s={bytes_per_s}", "--max-pages", 24]
        ran = await gossamer("crawl", *(server.url("/", host) for host in hosts), *flags)
    assert ran.code == 0 and len(sent) == 24, ran.err
    # The first ones are taken for pages of ordinary size; the later ones make up for what they brought too much.
    late = sent[8:]
    assert late[-1] - late[0] >= 0.8 * (len(late) - 1) * page_bytes / bytes_per_s, sent


async def test_a_crawl_that_may_hold_few_urls_asks_for_the_better_ones(folder: Path) -> None:
    """A hundred links of the navigation come before twenty of the main text, and there is room for forty."""
    asked: list[str] = []

    def answer(request: bytes) -> list[bytes | float]:
        path = request.split()[1].decode()
        asked.append(path)
        if path != "/":
            return [b"HTTP/1.1 404 X\r\nContent-Length: 0\r\n\r\n"]
        navigation = "".join(f'<li><a href="/n{n}">n</a></li>' for n in range(100))
        text = "".join(
            f'<p>A long sentence that leads to <a href="/t{n}">the text {n}</a> of it.</p>' for n in range(20)
        )
        body = f"<nav><ul>{navigation}</ul></nav><main>{text}</main>"
        return [f"HTTP/1.1 200 X\r\nContent-Type: text/html\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode()]

    async with raw_server() as server:
        server.answer = answer
        flags = ["--dir", folder / "crawl", "--allow-private", "--workers", 1, *quick_settings()]
        flags += ["--set", "crawl.partitions=1", "--set", "frontier.queue_max=40"]
        ran = await gossamer("crawl", server.url("/"), *flags)
    assert ran.code == 0, ran.err
    assert {path for path in asked if path.startswith("/t")} == {f"/t{n}" for n in range(20)}
    assert 15 <= sum(path.startswith("/n") for path in asked) <= 20


@pytest.mark.parametrize("workers", [1, 2])
async def test_slow_answers_do_not_hold_up_the_last_pages_of_a_limit(folder: Path, workers: int) -> None:
    """Twelve hosts answer at once, four say nothing for as long as the test lasts."""
    quick, slow = [f"q{n}.test" for n in range(12)], [f"s{n}.test" for n in range(4)]
    answered = 0

    def answer(request: bytes) -> list[bytes | float]:
        nonlocal answered
        if b"/robots.txt" in request:
            return [b"HTTP/1.1 404 X\r\nContent-Length: 0\r\n\r\n"]
        if b"\r\nHost: s" in request:
            return []  # and the connection stays open
        answered += 1
        body = str(answered) + "".join(f'<a href="/{n}">{n}</a>' for n in range(40))
        return [f"HTTP/1.1 200 X\r\nContent-Type: text/html\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode()]

    async with raw_server() as server:
        server.answer = answer
        folder.mkdir(exist_ok=True)
        overrides = ", ".join(f'"{name}" = "127.0.0.1"' for name in (*quick, *slow))
        (folder / "more.toml").write_text(f"[dns]\noverrides = {{{overrides}}}\n")
        flags = ["--allow-private", "--workers", workers, "--config", folder / "more.toml", "--delay", 0.05]
        seeds = [server.url("/", name) for name in (*slow, *quick)]
        began = time.monotonic()
        ran = await gossamer("crawl", *seeds, "--dir", folder / "crawl", *flags, "--max-pages", 60, timeout_s=40)
        assert time.monotonic() - began < 30  # an answer is waited for twice as long
        assert ran.code == 0, ran.err
        pages = [each for each in (await gossamer("pages", folder / "crawl", "--json")).lines() if each["status"]]
        assert len([each for each in pages if each["status"] == 200]) == 60
        status = json.loads((await gossamer("status", folder / "crawl", "--json")).out)
        assert (status["pages"], status["in_flight"]) == (60, 0), status
        assert (await gossamer("verify", folder / "crawl")).code == 0
        # What was asked for in vain stands in its queue, and the next start gets it.
        more = await gossamer("crawl", "--dir", folder / "crawl", "--max-pages", 70, *flags, timeout_s=40)
        assert (
            more.code == 0 and json.loads((await gossamer("status", folder / "crawl", "--json")).out)["pages"] == 70
        )
