"""A running crawl is looked at and steered over its control socket; the servers' access log is the judge."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from gossamer.cluster.wire import Frame, framed
from gossamer.folder import CrawlFolder
from gossamer.inspect.view import CrawlView
from gossamer.messages import control_messages
from gossamer.messages.control_client import connect_to_crawl
from gossamer.records import Reason, Seed
from gossamer.supervisor import history
from gossamer.synthetic_web.access_log import Entry
from gossamer.synthetic_web.options import WebOptions
from gossamer.synthetic_web.server import serve
from gossamer.synthetic_web.web import Web
from tests.crawl.command import gossamer, until, until_quiet
from tests.crawl.test_workers import SMALL, assert_polite, workers_of
from tests.supervisor.running import Running, asked_of, quarantine, running

PLAIN = WebOptions.plain(hosts=4, pages_per_host=40)


async def test_a_running_crawl_is_watched_paused_and_resumed_and_its_figures_are_those_of_the_servers(
    folder: Path,
) -> None:
    log, web = folder / "crawl.log", Web(SMALL)
    flags = ["--scope", "any", "--set", "log.level=debug", "--set", "log.form=json", "--set", f"log.file={log}"]
    async with serve(web) as server, running(server, folder / "c", *flags, asked=40) as crawl:
        await crawl.peer.tell(control_messages.Watch())
        await send_garbage(crawl)
        assert not (await crawl.peer.call(control_messages.ReleaseUrl("nonsense"), control_messages.UrlReleased)).done
        deaf = await watch_without_reading(crawl)
        await crawl.paused()
        asked = len(server.log.entries)
        await until_quiet(lambda: len(server.log.entries), quiet_s=0.5)
        assert len(server.log.entries) == asked
        assert_figures(await crawl.now(), server.log.entries)
        status = await gossamer("status", folder / "c")
        assert "paused: as asked" in status.out and "worker 1" in status.out and "not stored again" in status.out

        await crawl.steer("resume")
        assert "Complete" in await crawl.end()
        deaf.close()
        assert_polite(web, server.log.entries)
        assert_logged(log, server.log.entries)
        kinds = Counter(event.kind for event in crawl.heard)
        assert kinds["page"] > 5 and kinds["redirect"] and kinds["failure"]
        said = [event.note for event in crawl.heard if event.kind == "said"]
        assert said[-2:] == ["paused: as asked", "resumed"]
        first, *_, last = history.points(CrawlFolder(folder / "c"))
        with CrawlView(folder / "c") as view:
            assert (first.pages, last.pages) == (0, view.totals().pages)
        assert await connect_to_crawl(CrawlFolder(folder / "c"), asyncio.ensure_future) is None


def assert_figures(now: control_messages.Now, entries: Sequence[Entry]) -> None:
    assert now.paused == "as asked" and {worker.state for worker in now.workers} == {"paused"}
    assert 0 < now.pages_today == now.totals.pages and 0 < now.totals.bytes_saved < now.totals.bytes
    assert sum(now.fetch_s) == now.totals.requests == len(entries)
    assert sum(now.errors.values()) == sum(each.status == 404 and "robots" not in each.path for each in entries)
    assert now.robots.asked > now.robots.hits > 0
    assert sorted(number for worker in now.workers for number in worker.partitions) == list(range(8))
    assert all(worker.memory_bytes > 10_000_000 and worker.cpu_s > 0.1 for worker in now.workers)
    assert now.memory_bytes > sum(worker.memory_bytes for worker in now.workers)
    assert now.disk_free_bytes > 0 and now.pages_per_s > 0 and sum(now.queue_levels) > 0


def assert_logged(log: Path, entries: Sequence[Entry]) -> None:
    """One line for every request, robots.txt on another host included."""
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    fetches = [line for line in lines if line["event"] == "fetch"]
    assert Counter((line["url"], line["status"]) for line in fetches) == Counter(
        (entry.url, entry.status) for entry in entries
    )
    assert {line["verdict"] for line in fetches if "verdict" in line} >= {"original", "same"}
    events = [line["event"] for line in lines if line["level"] == "info"]
    assert (events[0], events[-1]) == ("started", "ended")


async def send_garbage(crawl: Running) -> None:
    socket = CrawlFolder(crawl.folder).socket
    assert socket is not None and socket.parent.stat().st_mode & 0o077 == 0
    unasked = framed(Frame(-7, control_messages.Watch()))
    for garbage in (b"GET / HTTP/1.1\r\n\r\n", b"\xff" * 100, b"\0\0\0\5hello", unasked):
        reader, writer = await asyncio.open_unix_connection(socket)
        writer.write(garbage)
        assert await reader.read() == b""
        writer.close()
        await writer.wait_closed()


async def watch_without_reading(crawl: Running) -> asyncio.StreamWriter:
    _, deaf = await asyncio.open_unix_connection(CrawlFolder(crawl.folder).socket)
    deaf.write(framed(Frame(0, control_messages.Watch())) + framed(Frame(1, control_messages.AskNow())) * 50)
    return deaf


async def test_seeds_that_are_added_while_it_runs_are_crawled_as_far_and_as_soon_as_they_say(folder: Path) -> None:
    async with (
        serve(Web(PLAIN)) as server,
        serve(Web(PLAIN)) as apart,  # to which the other does not link
        running(server, folder / "c", "--exclude", "/p/13$") as crawl,
    ):
        await crawl.paused()
        await gossamer("policy", folder / "c", "blocked.test", "--block")
        late, *others, soon = (Seed(server.url(1, f"/p/{page}")) for page in range(1, 8))
        added = await crawl.add(
            Seed(late.url, priority=0.0),
            *others,
            Seed(soon.url, priority=1.0),
            Seed(apart.url(2), max_depth=0),
            Seed(server.url(0)),
            others[0],
            Seed(server.url(3, "/p/13")),
            Seed("http://blocked.test/"),
            Seed("gopher://a.test/"),
        )
        assert (added.added, added.duplicates_skipped) == (8, 2)
        assert [refusal.reason for refusal in added.refused] == [Reason.EXCLUDED, Reason.BLOCKED, Reason.NOT_A_URL]
        assert (await crawl.add(late)).duplicates_skipped == 1
        why = await gossamer("why", folder / "c", soon.url)
        assert "given to this seed 1.00" in why.out
        assert asked_of(server, 1)() == []

        await crawl.steer("resume")
        os.kill(workers_of(crawl.process.pid)[0], signal.SIGKILL)
        assert (await crawl.add(Seed(apart.url(3), max_depth=1))).added == 1
        assert "Complete" in await crawl.end()
        order = asked_of(server, 1)()
        assert order[0] == "/p/7" and order.index("/p/1") > max(order.index(f"/p/{page}") for page in range(2, 7))
        assert len(set(order)) == 39  # all that links lead to, but for what is excluded
        with CrawlView(folder / "c") as view:
            limited = [known for known in view.known() if f":{apart.port}/" in known.url and known.status]
        assert {(known.depth, known.source) for known in limited} == {(0, None), (1, apart.url(3))}
        assert len(apart.log.entries) < 40
        # They are seeds for good, and the list of them can be read.
        assert f"{soon.url} priority=1.0\n{apart.url(2)} max_depth=0\n" in (folder / "c" / "seeds.txt").read_text()


async def test_a_url_is_released_from_quarantine_while_the_crawl_runs_and_a_drain_ends_it_well(folder: Path) -> None:
    async with serve(Web(PLAIN)) as server:
        bad = server.url(1)
        quarantine(folder / "c", bad)
        async with running(server, folder / "c", "--workers", 1) as crawl:
            await crawl.paused()
            ran = await gossamer("quarantine", folder / "c", "--release", bad)
            assert ran.code == 0 and "queued again" in ran.err
            again = await crawl.peer.call(control_messages.ReleaseUrl(bad), control_messages.UrlReleased)
            assert not again.done
            await crawl.peer.tell(control_messages.Watch())
            await crawl.steer("resume")
            # A suspect is read in the sandbox, and a drain does not wait for those that still wait to be read there.
            await until(lambda: any(event.url == bad for event in crawl.heard))
            await crawl.steer("drain")
            assert "Stopped as asked" in await crawl.end()
        assert asked_of(server, 1)()[0] == "/"
        with CrawlView(folder / "c") as view:
            assert view.in_flight() == 0
            assert view.totals().pages == sum(entry.path != "/robots.txt" for entry in server.log.entries)
