"""Damage is noticed and named, the rest of the crawl goes on, and a lost partition is made anew from the archive."""

from __future__ import annotations

import json
import resource
import shutil
from collections import Counter
from pathlib import Path

from gossamer.cluster.partitions import partition_of
from gossamer.inspect.view import CrawlView
from gossamer.records import State
from gossamer.synthetic_web.options import WebOptions
from gossamer.synthetic_web.server import Server, serve
from gossamer.synthetic_web.web import Web
from tests.crawl.command import gossamer, quick_settings
from tests.supervisor.running import running

PARTITIONS = 4


def crawl_of(server: Server, folder: Path, *more: object) -> list[object]:
    settings = quick_settings(crawl__partitions=PARTITIONS, politeness__delay_s=0.01)
    where = [server.url(0), "--dir", folder, "--allow-private", "--scope", "any", "--workers", 1]
    return ["crawl", *where, *settings, *more]


def flip(file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)


def asked(server: Server) -> Counter[tuple[int, str]]:
    """How often each page was asked for, with the partition that it belongs to."""
    return Counter(
        (partition_of(entry.url, PARTITIONS), entry.url)
        for entry in server.log.entries
        if not entry.url.endswith("/robots.txt")
    )


async def test_a_damaged_and_a_lost_partition_are_named_left_out_and_made_anew(folder: Path) -> None:
    crawl = folder / "c"
    async with serve(Web(WebOptions.plain(hosts=8, pages_per_host=8))) as server:
        await gossamer(*crawl_of(server, crawl, "--max-pages", 40))
        with CrawlView(crawl) as view:
            stored = {known.url for known in view.known() if known.place is not None}
        damaged, lost = sorted({partition_of(url, PARTITIONS) for url in stored})[:2]
        store = crawl / "partitions" / f"{damaged:03d}"
        (file,) = sorted((*store.glob("*.sst"), *store.glob("*.log")), key=lambda path: -path.stat().st_size)[:1]
        flip(file)
        shutil.rmtree(crawl / "partitions" / f"{lost:03d}")
        archives = {path: path.read_bytes() for n in (damaged, lost) for path in crawl.glob(f"archive/{n:03d}-*")}
        assert len(archives) >= 2

        for verb, code in (("retry", 0), ("compact", 1)):
            ran = await gossamer(verb, crawl)
            assert ran.code == code and "Traceback" not in ran.err, ran.err
            assert "is damaged" in ran.err or f"of partition {lost}: its store was lost" in ran.err
        assert not (crawl / "partitions" / f"{lost:03d}").exists()

        before = asked(server)
        ran = await gossamer(*crawl_of(server, crawl, "--max-pages", "none"))
        assert ran.code == 1 and "Traceback" not in ran.err, ran.err
        assert f"partition {damaged} is left out, and the others go on: {store} is damaged" in ran.err
        assert file.name in ran.err and f"gossamer rebuild {crawl} --partition {damaged}" in ran.err
        assert f"of partition {lost}: its store was lost" in ran.err and ran.out.count("DAMAGE") == 2
        others = {partition for partition, _ in asked(server) - before}
        assert lost not in others and others - {damaged}  # of which some may be asked for before the damage is met
        assert all(path.read_bytes().startswith(content) for path, content in archives.items())
        found = await gossamer("verify", crawl, "--json")
        assert found.code == 1 and len(found.lines()[0]["damage"]) >= 2

        for number in (damaged, lost):
            made = await gossamer("rebuild", crawl, "--partition", number)
            assert made.code == 0 and f"partition {number} was made anew" in made.out, made.err
        ran = await gossamer(*crawl_of(server, crawl, "--max-pages", "none"))
        assert ran.code == 0 and "Complete" in ran.out, ran.err
        counts = asked(server)
        with CrawlView(crawl) as view:
            done = {known.url for known in view.known() if known.state is State.DONE}
        assert done == {url for _, url in counts} and len(done) >= 64
        assert all(counts[partition_of(url, PARTITIONS), url] == 1 for url in stored)  # found in the archive
    assert (await gossamer("verify", crawl)).code == 0

    warc = max(crawl.glob("archive/*.warc.gz"), key=lambda path: path.stat().st_size)
    flip(warc)
    found = await gossamer("verify", crawl, "--json")
    facts = json.loads(found.out)
    assert found.code == 1 and all(str(warc) in text for text in facts["damage"])
    assert 1 <= len(facts["damage"]) <= 2 and facts["records"] > 100  # and it went on behind it


async def test_a_full_disk_is_a_pause_with_its_reason(folder: Path) -> None:
    settings = ["--set", "crawl.partitions=1"]  # whose archive is smaller than the log of its store, with such pages
    async with (
        serve(Web(WebOptions.plain(hosts=4, pages_per_host=40, page_bytes=200))) as server,
        running(server, folder / "c", "--scope", "any", *settings, asked=10) as crawl,
    ):
        pids = [crawl.process.pid, *(int(pid) for pid in children_of(crawl.process.pid))]
        logs = list((folder / "c" / "partitions").glob("*/*.log"))
        limit = min(path.stat().st_size for path in logs) + 1000
        for pid in pids:
            resource.prlimit(pid, resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
        heard: list[str] = []

        async def is_paused() -> bool:
            heard.append((await crawl.now()).paused)
            # As a store says it, nearly always; the archive does where its file is the longer one.
            return "the crawl goes on by itself" in heard[-1] or "make room and save again" in heard[-1]

        while not await is_paused():
            assert len(heard) < 5000, set(heard)
        resource.prlimit(crawl.process.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        for child in children_of(crawl.process.pid):
            resource.prlimit(int(child), resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        out, err = await crawl.process.communicate()
        assert crawl.process.returncode == 0 and b"Complete" in out, err.decode()
        assert b"Traceback" not in err and b"died" not in err


def children_of(pid: int) -> list[str]:
    return Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
