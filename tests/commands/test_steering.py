"""An operator's word: policies on a running crawl, and what is in quarantine."""

from __future__ import annotations

import json
from pathlib import Path

from gossamer.clock import RealClock
from gossamer.cluster.partitions import partition_of
from gossamer.frontier.disk.store import RocksStore
from gossamer.frontier.disk.tables import TABLES
from gossamer.frontier.frontier import Frontier
from gossamer.settings import FrontierSettings, PolitenessSettings
from gossamer.synthetic_web.options import WebOptions
from gossamer.synthetic_web.server import Server, serve
from gossamer.synthetic_web.web import Web
from tests.crawl.command import gossamer, quick_settings, start, until
from tests.frontier.stories import link

BLOCKED, PAUSED, FREE = "127.1.0.2", "127.1.0.3", "127.1.0.1"


def crawl_of(server: Server, folder: Path) -> list[object]:
    return ["crawl", server.url(0), "--dir", folder, "--allow-private", "--scope", "any", *quick_settings()]


def asked(server: Server, host: str) -> int:
    return sum(entry.host == host for entry in server.log.entries)


async def test_a_policy_takes_effect_on_a_running_crawl_and_outlives_it(folder: Path) -> None:
    crawl_folder = folder / "crawl"
    async with serve(Web(WebOptions.plain(hosts=3, pages_per_host=150))) as server:
        crawl = await start(*crawl_of(server, crawl_folder))
        await until(lambda: all(asked(server, host) > 5 for host in (BLOCKED, PAUSED, FREE)))
        await gossamer("policy", crawl_folder, BLOCKED, "--block")
        await gossamer("policy", crawl_folder, PAUSED, "--pause")
        before = asked(server, FREE)
        await until(lambda: asked(server, FREE) > before + 10)
        blocked, paused, free = (asked(server, host) for host in (BLOCKED, PAUSED, FREE))
        await until(lambda: asked(server, FREE) > free + 20)
        assert (asked(server, BLOCKED), asked(server, PAUSED)) == (blocked, paused)

        crawl.terminate()
        await crawl.communicate()
        crawl = await start(*crawl_of(server, crawl_folder))
        await until(lambda: asked(server, FREE) > free + 40)
        assert (asked(server, BLOCKED), asked(server, PAUSED)) == (blocked, paused)

        await gossamer("policy", crawl_folder, PAUSED, "--resume")
        out, err = await crawl.communicate()
        assert crawl.returncode == 0 and b"Complete" in out, err
        assert asked(server, PAUSED) >= 150 and asked(server, BLOCKED) == blocked
        policies = json.loads((await gossamer("policy", crawl_folder, "--json")).out)
        assert policies == {"hosts": {BLOCKED: {"blocked": True}}, "sites": {}, "crawl": {}}
        status = json.loads((await gossamer("status", crawl_folder, "--json")).out)
        assert status["reasons"]["blocked"] > 100


async def test_a_policy_that_makes_no_sense_is_refused(folder: Path) -> None:
    await gossamer("crawl", "http://127.0.0.1:4/", "--dir", folder / "crawl", "--allow-private", "--max-time", "0.1")
    for flags in (
        ["--pause"],
        ["a.test", "--priority", "7"],
        ["a.test", "--delay", "soon"],
        ["a.test", "--max-pages", "0"],
    ):
        ran = await gossamer("policy", folder / "crawl", *flags)
        assert ran.code == 2 and "Traceback" not in ran.err, ran
    assert (await gossamer("policy", folder / "crawl")).out == "no policies\n"


async def test_the_quarantine_is_listed_and_its_urls_released_or_dropped(folder: Path) -> None:
    url, other = "http://127.0.0.1:4/", "http://127.0.0.2:4/"  # the other one may have been asked for meanwhile
    await gossamer("crawl", other, "--dir", folder / "crawl", "--allow-private", "--max-time", "0.1", "--delay", "0")
    die_processing(folder / "crawl", url, times=3)
    listed = await gossamer("quarantine", folder / "crawl")
    assert listed.out == f"{url}  3 workers died while they processed it\n"
    why = await gossamer("why", folder / "crawl", url)
    assert "quarantined" in why.out
    ran = await gossamer("quarantine", folder / "crawl", "--release", url)
    assert ran.code == 0 and "queued again" in ran.err
    assert (await gossamer("quarantine", folder / "crawl")).out == ""
    again = await gossamer("quarantine", folder / "crawl", "--drop", url)
    assert again.code == 1 and "is not in quarantine" in again.err


def die_processing(folder: Path, url: str, times: int) -> None:
    """What a worker leaves behind when a page takes it down, so often."""
    for _ in range(times + 1):
        store = RocksStore(folder / "partitions" / f"{partition_of(url, 8):03d}", TABLES)
        settings = FrontierSettings(retries_s=(0.0,) * 9)
        frontier = Frontier.open(
            store, store.folder, RealClock(), lambda link: None, settings, PolitenessSettings(delay_s=0.0)
        )
        frontier.add([link(url)])
        for lease in frontier.lease(1):
            frontier.processing(lease)
        del frontier
        store.close()
