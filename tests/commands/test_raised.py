"""What was refused for a limit, a policy or a filter that no longer holds comes back by itself.

The judge is the server's own list of requests: after a raise it was asked for exactly what a crawl with the raised
limit from the start asks for, and for nothing twice.
"""

from __future__ import annotations

import asyncio
import signal
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from hashlib import sha256
from pathlib import Path

from gossamer.inspect.view import CrawlView
from gossamer.records import State
from tests.crawl.command import gossamer, quick_settings, start, until
from tests.fetch.raw_server import RawServer, raw_server

NOT_FOUND = b"HTTP/1.1 404 X\r\nContent-Length: 0\r\n\r\n"


def text_of(page: str) -> str:
    """Forty words that no other page has."""
    digest = sha256(page.encode()).hexdigest() * 2
    return " ".join("".join(chr(ord("a") + int(digit, 16)) for digit in digest[n : n + 4]) for n in range(40))


def answer_of(links: Callable[[str], list[str]], text: Callable[[str], str] = text_of) -> Callable[..., list[bytes]]:
    def answer(request: bytes) -> list[bytes]:
        path = request.split()[1].decode()
        if path == "/robots.txt":
            return [NOT_FOUND]
        host = request.partition(b"Host: ")[2].partition(b":")[0].decode()
        body = f"<p>{text(host + path)}</p>" + "".join(f'<a href="{link}">{link}</a> ' for link in links(path))
        return [f"HTTP/1.1 200 X\r\nContent-Type: text/html\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode()]

    return answer


def branches(path: str) -> list[str]:
    """A tree: the page /01 is two links from the home page, and links to /010 and /011, and back to it."""
    return ["/", f"{path}0", f"{path}1"] if len(path) <= 6 else ["/"]


def tree(depth: int) -> set[str]:
    paths = [[""]]
    for _ in range(depth):
        paths.append([path + digit for path in paths[-1] for digit in "01"])
    return {f"/{path}" for level in paths for path in level}


@asynccontextmanager
async def site(
    links: Callable[[str], list[str]], hosts: int = 1, text: Callable[[str], str] = text_of
) -> AsyncIterator[RawServer]:
    async with raw_server(also=[f"127.0.0.{n}" for n in range(2, hosts + 1)]) as server:
        server.answer = answer_of(links, text)  # type: ignore[assignment]
        yield server


def asked(server: RawServer) -> Counter[tuple[str, str]]:
    """How often each page was asked for, by its host and path."""
    pages = []
    for request in server.requests:
        host = request.partition(b"Host: ")[2].partition(b":")[0].decode()
        pages.append((host, request.split()[1].decode()))
    return Counter(page for page in pages if page[1] != "/robots.txt")


def paths(server: RawServer) -> Counter[str]:
    found: Counter[str] = Counter()
    for (_, path), times in asked(server).items():
        found[path] += times
    return found


def flags(folder: Path, workers: int = 1) -> list[object]:
    quick = quick_settings(politeness__delay_s=0.001, politeness__latency_factor=0)
    return ["--dir", folder, "--allow-private", "--workers", workers, *quick]


async def is_well(folder: Path) -> bool:
    """All that is on disk is what was written, and the counters agree with a count."""
    ran = await gossamer("verify", folder)
    with CrawlView(folder) as view:
        known, totals = list(view.known()), view.totals()
    states = Counter(each.state for each in known)
    reasons = Counter(each.reason for each in known if each.state in (State.FAILED, State.REFUSED))
    assert totals.known == len(known) and totals.reasons == reasons
    assert (totals.queued, totals.waiting) == (states[State.QUEUED], states[State.WAITING])
    assert (totals.failed, totals.refused) == (states[State.FAILED], states[State.REFUSED])
    return ran.code == 0 and "all is well" in ran.out


async def why(folder: Path, url: str) -> tuple[str, str | None]:
    facts = (await gossamer("why", folder, url, "--json")).lines()[0]
    return facts["state"], facts["reason"]


async def test_a_raised_depth_fetches_what_a_crawl_with_it_from_the_start_fetches(folder: Path) -> None:
    hosts = 3
    async with site(branches, hosts) as server:
        seeds = [server.url("/", f"127.0.0.{n}") for n in range(1, hosts + 1)]
        first = await gossamer("crawl", *seeds, "--max-depth", 1, *flags(folder / "crawl", workers=2))
        assert first.code == 0 and set(paths(server)) == tree(1), first.err
        deep = server.url("/01")
        assert await why(folder / "crawl", deep) == ("refused", "max_depth")

        second = await gossamer("crawl", "--max-depth", 5, *flags(folder / "crawl", workers=2))
        assert second.code == 0 and "Complete" in second.out, second.err
        assert f"max_depth 1 -> 5: {4 * hosts} URLs that were refused come back" in second.err
        raised = asked(server)
        assert {path for _, path in raised} == tree(5) and set(raised.values()) == {1}
        assert len(raised) == hosts * len(tree(5))
        assert await why(folder / "crawl", deep) == ("done", None)
        assert await why(folder / "crawl", server.url("/000000")) == ("refused", "max_depth")
        assert await is_well(folder / "crawl")

        server.requests.clear()
        whole = await gossamer("crawl", *seeds, "--max-depth", 5, *flags(folder / "whole", workers=2))
        assert whole.code == 0 and asked(server) == raised


async def test_a_raise_is_for_the_limit_that_was_reached_and_nothing_else_is_asked_again(folder: Path) -> None:
    async with site(branches) as server:
        for depth in (2, 2, 1, 3):  # lowered in between: what is refused then comes back, too
            ran = await gossamer("crawl", server.url("/"), "--max-depth", depth, *flags(folder / "crawl"))
            assert ran.code == 0, ran.err
        assert paths(server) == Counter(tree(3))
        assert "max_depth 1 -> 3: 8 URLs that were refused come back" in ran.err
        server.requests.clear()
        again = await gossamer("crawl", *flags(folder / "crawl"))
        assert again.code == 0 and server.requests == [] and "->" not in again.err


async def test_a_raised_limit_of_pages_goes_on(folder: Path) -> None:
    async with site(branches) as server:
        ran = await gossamer("crawl", server.url("/"), "--max-pages", 5, "--max-depth", 3, *flags(folder / "crawl"))
        assert ran.code == 0 and len(paths(server)) == 5
        again = await gossamer("crawl", "--max-pages", 9, *flags(folder / "crawl"))
        assert again.code == 0 and "max_pages 5 -> 9" in again.err
        assert len(paths(server)) == 9 and set(paths(server).values()) == {1}


async def test_a_limit_of_time_is_of_the_run_it_was_given_for(folder: Path) -> None:
    async with site(branches) as server:
        slow = [*flags(folder / "crawl"), "--set", "politeness.delay_s=0.3"]
        ran = await gossamer("crawl", server.url("/"), "--max-depth", 4, "--max-time", "1s", *slow)
        assert ran.code == 0 and "limit of time" in ran.out
        assert len(paths(server)) < len(tree(4))
        rest = await gossamer("crawl", *flags(folder / "crawl"))
        assert rest.code == 0 and "Complete" in rest.out and paths(server) == Counter(tree(4))


async def test_what_was_blocked_comes_back_when_it_is_unblocked_running_or_not(folder: Path) -> None:
    async with site(branches, hosts=2) as server:
        crawl = folder / "crawl"
        seeds = [server.url("/", host) for host in ("127.0.0.1", "127.0.0.2")]
        await gossamer("crawl", *seeds, "--max-depth", 3, "--max-pages", 4, *flags(crawl))
        await gossamer("policy", crawl, "127.0.0.1", "--block")
        ran = await gossamer("crawl", "--max-pages", "none", *flags(crawl))
        assert ran.code == 0 and "Complete" in ran.out, ran.err
        refused = [page["url"] for page in await refused_pages(crawl) if page["reason"] == "blocked"]
        assert refused and "comes back" not in (await gossamer("why", crawl, refused[0])).out

        await gossamer("policy", crawl, "127.0.0.1", "--unblock")
        assert "that holds no more: it comes back" in (await gossamer("why", crawl, refused[0])).out
        back = await gossamer("crawl", *flags(crawl))
        assert f"host 127.0.0.1 unblocked: {len(refused)} URL" in back.err, back.err
        assert {host for host, path in asked(server) if path in tree(3)} == {"127.0.0.1", "127.0.0.2"}
        assert len(asked(server)) == 2 * len(tree(3)) and set(asked(server).values()) == {1}
        assert "blocked" not in Counter(page["reason"] for page in await refused_pages(crawl))
        assert await is_well(crawl)

    async with site(branches, hosts=2) as server:
        crawl = folder / "running"
        slow = [*flags(crawl), "--set", "politeness.delay_s=0.5"]
        process = await start("crawl", server.url("/"), "--max-depth", 6, "--forever", *slow)
        try:
            await until(lambda: len(asked(server)) >= 3)
            await gossamer("policy", crawl, "127.0.0.1", "--block")
            await until_refused(crawl)
            assert len(asked(server)) < len(tree(6))
            await gossamer("policy", crawl, "127.0.0.1", "--unblock", "--delay", "1ms")
            await until(lambda: len(asked(server)) == len(tree(6)), timeout_s=40)
        finally:
            process.send_signal(signal.SIGINT)
            _, err = await asyncio.wait_for(process.communicate(), 20)
        assert b"host 127.0.0.1 unblocked: " in err and b" come back" in err
        assert await is_well(crawl)


async def refused_pages(folder: Path) -> list[dict[str, object]]:
    return (await gossamer("pages", folder, "--state", "refused", "--json")).lines()


async def until_refused(folder: Path) -> None:
    async with asyncio.timeout(20):
        while not any(page["reason"] == "blocked" for page in await refused_pages(folder)):
            pass


async def test_who_is_trusted_gets_back_what_looked_like_a_trap(folder: Path) -> None:
    days = [f"/day/{n}" for n in range(60)]
    async with site(lambda path: days if path == "/" else [], text=lambda page: "Nothing to see here.") as server:
        ran = await gossamer("crawl", server.url("/"), *flags(folder / "crawl"))
        assert ran.code == 0 and len(paths(server)) < 61, ran.err
        refused = 61 - len(paths(server))
        await gossamer("policy", folder / "crawl", "127.0.0.1", "--trust")
        back = await gossamer("crawl", *flags(folder / "crawl"))
        assert f"host 127.0.0.1 trusted: {refused} URLs that were refused come back" in back.err
        assert paths(server) == Counter(["/", *days]) and await is_well(folder / "crawl")


async def test_a_raised_budget_of_hosts_and_of_one_host(folder: Path) -> None:
    async with site(branches, hosts=2) as server:
        seeds = [server.url("/", host) for host in ("127.0.0.1", "127.0.0.2")]
        more = ["--set", "frontier.host_pages_max=4", "--max-depth", 4]
        ran = await gossamer("crawl", *seeds, *flags(folder / "crawl"), *more)
        assert ran.code == 0 and len(asked(server)) == 8, ran.err
        ran = await gossamer("crawl", *flags(folder / "crawl"), "--set", "frontier.host_pages_max=6")
        assert "host_pages_max 4 -> 6: " in ran.err
        assert Counter(host for host, _ in asked(server)) == {"127.0.0.1": 6, "127.0.0.2": 6}
        await gossamer("policy", folder / "crawl", "127.0.0.2", "--max-pages", 1000)
        ran = await gossamer("crawl", *flags(folder / "crawl"))
        assert "host 127.0.0.2 max_pages 6 -> 1,000: " in ran.err
        assert Counter(host for host, _ in asked(server)) == {"127.0.0.1": 6, "127.0.0.2": len(tree(4))}
        assert set(asked(server).values()) == {1} and await is_well(folder / "crawl")


async def test_a_raised_queue(folder: Path) -> None:
    pages = [f"/{n}" for n in range(60)]
    async with site(lambda path: pages if path == "/" else []) as server:
        more = ["--set", "crawl.partitions=1", "--set", "frontier.queue_max=20"]
        ran = await gossamer("crawl", server.url("/"), *flags(folder / "crawl"), *more)
        assert ran.code == 0 and len(paths(server)) <= 25, ran.err
        ran = await gossamer("crawl", *flags(folder / "crawl"), "--set", "frontier.queue_max=1000")
        assert "queue_max 20 -> 1,000: " in ran.err and paths(server) == Counter(["/", *pages])
        assert await is_well(folder / "crawl")


async def test_a_worker_that_is_killed_while_it_looks_through_loses_nothing(folder: Path) -> None:
    pages = [f"/{n}" for n in range(700)]
    async with site(lambda path: pages if path == "/" else []) as server:
        first = await gossamer("crawl", server.url("/"), "--max-depth", 0, *flags(folder / "crawl"))
        assert first.code == 0 and paths(server) == {"/": 1}
        killed = {"GOSSAMER_KILL_AT": "after_look:2"}
        ran = await gossamer("crawl", "--max-depth", 1, *flags(folder / "crawl"), environment=killed)
        assert ran.code == 0 and "another takes its place" in ran.err, ran.err
        assert "max_depth 0 -> 1: 700 URLs that were refused come back" in ran.err
        assert paths(server).keys() == {"/", *pages}
        # What was in flight when it was killed is asked for again.
        assert sum(paths(server).values()) <= 701 + 1 and await is_well(folder / "crawl")


async def test_links_that_were_rejected_are_found_in_stored_pages(folder: Path) -> None:
    pages = [f"/p/{n}" for n in range(9)] + [f"/private/{n}" for n in range(4)]
    async with site(lambda path: pages if path == "/" else []) as server:
        crawl = folder / "crawl"
        ran = await gossamer("crawl", server.url("/"), "--exclude", "/private/", *flags(crawl))
        assert ran.code == 0 and paths(server) == Counter(["/", *pages[:9]])
        lifted = await gossamer("crawl", "--set", "crawl.exclude=", *flags(crawl))
        assert lifted.code == 0 and "exclude /private/ -> none: 4 links that were rejected for it" in lifted.err
        assert f"retry {crawl} --links" in lifted.err and len(paths(server)) == 10
        assert await why(crawl, server.url("/private/1")) == ("never seen", None)
        found = await gossamer("retry", crawl, "--links")
        assert found.code == 0 and found.out.startswith("4 URLs found in stored pages"), found.err
        ran = await gossamer("crawl", *flags(crawl))
        assert ran.code == 0 and paths(server) == Counter(["/", *pages])
        assert (await gossamer("retry", crawl, "--links")).out.startswith("0 URLs") and await is_well(crawl)


async def test_a_wider_scope_finds_in_stored_pages_what_it_lets_in(folder: Path) -> None:
    names = ("www.big.test", "shop.big.test")
    overrides = ", ".join(f'"{name}" = "127.0.0.1"' for name in names)
    folder.mkdir(exist_ok=True)
    (folder / "names.toml").write_text(f"[dns]\noverrides = {{{overrides}}}\n")
    async with raw_server() as server:
        home, shop = (server.url("/", name) for name in names)
        server.answer = answer_of(lambda path: [home, shop, "/0"] if path == "/" else [])  # type: ignore[assignment]
        common = [*flags(folder / "crawl"), "--config", folder / "names.toml"]
        ran = await gossamer("crawl", home, *common)
        assert ran.code == 0 and {host for host, _ in asked(server)} == {"www.big.test"}, ran.err
        ran = await gossamer("crawl", "--scope", "site", *common)
        assert "scope host -> site: 1 link that was rejected for it so far was not kept" in ran.err
        await gossamer("retry", folder / "crawl", "--links")
        ran = await gossamer("crawl", *common)
        assert ran.code == 0 and len(asked(server)) == 4 and set(asked(server).values()) == {1}
