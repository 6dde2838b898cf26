"""`gossamer show` has what is stored of a URL: its text, its bytes, its headers, its versions."""

from __future__ import annotations

import signal
from pathlib import Path

from gossamer.synthetic_web.options import WebOptions
from gossamer.synthetic_web.server import serve
from gossamer.synthetic_web.web import Web
from tests.crawl.command import gossamer, quick_settings, start, until
from tests.fetch.raw_server import raw_server
from tests.getting_in.pages import answers, html, long_text, moved

SHORT = {"schedule__shortest_s": 1, "schedule__longest_s": 2, "schedule__first_guess_s": 1}
SHORT |= {"schedule__visits_a_day": 1_000_000}


async def crawled(folder: Path, url: str, *flags: str) -> None:
    ran = await gossamer("crawl", url, "--dir", folder, "--allow-private", *quick_settings(**SHORT), *flags)
    assert ran.code == 0, ran.err


async def test_a_stored_page_as_text_bytes_headers_and_facts(folder: Path) -> None:
    body = html("Grüße aus <b>Köln</b>", "200 OK", "X-Mine: yes")
    async with raw_server() as server:
        answers(server, {"/": body})
        await crawled(folder, server.url("/"))
    url = server.url("/")
    assert (await gossamer("show", folder, url, "--text")).out.strip() == "Grüße aus Köln"
    assert (await gossamer("show", folder, url, "--markdown")).out.strip() == "Grüße aus **Köln**"
    assert (await gossamer("show", folder, url, "--html")).out.encode() == body.partition(b"\r\n\r\n")[2]
    assert "X-Mine: yes" in (await gossamer("show", folder, url, "--headers")).out.splitlines()
    [facts] = (await gossamer("show", folder, url, "--json")).lines()
    assert (facts["status"], facts["title"], facts["text"]) == (200, "A page", "Grüße aus Köln")
    told = await gossamer("show", folder, url)
    assert "stored in 0" in told.out and "Grüße aus Köln" in told.out


async def test_a_copy_leads_to_its_original_also_after_that_has_changed(folder: Path) -> None:
    same = html(long_text(1))
    pages = {"/": html('<a href="/first">1</a><a href="/second">2</a>'), "/first": same, "/second": same}
    async with raw_server() as server:
        answers(server, pages)
        await crawled(folder, server.url("/"))
        listed = {page["url"]: page for page in (await gossamer("pages", folder, "--json")).lines()}
        copy = next(url for url, page in listed.items() if page["verdict"] == "same")
        original = listed[copy]["same_as"]
        shown = await gossamer("show", folder, copy, "--html")
        told = await gossamer("show", folder, copy)
        assert shown.out.encode() == same.partition(b"\r\n\r\n")[2]
        assert f"it is stored with {original}" in told.out

        pages["/" + original.rpartition("/")[2]] = html(long_text(2))
        crawl = await start("crawl", "--dir", folder, "--forever", "--allow-private", *quick_settings(**SHORT))
        try:
            for _ in range(100):  # until the new version is stored
                versions = (await gossamer("show", folder, original, "--versions", "--json")).lines()
                if len(versions) > 1:
                    break
            running = await gossamer("show", folder, original, "--text")
        finally:
            crawl.send_signal(signal.SIGINT)
            await crawl.communicate()
    assert [version["version"] for version in versions] == [1, 2]
    new, old = long_text(2)[3:30], long_text(1)[3:30]
    assert new in running.out
    assert new in (await gossamer("show", folder, original, "--version", "2", "--text")).out
    assert old in (await gossamer("show", folder, original, "--version", "1", "--text")).out
    assert old in (await gossamer("show", folder, copy, "--version", "1", "--text")).out
    missing = await gossamer("show", folder, original, "--version", "3")
    assert missing.code == 1 and "has 2 stored versions" in missing.err


async def test_what_is_not_stored_is_said_with_the_reason(folder: Path) -> None:
    async with raw_server() as server:
        answers(server, {"/": html('<a href="/gone">x</a><a href="/moved">y</a>'), "/moved": moved("/")})
        await crawled(folder, server.url("/"))
    gone = await gossamer("show", folder, server.url("/gone"))
    assert gone.code == 1 and "[gone]" in gone.err
    unknown = await gossamer("show", folder, server.url("/unknown"))
    assert unknown.code == 1 and "not known to this crawl" in unknown.err
    redirect = await gossamer("show", folder, server.url("/moved"))
    assert redirect.code == 0 and "moved to /" in redirect.out


async def test_every_stored_page_of_a_crawl_can_be_shown(folder: Path) -> None:
    """Near and exact copies included, in whichever partition their originals are."""
    options = WebOptions(hosts=3, pages_per_host=4, duplicates=0.5, near_duplicates=0.5, page_bytes=3000)
    async with serve(Web(options)) as server:
        await crawled(folder, server.url(0), "--scope", "any")
    listed = (await gossamer("pages", folder, "--json")).lines()
    copies = [page for page in listed if page["verdict"] in ("same", "near")]
    assert copies
    for page in copies[:6]:
        [facts] = (await gossamer("show", folder, page["url"], "--json")).lines()
        assert facts["bytes"] == page["bytes"] and facts["text"]


async def test_a_running_crawl_can_be_asked(folder: Path) -> None:
    async with serve(Web(WebOptions(hosts=1, pages_per_host=40))) as server:
        crawl = await start("crawl", server.url(0), "--dir", folder, "--allow-private")
        try:
            await until(lambda: len(server.log.entries) >= 4, timeout_s=60)
            shown = await gossamer("show", folder, server.url(0), "--headers")
        finally:
            crawl.send_signal(signal.SIGINT)
            await crawl.communicate()
    assert shown.out.startswith("HTTP/1.1 200 OK"), shown.err
