"""Hosts with scripts: what the web says that scripts make of a page is what a real browser shows."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from urllib.parse import urljoin

import pytest
from playwright.async_api import Browser, async_playwright

from gossamer.synthetic_web import Web, WebOptions, asked, serve, truth
from gossamer.synthetic_web.answer import Answer, Request
from gossamer.synthetic_web.options import DECORATED_KINDS, HOSTILE_KINDS, SCRIPTED_KINDS
from gossamer.synthetic_web.scripted import applications, decorated, hostile
from tests.browser.browser import PATIENCE_MS, QUIET
from tests.crawl.command import until
from tests.debian import program

OPTIONS = replace(WebOptions.scripted(hosts=4, pages_per_host=2), hostile_hosts=HOSTILE_KINDS)

GAINS = 40  # characters of text that decoration may add


def answer_at(web: Web, url: str) -> Answer:
    place = web.locate(url)
    assert place is not None
    return web.answer(Request(*place, now=web.options.born_at))


@asynccontextmanager
async def chromium() -> AsyncIterator[Browser]:
    path = program("chromium", "chromium")
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=path, args=list(QUIET))
        yield browser
        await browser.close()


def test_there_is_a_host_of_every_kind() -> None:
    usual = [kind for kind in applications.KINDS if kind != "enhanced"]
    assert len(usual) == SCRIPTED_KINDS
    assert len(decorated.KINDS) == DECORATED_KINDS == len(decorated.SCRIPTS)
    assert len(hostile.KINDS) == HOSTILE_KINDS
    web = Web(OPTIONS)
    for kinds, kind_of in (
        (usual, applications.kind_of),
        (decorated.KINDS, decorated.kind_of),
        (hostile.KINDS, hostile.kind_of),
    ):
        assert [kind for host in web.all_hosts() if (kind := kind_of(web.atlas, host))] == list(kinds)


def test_only_who_renders_finds_the_pages_of_scripted_hosts() -> None:
    web = Web(replace(OPTIONS, port=8000))
    plain, rendered = truth(web, [web.url(0)]), truth(web, [web.url(0)], renders=True)
    closed = web.options.first_scripted + list(applications.KINDS).index("closed")
    beyond = rendered.reachable - plain.reachable
    assert len(beyond) == (SCRIPTED_KINDS - 1) * (web.options.scripted_pages - 1)
    made = {url for url in beyond if answer_at(web, url).built}
    assert rendered.built.keys() >= made and len(made) > len(beyond) * 0.9 and not plain.built
    assert web.url(closed) in rendered.reachable and web.url(closed, "/item/1") not in rendered.reachable
    assert not web.permits(web.url(closed, f"/api/{closed}/0.json"))
    assert len(rendered.decorated) == DECORATED_KINDS * web.options.decorated_pages
    assert rendered.decorated == plain.decorated


async def test_a_browser_sees_what_the_truth_says() -> None:
    """Every kind of scripted host but the closed one; of a page that the tree leads on from."""
    web = Web(replace(OPTIONS, hostile_hosts=0, scripted_hosts=len(applications.KINDS), scripted_pages=8))
    async with serve(web) as server, chromium() as browser:
        for place, kind in enumerate(applications.KINDS):
            url = server.url(web.options.first_scripted + place, "/item/1")
            built = answer_at(web, url).built
            if built is None:
                assert kind == "closed"
                continue
            page = await browser.new_page()
            await page.goto(url)
            last = page.locator(f'a[href="{built.anchors[-1].href}"]')
            if kind == "scrolling":
                async with asyncio.timeout(PATIENCE_MS / 1000):
                    while not await last.count():
                        await page.evaluate("scrollTo(0, document.body.scrollHeight)")
            await last.wait_for(timeout=PATIENCE_MS, state="attached")
            hrefs = await page.eval_on_selector_all("a", "all => all.map((each) => each.getAttribute('href'))")
            sent = answer_at(web, url).anchors
            assert set(hrefs) == {anchor.href for anchor in (*sent, *built.anchors)}, kind
            assert built.text in await page.inner_text("body"), kind
            # One script and one answer of data a page, as the truth says.
            assert {urljoin(url, load) for load in built.loads} <= asked(server.log.entries), kind
            await page.close()


async def test_a_plain_reader_sees_nothing_of_it() -> None:
    web = Web(replace(OPTIONS, port=8000))
    for url, sentence in truth(web, [web.url(0)], renders=True).built.items():
        answer = answer_at(web, url)
        place = web.locate(url)
        assert place is not None
        kind = applications.kind_of(web.atlas, place[0])
        assert not answer.anchors or kind == "hydrated"
        assert not sentence or kind == "inline" or sentence.encode() not in answer.body


async def test_decoration_gains_nothing() -> None:
    web = Web(replace(OPTIONS, hostile_hosts=0))
    async with serve(web) as server, chromium() as browser:
        for place, kind in enumerate(decorated.KINDS):
            url = server.url(web.options.first_decorated + place, "/item/1")
            texts, links = [], []
            for runs_scripts in (False, True):
                context = await browser.new_context(java_script_enabled=runs_scripts)
                page = await context.new_page()
                await page.goto(url, wait_until="load")
                texts.append(await page.inner_text("body"))
                links.append({await each.get_attribute("href") for each in await page.locator("a").all()})
                await context.close()
            assert abs(len(texts[1]) - len(texts[0])) <= GAINS, kind
            assert links[0] == {link for link in links[1] if link and "share.invalid" not in link}, kind


@pytest.mark.parametrize(("kind", "pages"), [("stores", 3), ("pops_up", 1)])
async def test_an_ordinary_browser_leaks(kind: str, pages: int) -> None:
    """Otherwise a crawler that is not accused would prove nothing."""
    web = Web(replace(OPTIONS, hostile_hosts=1, hostile_kinds=(kind,)))
    async with serve(web) as server, chromium() as browser:
        context = await browser.new_context()
        page = await context.new_page()
        for path in ("/", "/item/1", "/item/2")[:pages]:
            url = server.url(web.options.first_hostile, path)
            await page.goto(url, wait_until="domcontentloaded" if pages > 1 else "commit", timeout=PATIENCE_MS)
        await until(lambda: any(hostile.LEAKED in entry.path for entry in server.log.entries), timeout_s=60)
        await context.close()
