"""What a crawl tells: a log for whoever watches, and a report with counts by reason for the program."""

from __future__ import annotations

import asyncio
import logging
import sys
from collections import Counter
from pathlib import Path

import pytest

from gossamer.library import report as told
from gossamer.library import running
from gossamer.library.crawl import crawl
from gossamer.records import Reason
from gossamer.synthetic_web import Web, WebOptions, serve
from tests.crawl.command import ROOT, Ran
from tests.library.small_webs import QUICK, crawl_of, mixed_web, plain_web

SCRIPT = """
import logging, sys, gossamer
if len(sys.argv) > 3:
    logging.basicConfig(level=sys.argv[3], format="%(name)s|%(levelname)s|%(message)s")
settings = {key: value for key, value in [pair.split("=") for pair in sys.argv[2].split(";")]}
pages = gossamer.crawl_sync(sys.argv[1], allow_private=True, scope="any", delay=0.02, settings=settings)
print(len(list(pages)), pages.report.pages)
"""


async def script(*arguments: str) -> Ran:
    settings = ";".join(f"{key}={value if value != [] else ''}" for key, value in QUICK.items())
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-W", "error", "-c", SCRIPT, arguments[0], settings, *arguments[1:],
        cwd=ROOT, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    out, err = await asyncio.wait_for(process.communicate(), 60)
    return Ran(process.returncode, out.decode(), err.decode())


async def test_a_script_that_has_set_up_no_logging_sees_reasons_and_the_end_on_standard_error() -> None:
    async with serve(mixed_web()) as server:
        ran = await script(server.url(0))
    pages, counted = ran.out.split()
    assert ran.code == 0 and pages == counted != "0", ran.err
    lines = ran.err.splitlines()
    assert all(line.startswith("gossamer: ") for line in lines)
    assert sum("was not fetched: gone: not there (404 or 410)" in line for line in lines) == 1  # the first of many
    assert lines[-1].startswith(f"gossamer: complete: {pages} pages, ") and "gone" in lines[-1]


async def test_a_program_that_has_set_up_logging_gets_it_its_way() -> None:
    async with serve(mixed_web()) as server:
        quiet, all_of_it = await script(server.url(0), "WARNING"), await script(server.url(0), "DEBUG")
    assert (quiet.code, quiet.err) == (0, "")
    lines = [line for line in all_of_it.err.splitlines() if line.startswith("gossamer|")]
    assert sum("|DEBUG|200 http" in line for line in lines) == int(all_of_it.out.split()[0])
    assert sum("was not fetched: gone" in line for line in lines) > 1


async def test_progress_is_told_while_it_goes_on(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(told, "PROGRESS_S", 0.05)
    monkeypatch.setattr(running, "LOOK_S", 0.05)
    caplog.set_level(logging.INFO, "gossamer")
    async with serve(plain_web()) as server:
        assert len([page async for page in crawl_of(server, settings={"politeness.delay_s": 0.1})]) == 24
    progress = [line for line in caplog.messages if "pages/s" in line]
    assert progress and "queued" in progress[0]


async def test_the_report_counts_what_was_given(caplog: pytest.LogCaptureFixture) -> None:
    async with serve(mixed_web()) as server:
        pages = crawl_of(server, everything=True)
        assert pages.report.pages == 0 and not pages.report.ended
        given = [one async for one in pages]
        report = pages.report
        asked = len(server.log.entries)
    assert report.ended == "complete" and report.requests == asked and report.elapsed_s > 0
    assert report.reasons == Counter(one.reason for one in given if one.reason)
    assert {Reason.GONE, Reason.SERVER_ERROR, Reason.ROBOTS} <= report.reasons.keys()
    assert Reason.ROBOTS not in report.failed_tries and report.failed_tries[Reason.GONE]
    assert report.pages == sum(one.verdict is not None for one in given)
    assert report.moved == sum(one.moved_to is not None for one in given) > 0
    assert report.duplicates == sum(bool(one.verdict and one.verdict.is_copy) for one in given) > 0
    assert (report.queued, report.waiting) == (0, 0)


async def test_the_report_is_of_this_run_and_says_how_it_ended(folder: Path) -> None:
    async with serve(plain_web()) as server:
        for most, fetched in ((7, 7), (9, 2)):
            pages = crawl_of(server, folder, max_pages=most)
            assert len([page async for page in pages]) == fetched
            assert (pages.report.ended, pages.report.pages) == ("max_pages", fetched) and pages.report.queued
        async with crawl_of(server, folder, settings={"crawl.max_pages": None, "fetch.in_flight_max": 1}) as pages:
            await anext(pages)
        assert pages.report.ended == "left" and 0 < pages.report.pages < 15
        pages = crawl_of(server, folder, max_time="1ms")
        assert [page async for page in pages] == [] or pages.report.pages < 15
        assert pages.report.ended == "max_time"


async def test_links_that_were_kept_out_are_counted() -> None:
    async with serve(plain_web()) as server:
        pages = crawl_of(server, exclude=["/p/[1-7]$"])
        assert len([page async for page in pages]) == 3
    assert pages.report.rejected.keys() == {Reason.EXCLUDED} and "excluded" in str(pages.report)


async def test_no_page_at_all_is_told_with_the_reason(caplog: pytest.LogCaptureFixture) -> None:
    async with serve(plain_web(hosts=1)) as server:
        pages = crawl(server.url(0), settings=QUICK)
        assert [page async for page in pages] == []
    assert pages.report.reasons == {Reason.PRIVATE_ADDRESS: 1}
    assert (
        caplog.messages[-1].startswith("no page was fetched: 0 pages") and "private_address 1" in caplog.messages[-1]
    )
    assert "(see --allow-private)" in caplog.messages[0]


async def test_a_crawl_that_has_only_later_tries_left_ends_and_tells(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "gossamer")
    async with serve(Web(WebOptions(hosts=1, pages_per_host=4, page_bytes=1000, server_errors=1.0))) as server:
        pages = crawl_of(server, settings={"frontier.retries_s": [600]})
        async with asyncio.timeout(30):
            fetched = [page async for page in pages]
        report = pages.report
    assert (
        len(fetched) == 4 and report.ended == "later" and report.waiting == report.failed_tries[Reason.SERVER_ERROR]
    )
    assert report.next_try_at and not report.reasons
    assert f"{report.waiting} URLs will be tried again from 20" in caplog.messages[-1]


async def test_what_was_shown_for_a_script_is_gone_after_the_last_crawl(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(told.LOG, "propagate", False)  # as if nobody had set up anything
    async with serve(plain_web(hosts=2)) as server:
        one, other = crawl_of(server), crawl_of(server)
        await anext(one)
        await anext(other)
        assert len(told.LOG.handlers) == 1 and told.LOG.level == logging.INFO
        await one.aclose()
        assert len(told.LOG.handlers) == 1
        await other.aclose()
    assert not told.LOG.handlers and told.LOG.level == logging.NOTSET
