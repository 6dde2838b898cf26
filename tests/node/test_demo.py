"""`gossamer demo --cluster`: its figures are those of the access log that it leaves, and nothing is left running."""

from __future__ import annotations

import asyncio
import json
import re
import signal
from collections.abc import AsyncIterator
from itertools import pairwise
from pathlib import Path

import pytest

from gossamer.demo.cluster import DELAY_S, LEFT, SESSION_S
from gossamer.local_servers.process import children
from gossamer.synthetic_web.access_log import AccessLog, Entry, gaps_below, overlapping
from tests.crawl.command import gossamer, start, until
from tests.node.cluster import to_itself
from tests.servers.kafka import needed

HOSTS, PAGES = 9, 18


@pytest.fixture(autouse=True)
async def no_other_cluster() -> AsyncIterator[None]:
    async with to_itself():
        yield


def figure(out: str, words: str) -> float:
    """The number in front of these words."""
    found = re.search(rf"([\d.,]+)( s)? {words}", out)
    assert found, f"{words} is not in:\n{out}"
    return float(found[1].replace(",", ""))


def silences_s(entries: list[Entry]) -> dict[str, float]:
    """The longest of each host."""
    hosts: dict[str, list[Entry]] = {}
    for entry in sorted(entries):
        hosts.setdefault(entry.host, []).append(entry)
    return {
        host: max(later.time_in - earlier.time_out for earlier, later in pairwise(turns))
        for host, turns in hosts.items()
    }


@pytest.mark.long  # most of a minute
async def test_the_figures_of_the_demo_are_those_of_the_access_log(folder: Path) -> None:
    needed()
    demo = folder / "demo"
    ran = await gossamer("demo", "--cluster", "--dir", demo, "--hosts", HOSTS, "--pages", PAGES, timeout_s=180)
    assert ran.code == 0, ran.err
    entries = AccessLog.load(demo / "access.jsonl").entries
    asked = [(entry.host, entry.path) for entry in entries]
    pages = {line["url"] for line in map(json.loads, (demo / "pages.jsonl").read_text().splitlines())}
    assert len(pages) == HOSTS * PAGES
    assert f"{HOSTS * PAGES} of the {HOSTS * PAGES} pages that the web has" in ran.out
    assert f"({len(entries)} requests)" in ran.out
    assert figure(ran.out, "times two requests at once") == len(overlapping(entries)) == 0
    assert gaps_below(entries, lambda _: DELAY_S) == []
    assert abs(figure(ran.out, "shortest pause") - DELAY_S) < 0.1
    assert figure(ran.out, "requests made a second time") == len(asked) - len(set(asked))
    # Hosts that nobody asked until the session of the dead node was over, whichever they were.
    first_s, last_s = figure(ran.out, r"from the death of n\d"), figure(ran.out, "until the last of its")
    silent = [silence_s for silence_s in silences_s(entries).values() if silence_s >= first_s]
    waited = re.search(r"until the last of its (\d+) hosts", ran.out)
    assert waited and int(waited[1]) == len(silent) > 0
    assert SESSION_S - 1.5 < first_s <= last_s <= max(silent)  # it may have been heard of a heartbeat before it died
    assert "is killed (SIGKILL), and its disk deleted" in ran.err
    assert {path.name for path in demo.iterdir()} == LEFT | {"crawl.lock"}


@pytest.mark.parametrize("number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.long)])
async def test_a_demo_that_is_interrupted_leaves_nothing_behind(folder: Path, number: signal.Signals) -> None:
    needed()
    demo = folder / "demo"
    process = await start("demo", "--cluster", "--dir", demo)
    talk = asyncio.create_task(process.communicate())
    try:
        await until(lambda: talk.done() or (demo / "n3/crawl.lock").exists(), 180)
        assert not talk.done(), await talk
        started = children(process.pid)
        assert len(started) >= 6  # Kafka, SeaweedFS, Valkey and three nodes
        assert not [address for pid in started for address in listening(pid) if not is_loopback(address)]
        process.send_signal(number)
        await asyncio.wait_for(asyncio.shield(talk), 30)
    finally:
        if process.returncode is None:
            process.kill()
        _, err = await talk
    assert process.returncode == 130 and b"stopped at once" in err and b"Traceback" not in err, err.decode()
    await until(lambda: not [pid for pid in started if Path(f"/proc/{pid}").exists()], 10)
    assert {path.name for path in demo.iterdir()} <= LEFT | {"crawl.lock"}


async def test_the_demo_says_all_that_is_missing_and_touches_no_folder_of_others(folder: Path) -> None:
    nothing = {"PATH": str(folder), "JAVA_HOME": "", "MAVEN_CENTRAL": "", "XDG_CACHE_HOME": str(folder / "cache")}
    ran = await gossamer("demo", "--cluster", "--dir", folder / "demo", environment=nothing)
    assert ran.code == 1 and "Kafka needs Java 17 or later" in ran.err and "install Maven" in ran.err
    assert "Traceback" not in ran.err
    (folder / "mine").mkdir()
    (folder / "mine" / "cluster.toml").touch()
    ran = await gossamer("demo", "--cluster", "--dir", folder / "mine")
    assert ran.code == 1 and "mine holds cluster.toml, which no demo of a cluster made" in ran.err
    assert [path.name for path in (folder / "mine").iterdir()] == ["cluster.toml"]


def listening(pid: int) -> list[str]:
    """The addresses at which a process listens, as the kernel writes them."""
    try:
        links = [str(each.readlink()) for each in Path(f"/proc/{pid}/fd").iterdir()]
        tables = [Path(f"/proc/{pid}/net/{name}").read_text() for name in ("tcp", "tcp6")]
    except OSError:  # it has ended
        return []
    sockets = {link.removeprefix("socket:[").rstrip("]") for link in links if link.startswith("socket:[")}
    lines = [line.split() for table in tables for line in table.splitlines()]
    return [words[1].partition(":")[0] for words in lines if words[3] == "0A" and words[9] in sockets]


def is_loopback(address: str) -> bool:
    """127.0.0.1, as itself or within IPv6; least significant byte first, in words of four bytes."""
    return address in ("0100007F", "0000000000000000FFFF00000100007F")
