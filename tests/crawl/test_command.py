"""The command as people use it: limits, Ctrl-C, looking into a crawl."""

from __future__ import annotations

import asyncio
import json
import signal
import sys
from pathlib import Path

import pytest

from gossamer.synthetic_web.options import WebOptions
from gossamer.synthetic_web.server import Server, serve
from gossamer.synthetic_web.web import Web
from tests.crawl.command import gossamer, quick_settings, start, until, until_quiet


def crawl_of(server: Server, folder: Path, *flags: object) -> list[object]:
    return ["crawl", server.url(0), "--dir", folder, "--allow-private", "--scope", "any", *quick_settings(), *flags]


async def status_of(folder: Path) -> dict[str, object]:
    facts: dict[str, object] = json.loads((await gossamer("status", folder, "--json")).out)
    return facts


async def test_a_limit_of_pages_is_kept_exactly_and_the_rest_stays_queued(folder: Path) -> None:
    async with serve(Web(WebOptions.plain(hosts=8, pages_per_host=20))) as server:
        ran = await gossamer(*crawl_of(server, folder / "crawl", "--max-pages", 37))
        assert "Stopped at the limit of pages" in ran.out and "left for the next run" in ran.out
        status = await status_of(folder / "crawl")
        assert status["pages"] == 37 and not status["complete"] and not status["running"]
        ran = await gossamer(*crawl_of(server, folder / "crawl", "--max-pages", 50))
        assert "50 pages in all" in ran.out
        ran = await gossamer(*crawl_of(server, folder / "crawl", "--max-pages", "none"))
        assert "Complete" in ran.out
        assert (await status_of(folder / "crawl"))["pages"] == 160


async def test_a_limit_of_time_ends_the_crawl(folder: Path) -> None:
    async with serve(Web(WebOptions.plain(hosts=2, pages_per_host=500))) as server:
        ran = await gossamer(*crawl_of(server, folder / "crawl", "--max-time", "1s"))
        assert ran.code == 0 and "Stopped at the limit of time" in ran.out


async def test_a_limit_of_depth(folder: Path) -> None:
    async with serve(Web(WebOptions.plain(hosts=2, pages_per_host=50))) as server:
        await gossamer(*crawl_of(server, folder / "crawl", "--max-depth", 1))
        pages = (await gossamer("pages", folder / "crawl", "--json")).lines()
        assert {page["depth"] for page in pages} == {0, 1}
        status = await status_of(folder / "crawl")
        assert status["refused"] and status["complete"]


async def test_scope_host_stays_on_the_seeds_host(folder: Path) -> None:
    async with serve(Web(WebOptions.plain(hosts=4, pages_per_host=10))) as server:
        await gossamer("crawl", server.url(2), "--dir", folder / "crawl", "--allow-private", *quick_settings())
        assert len({entry.host for entry in server.log.entries}) == 1
        why = await gossamer("why", folder / "crawl", server.url(0))
        assert "outside the crawl's scope" in why.out


async def test_include_and_exclude(folder: Path) -> None:
    async with serve(Web(WebOptions.plain(hosts=1, pages_per_host=40))) as server:
        flags = ["--include", r"/p/\d$", "--include", r"/p/1\d$", "--exclude", "/p/13"]
        await gossamer(*crawl_of(server, folder / "crawl", *flags))
        paths = {entry.path for entry in server.log.entries} - {"/robots.txt"}
        assert paths <= {"/"} | {f"/p/{n}" for n in range(20)} - {"/p/13"}
        why = await gossamer("why", folder / "crawl", server.url(0, "/p/13"))
        assert "--exclude" in why.out


async def test_ctrl_c_once_finishes_what_is_in_flight(folder: Path) -> None:
    async with serve(Web(WebOptions.plain(hosts=8, pages_per_host=200))) as server:
        crawl = await start(*crawl_of(server, folder / "crawl"))
        await until(lambda: len(server.log.entries) > 40)
        crawl.send_signal(signal.SIGINT)
        out, err = await asyncio.wait_for(crawl.communicate(), 15)
        assert crawl.returncode == 0, err
        assert b"Stopped as asked" in out
        status = await status_of(folder / "crawl")
        assert status["in_flight"] == 0
        answered = [entry for entry in server.log.entries if entry.path != "/robots.txt"]
        assert status["pages"] == len(answered)  # not one request was in vain


async def test_ctrl_c_twice_stops_at_once_and_loses_nothing(folder: Path) -> None:
    async with serve(Web(WebOptions(hosts=4, pages_per_host=3, silent=1.0))) as server:
        crawl = await start(*crawl_of(server, folder / "crawl", "--set", "fetch.timeout_s=60"))
        await until(lambda: server.log.entries)
        await until_quiet(lambda: len(server.log.entries))  # every host has met a URL that never answers
        crawl.send_signal(signal.SIGINT)
        with pytest.raises(TimeoutError):  # it waits for them
            await asyncio.wait_for(crawl.wait(), 0.5)
        crawl.send_signal(signal.SIGINT)
        _, err = await asyncio.wait_for(crawl.communicate(), 5)
        assert crawl.returncode == 130
        assert b"stopped at once" in err and b"Traceback" not in err
        ran = await gossamer(*crawl_of(server, folder / "crawl", "--set", "fetch.timeout_s=0.2"))
        assert ran.code == 0 and "Done for now: what is left waits for servers that do not answer" in ran.out
        assert (await status_of(folder / "crawl"))["pages"] == 4 * 3


@pytest.mark.parametrize("verb", ["status", "pages", "hosts"])
async def test_a_running_crawl_can_be_looked_into(folder: Path, verb: str) -> None:
    async with serve(Web(WebOptions.plain(hosts=8, pages_per_host=100))) as server:
        crawl = await start(*crawl_of(server, folder / "crawl"))
        await until(lambda: len(server.log.entries) > 50)
        ran = await gossamer(verb, folder / "crawl")
        assert ran.code == 0, ran.err
        if verb == "status":
            assert "running" in ran.out
        else:
            assert "127.1.0." in ran.out
        crawl.send_signal(signal.SIGINT)
        await crawl.communicate()


async def test_config_shows_where_every_value_comes_from(folder: Path) -> None:
    (folder / "my.toml").write_text("[fetch]\ntimeout_s = 7\n")
    environment = {"GOSSAMER_POLITENESS_DELAY_S": "3"}
    ran = await gossamer(
        "config", "--config", folder / "my.toml", "--set", "dns.ttl_s_min=5", environment=environment
    )
    lines = {line.split(" = ")[0]: line for line in ran.out.splitlines()}
    assert "my.toml" in lines["fetch.timeout_s"]
    assert "GOSSAMER_POLITENESS_DELAY_S" in lines["politeness.delay_s"]
    assert "flag" in lines["dns.ttl_s_min"]
    assert "default" in lines["robots.age_s_max"]


async def test_the_configuration_in_force_is_kept_with_the_crawl(folder: Path) -> None:
    async with serve(Web(WebOptions.plain(hosts=1, pages_per_host=3))) as server:
        await gossamer(*crawl_of(server, folder / "crawl", "--set", "crawl.partitions=3"))
        values = json.loads((await gossamer("config", folder / "crawl", "--json")).out)
        assert values["crawl.partitions"]["value"] == 3
        assert values["politeness.delay_s"]["value"] == 0.05
        ran = await gossamer(*crawl_of(server, folder / "crawl", "--set", "crawl.partitions=4"))
        assert ran.code == 2 and "partitions" in ran.err


async def test_the_demo_runs_in_less_than_a_minute_and_is_polite(folder: Path) -> None:
    ran = await gossamer("demo", "--dir", folder / "demo", timeout_s=60)
    assert ran.code == 0, ran.err
    assert "     0 requests for something that robots.txt forbids" in ran.out
    assert "     0 times two requests at once to one host" in ran.out
    assert (folder / "demo/demo.txt").exists()  # so that the next demo may replace it
    again = await gossamer("status", folder / "demo")
    assert "some servers do not answer" in again.out  # a host of the demo has no robots.txt for anybody


async def test_help_has_every_verb() -> None:
    top = await gossamer("--help")
    for verb in ("crawl", "demo", "status", "pages", "hosts", "why", "web", "config"):
        assert f"\n    {verb}" in top.out
        assert (await gossamer(verb, "--help")).code == 0


async def test_a_full_disk_stops_with_a_message_and_the_crawl_goes_on_later(folder: Path) -> None:
    async with serve(Web(WebOptions.plain(hosts=4, pages_per_host=30))) as server:
        limited = await asyncio.create_subprocess_exec(
            "sh",
            "-c",
            'ulimit -f 200; exec "$@"',
            "sh",
            sys.executable,
            "-m",
            "gossamer",
            *map(str, crawl_of(server, folder / "crawl")),
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        _, err = await asyncio.wait_for(limited.communicate(), 30)
        assert limited.returncode == 1, err
        assert b"Traceback" not in err and b"Make room, and the same command starts the crawl" in err
        ran = await gossamer(*crawl_of(server, folder / "crawl"))
        assert ran.code == 0 and "Complete" in ran.out, ran.err
        assert (await status_of(folder / "crawl"))["pages"] == 120
