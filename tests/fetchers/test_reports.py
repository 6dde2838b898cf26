"""What fetchers say that they should not: forged, late and bad reports change nothing and are counted."""

from __future__ import annotations

import asyncio
import base64
import gzip
import hashlib
import json
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import grpc.aio
import pytest

from gossamer.fetchers.fetchers_pb2 import Batch, FetchReport
from gossamer.fetchers.messages import Answered, Job, encode
from gossamer.records import Link, Page
from gossamer.rpc.methods import client
from tests.crawl.command import gossamer
from tests.fetchers.crawling import SERVICES, Played, crawling, exchange_of, free_port, not_there, played

BODY = b"<html><title>reported</title><body>A page that was reported.</body></html>"


async def post(port: int, report: dict[str, Any], key: str = "") -> tuple[int, dict[str, Any]]:
    def send() -> tuple[int, dict[str, Any]]:
        headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {key}"} if key else {})
        url = f"http://127.0.0.1:{port}/api/v1/crawler/report"
        request = urllib.request.Request(url, json.dumps(report).encode(), headers, method="POST")
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as fault:
            return fault.code, json.load(fault)

    return await asyncio.to_thread(send)


def report_of(job: Job, crawl: str) -> dict[str, Any]:
    return {
        "crawl": crawl,
        "lease": job.lease.hex(),
        "epoch": job.epoch,
        "url": job.url,
        "status": 200,
        "content_type": "text/html",
        "content_hash": hashlib.sha256(BODY).hexdigest(),
        "body_bytes": len(BODY),
        "body": base64.b64encode(BODY).decode(),
        "links": [],
    }


async def page_job(fetcher: Played) -> Job:
    """The first job is the host's robots.txt, the next one a page."""
    robots = await fetcher.job()
    assert robots.url.endswith("/robots.txt") and not robots.is_page
    await fetcher.say(not_there(robots))
    return await fetcher.job()


async def test_a_report_counts_if_it_is_of_a_lease_that_is_out_and_true(tmp_path: Path) -> None:
    port = free_port()
    async with crawling(tmp_path / "c", hosts=1, pages=1) as made:
        await made.start("--serve", f"127.0.0.1:{port}", "--workers", 1, seeds=1)
        async with played(made.join) as fetcher:
            job = await page_job(fetcher)
            good = report_of(job, fetcher.crawl)
            for wrong, reason in (
                ({"lease": job.lease[::-1].hex()}, "unknown"),
                ({"url": f"{job.url}else"}, "unknown"),
                ({"epoch": job.epoch + 1}, "epoch"),
                ({"crawl": "another"}, "crawl"),
                ({"content_hash": hashlib.sha256(b"").hexdigest()}, "bad"),
                ({"body_bytes": len(BODY) + 1}, "bad"),
                ({"body": "", "body_bytes": 0}, "bad"),
                ({"links": ["no URL at all"]}, "bad"),
            ):
                assert await post(port, good | wrong) == (200, {"taken": False, "reason": reason}), wrong
            ignored = (await made.status())["now"]["fetch_reports_ignored"]
            assert ignored == {"unknown": 2, "epoch": 1, "crawl": 1, "bad": 4}
            async with grpc.aio.insecure_channel(made.join) as channel:
                twin = client(channel, SERVICES["Crawler"]).Report
                forged = await twin(FetchReport(crawl=fetcher.crawl, lease="00", epoch=job.epoch, url=job.url))
                assert (forged.taken, forged.reason) == (False, "unknown")
                taken = await twin(FetchReport(**good | {"body": BODY}))
                assert taken.taken
            late, _ = await post(port, good)  # the crawl may be over by now
            assert late in (200, 409)
        await asyncio.wait_for(made.crawl.wait(), 90)
    [page] = (await gossamer("pages", tmp_path / "c", "--json")).lines()
    assert page["status"] == 200 and page["content_hash"] == hashlib.sha256(BODY).hexdigest()


def read(job: Job, member: bytes, **more: Any) -> bytes:
    """A page that the fetcher says it has read."""
    said: dict[str, Any] = {"page": Page(job.url), "body_bytes": 1, "digest": hashlib.sha256(b"x").hexdigest()}
    return encode([Answered(job.number, "fetched", exchange_of(200), member, **said | more)])


def packed(body: bytes) -> bytes:
    return gzip.compress(body + b"\r\n\r\n")


BAD: dict[str, Callable[[Job], bytes]] = {
    "no message": lambda job: b"no message at all",
    "half a message": lambda job: encode([Answered(job.number, "fetched")])[:5],
    "a page without a status": lambda job: encode([Answered(job.number, "fetched")]),
    "a page of a redirect": lambda job: encode([Answered(job.number, "fetched", exchange_of(301))]),
    "a record that is none": lambda job: read(job, b"nothing packed"),
    "a page of another URL": lambda job: read(job, packed(b"x"), page=Page("http://a.test/")),
    "links that are no URLs": lambda job: read(job, packed(b"x"), page=Page(job.url, links=[Link("not a URL")])),
    "a body that is longer than it says": lambda job: read(job, packed(bytes(10**6))),
    "a body that is not what it says": lambda job: read(job, packed(b"y")),
    "a record that is damaged": lambda job: read(job, packed(b"x")[:10] + bytes(9) + packed(b"x")[-8:]),
}


@pytest.mark.parametrize("what", BAD)
async def test_a_fetcher_that_sends_what_cannot_be_is_sent_away_and_the_crawl_goes_on(
    tmp_path: Path, what: str
) -> None:
    async with crawling(tmp_path / "c", hosts=2, pages=6) as made:
        settings: dict[str, Any] = {"fetchers__ask_s": 1, "fetchers__margin_s": 0.5, "fetch__timeout_s": 1}
        await made.start("--workers", 1, fetchers__checked_share=1, **settings)
        async with played(made.join) as bad:
            await bad.say(not_there(await bad.job()))  # its robots.txt
            job = await bad.job()
            await bad.call.write(Batch(messages=BAD[what](job)))
            code = await bad.call.code()
            assert code is grpc.StatusCode.INVALID_ARGUMENT
        assert (await made.status())["now"]["fetch_reports_ignored"] == {"bad": 1}
        await made.fetcher("good")
        await made.ended()
        assert "is sent away" in made.said("crawl")
    assert len((await gossamer("pages", tmp_path / "c", "--json")).lines()) == 12


async def test_what_comes_after_the_time_of_a_job_changes_nothing(tmp_path: Path) -> None:
    async with crawling(tmp_path / "c", hosts=1, pages=2) as made:
        await made.start("--workers", 1, seeds=1, fetchers__ask_s=1, fetchers__margin_s=0.5, fetch__timeout_s=1)
        async with played(made.join) as slow:
            job = await slow.job()
            again = await slow.job()  # its time is over: the host is asked once more, by a job of its own
            assert again.url == job.url and again.number != job.number
            await slow.say(not_there(job))
            now = (await made.status())["now"]
            assert now["fetch_reports_ignored"] == {"late": 1} and now["fetch_jobs_lost"] >= 1
