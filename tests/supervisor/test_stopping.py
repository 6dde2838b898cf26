"""One Ctrl-C: what has been asked is finished, and nothing else is asked. The servers are the judge."""

from __future__ import annotations

import asyncio
import signal
import socket
from contextlib import suppress
from pathlib import Path

from gossamer.cluster.wire import Disconnected
from gossamer.records import Seed
from gossamer.synthetic_web.options import WebOptions
from gossamer.synthetic_web.server import serve
from gossamer.synthetic_web.web import Web
from tests.crawl.command import gossamer, until
from tests.supervisor.held_web import HeldWeb, held, pages_asked
from tests.supervisor.running import Running, running

HOSTS = 6


async def test_after_one_ctrl_c_what_is_asked_is_finished_and_nothing_else_is_asked(folder: Path) -> None:
    web = HeldWeb(HOSTS)
    async with serve(web, web.clock) as server:
        async with running(server, folder / "c", asked=HOSTS, hosts=HOSTS) as crawl:
            await until(lambda: len(held(server)) == HOSTS)
            web.release()  # of each host one page is stored, and more are known
            web.longest = {0}
            await until(lambda: len(pages_asked(server)) == 2 * HOSTS)
            await crawl.when(lambda now: now.under_way == HOSTS)
            asked = pages_asked(server)

            await interrupted(crawl)
            web.release()
            now = await crawl.when(lambda now: now.in_flight == 1 and now.totals.pages == 2 * HOSTS - 1)
            # All hosts but one could have been asked by now, had it not been for the interruption.
            assert now.under_way == 1 and now.totals.queued > HOSTS
            web.release()
            assert "Stopped as asked" in await crawl.end()
            assert sorted(pages_asked(server)) == sorted(asked)
            assert all(
                entry.status == 200 and not entry.aborted for entry in server.log.entries if "/p" in entry.path
            )
        pages = await gossamer("pages", folder / "c", "--json")
        assert len(pages.lines()) == 2 * HOSTS


async def test_a_request_that_waits_for_the_pace_of_the_crawl_is_not_made_after_ctrl_c(folder: Path) -> None:
    async with serve(Web(WebOptions.plain(hosts=HOSTS, pages_per_host=3))) as server:
        slowly = ("--set", "politeness.requests_per_s=0.5")
        async with running(server, folder / "c", *slowly, asked=1, hosts=HOSTS) as crawl:
            # Several have a moment of the crawl's pace, in the next seconds.
            await crawl.when(lambda now: now.in_flight >= HOSTS - 2)
            await interrupted(crawl)
            asked = len(server.log.entries) + len(held(server))
            assert asked < HOSTS
            assert "Stopped as asked" in await crawl.end(timeout_s=20)
            assert len(server.log.entries) == asked
        done = await gossamer("crawl", "--dir", folder / "c", "--set", "politeness.requests_per_s=1000")
        assert "Complete" in done.out  # nothing is lost
        pages = await gossamer("pages", folder / "c", "--json")
        assert len(pages.lines()) == 3 * HOSTS


async def test_ctrl_c_does_not_wait_for_a_name_server_that_says_nothing(folder: Path) -> None:
    with socket.socket(type=socket.SOCK_DGRAM) as silent:
        silent.bind(("127.0.0.1", 0))
        silent.setblocking(False)
        where = f"dns.servers=127.0.0.1:{silent.getsockname()[1]}"
        flags = ("--forever", "--set", where, "--set", "dns.query_timeout_s=600")
        async with (
            serve(Web(WebOptions.plain(hosts=1, pages_per_host=1))) as server,
            running(server, folder / "c", *flags) as crawl,
        ):
            await crawl.add(Seed("http://nobody.test/"))
            async with asyncio.timeout(30):
                assert b"nobody" in await asyncio.get_running_loop().sock_recv(silent, 512)
            crawl.process.send_signal(signal.SIGINT)
            assert "1 queued" in await crawl.end()


async def interrupted(crawl: Running) -> None:
    """Press Ctrl-C, and wait until every worker has heard of it."""
    crawl.process.send_signal(signal.SIGINT)
    with suppress(Disconnected):  # it has ended already
        await crawl.when(lambda now: now.is_draining)
        await crawl.steer("drain")
