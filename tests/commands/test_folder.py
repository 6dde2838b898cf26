"""What is on disk has a version, a crawl keeps the suffix list that it began with, and a pause outlives a restart."""

from __future__ import annotations

import asyncio
import json
from hashlib import sha256
from pathlib import Path

from gossamer.cluster.partitions import partition_of
from gossamer.folder import FORMAT, CrawlFolder
from gossamer.synthetic_web.options import WebOptions
from gossamer.synthetic_web.server import serve
from gossamer.synthetic_web.web import Web
from gossamer.url import site
from tests.crawl.command import gossamer, quick_settings
from tests.supervisor.running import running


async def test_a_pause_outlives_a_restart_and_the_folder_says_in_which_format_it_is(folder: Path) -> None:
    crawl_folder = folder / "c"
    async with serve(Web(WebOptions.plain(hosts=2, pages_per_host=12))) as server:
        async with running(server, crawl_folder, "--workers", "1", asked=5) as crawl:
            await crawl.paused()
            await crawl.steer("drain")
            await crawl.end()
        asked = len(server.log.entries)
        # As an earlier version left it: no number, no list.
        (crawl_folder / "format.json").unlink()
        (crawl_folder / "suffixes.dat").unlink()
        async with running(server, crawl_folder, "--workers", "1", asked=0) as crawl:
            async with asyncio.timeout(20):  # until every partition has its owner
                while sum(len(worker.partitions) for worker in (await crawl.now()).workers) < 8:
                    pass
            assert (await crawl.now()).paused == "as asked"
            assert len(server.log.entries) == asked
            await crawl.steer("resume")
            assert "Complete" in await crawl.end()
        assert len(server.log.entries) > asked
        assert not (crawl_folder / "paused").exists()

    written = json.loads((crawl_folder / "format.json").read_text())
    assert written["format"] == FORMAT
    assert written["suffixes"] == sha256((crawl_folder / "suffixes.dat").read_bytes()).hexdigest()
    (crawl_folder / "format.json").write_text(json.dumps(written | {"format": FORMAT + 1, "made_by": "gossamer 9"}))
    for verb in (["status", crawl_folder], ["crawl", "--dir", crawl_folder, *quick_settings()]):
        refused = await gossamer(*verb)
        assert refused.code == 1 and "Traceback" not in refused.err
        assert f"in format {FORMAT + 1}, written by gossamer 9" in refused.err and f"up to {FORMAT}" in refused.err


async def test_a_folder_with_settings_that_there_were_once_goes_on_or_says_why_not(folder: Path) -> None:
    crawl = folder / "c"
    crawl.mkdir()
    (crawl / "gossamer.toml").write_text(
        '[frontier]\nseen = "fast"\nwaiting_a_day = 0.01\n[context]\nsite_weight = 0.1\n'
    )
    async with serve(Web(WebOptions.plain(hosts=1, pages_per_host=3))) as server:
        ran = await gossamer("crawl", server.url(0), "--dir", crawl, *quick_settings())
    assert ran.code == 1 and ran.err.count("is no longer a setting") == 1
    assert 'frontier.seen = "fast"' in ran.err and "a filter alone loses URLs" in ran.err
    kept = (crawl / "gossamer.toml").read_text()
    assert "seen = " not in kept and "[context]" not in kept
    (crawl / "gossamer.toml").write_text(kept + '[archive]\nkind = "objects"\n')
    for verb in (["status", crawl], ["crawl", "--dir", crawl]):
        refused = await gossamer(*verb)
        assert refused.code == 2 and "Traceback" not in refused.err
        assert "Export it with the version that made it" in refused.err


def test_a_host_stays_in_its_partition_when_the_installed_suffix_list_changes(tmp_path: Path) -> None:
    old, new = CrawlFolder(tmp_path / "old"), CrawlFolder(tmp_path / "new")
    for folder in (old, new):
        folder.create()
        folder.keep_format()
    # What was installed when the old one began knew one suffix more.
    rules = site.installed_list() + b"\nshop.test\n"
    (old.path / "suffixes.dat").write_bytes(rules)
    written = json.loads((old.path / "format.json").read_text())
    (old.path / "format.json").write_text(json.dumps(written | {"suffixes": sha256(rules).hexdigest()}))
    (old.path / "gossamer.toml").touch()
    try:
        old.must_be_crawl()
        assert site.site_of("www.one.shop.test") == "one.shop.test"
        partitions = {partition_of(f"http://{name}.shop.test/", 64) for name in "abcdefgh"}
        assert len(partitions) > 1
        old.keep_format()  # as the next start does
        assert site.site_of("www.one.shop.test") == "one.shop.test"
        new.go_by_format()
        assert site.site_of("www.one.shop.test") == "shop.test"
        assert len({partition_of(f"http://{name}.shop.test/", 64) for name in "abcdefgh"}) == 1
    finally:
        site.go_by(None)
