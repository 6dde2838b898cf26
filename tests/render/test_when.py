"""Who is rendered is the operator's choice: never, always, by policy, or not at all where there is no browser."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

from gossamer.access.keys import Keys
from gossamer.synthetic_web import WebOptions, serve
from gossamer.synthetic_web.web import Web
from tests.api.serving import served
from tests.crawl.command import gossamer
from tests.debian import program
from tests.render.scripted_crawl import Crawled, crawl_of, crawled_in, records

OPTIONS = replace(
    WebOptions(hosts=2, pages_per_host=3, page_bytes=1000),
    scripted_hosts=2,
    scripted_kinds=("requested", "inline"),
    scripted_pages=4,
    decorated_hosts=1,
    decorated_pages=4,
)
NOWHERE = "/nonexistent/chromium"


async def crawl(folder: Path, environment: dict[str, str] | None = None, **settings: object) -> tuple[Crawled, str]:
    web = Web(OPTIONS)
    async with serve(web) as server:
        ran = await gossamer(*crawl_of(server.url(0), folder, **settings), timeout_s=200, environment=environment)
        assert ran.code == 0, ran.err
        return await crawled_in(folder, web, list(server.log.entries), ran.out), ran.err


def rendered(crawled: Crawled) -> set[str]:
    return {url for url in crawled.pages if crawled.is_rendered(url)}


async def test_never_is_never(folder: Path) -> None:
    program("chromium", "chromium")
    crawled, _ = await crawl(folder / "crawl", render__when="never")
    assert rendered(crawled) == set()
    assert {url for url in crawled.pages if crawled.kind_of(url)} == {
        crawled.web.url(host) for host in range(crawled.options.first_scripted, crawled.options.first_decorated)
    }


async def test_always_renders_what_gains_nothing_too(folder: Path) -> None:
    program("chromium", "chromium")
    crawled, _ = await crawl(folder / "crawl", render__when="always")
    assert rendered(crawled) >= crawled.truth.decorated | crawled.truth.built.keys()
    assert crawled.truth.reachable <= crawled.pages.keys()


async def test_a_picture_of_each_rendered_page_is_kept_where_it_is_asked_for(folder: Path) -> None:
    program("chromium", "chromium")
    crawled, _ = await crawl(folder / "crawl", render__screenshot="true")
    pictures = {
        record.headers["WARC-Target-URI"]: record for record in records(folder / "crawl") if record.type == "resource"
    }
    assert pictures.keys() == {f"urn:view:{url}" for url in rendered(crawled)} and len(pictures) >= 8
    assert all(record.body.startswith(b"\x89PNG") for record in pictures.values())
    with served(folder / "crawl", key=Keys(folder / "crawl").add("anna", "read")) as api:
        for url in rendered(crawled):
            page, picture = api.get("/pages", url=url), api.ask("GET", "/pages/picture", params={"url": url})
            assert picture.content == pictures[f"urn:view:{url}"].body
            assert len(picture.content) == page["rendered"]["picture_bytes"]
            assert picture.headers["Content-Type"] == "image/png"
            assert page["rendered"]["text_gained"] == crawled.pages[url]["rendered"]["text_gained"]
        plain = api.ask("GET", "/pages/picture", params={"url": crawled.web.url(0)})
        assert plain.status_code == 404 and plain.json()["reason"] == "not_stored"
        assert api.get("/pages", url=crawled.web.url(0))["rendered"] is None
        del api.session.headers["Authorization"]
        assert api.ask("GET", "/pages/picture", params={"url": url}).status_code == 401


async def test_a_policy_says_it_for_a_host(folder: Path) -> None:
    program("chromium", "chromium")
    web = Web(OPTIONS)
    async with serve(web) as server:
        first, second = (server.url(OPTIONS.first_scripted + place) for place in range(2))
        command = crawl_of(server.url(0), folder / "crawl", render__when="never")
        assert (await gossamer(*command, "--max-pages", 1)).code == 0
        name = web.atlas.hostname(OPTIONS.first_scripted)
        ran = await gossamer("policy", folder / "crawl", name, "--host", "--render", "always")
        assert ran.code == 0, ran.err
        ran = await gossamer(*command, "--max-pages", 1000, timeout_s=200)
        assert ran.code == 0, ran.err
        crawled = await crawled_in(folder / "crawl", web, list(server.log.entries))
    hosts = {url.rpartition(":")[0] for url in rendered(crawled)}
    assert hosts == {first.rpartition(":")[0]}
    assert second + "item/1" not in crawled.pages


def path_without_a_browser(folder: Path) -> dict[str, str]:
    """All that is on the PATH, but no browser."""
    folder.mkdir()
    for place in os.environ["PATH"].split(os.pathsep):
        for file in Path(place).glob("*"):
            link = folder / file.name
            if not link.exists() and not any(word in file.name.lower() for word in ("chrom", "headless")):
                link.symlink_to(file)
    return {"PATH": str(folder)}


async def test_without_a_browser_everything_else_works_and_status_tells_what_to_install(folder: Path) -> None:
    where = path_without_a_browser(folder / "bin")
    crawled, _ = await crawl(folder / "crawl", environment=where)
    assert rendered(crawled) == set()
    said = await gossamer("status", folder / "crawl", environment=where)
    assert said.code == 0 and "chromium" in said.out.lower() and "install" in said.out.lower(), said.out
    facts = await gossamer("status", folder / "crawl", "--json", environment=where)
    assert json.loads(facts.out)


async def test_a_browser_that_is_wanted_and_is_not_there_is_told_with_what_to_install(folder: Path) -> None:
    web = Web(OPTIONS)
    async with serve(web) as server:
        command = crawl_of(server.url(0), folder / "crawl", render__when="always", render__browser=NOWHERE)
        ran = await gossamer(*command, timeout_s=100)
    assert NOWHERE in ran.err and "install" in ran.err.lower() and "Traceback" not in ran.err, ran.err
