"""The folder of a frontier: who may have it, what `status` tells, and a frontier as lines of JSON."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gossamer.urlfrontier import urlfrontier_pb2 as messages
from tests.crawl.command import gossamer
from tests.urlfrontier.serving import OK, SKIPPED, discovered, known, served

FAR = 4_000_000_000


async def test_a_second_server_is_told_who_has_the_folder(tmp_path: Path) -> None:
    async with served(tmp_path / "F") as frontier:
        second = await gossamer("frontier", "--dir", tmp_path / "F", "--listen", "127.0.0.1:0")
        assert (second.code, f"is being served by process {frontier.process.pid}" in second.err) == (1, True)
        same_port = await gossamer("frontier", "--dir", tmp_path / "G", "--listen", frontier.where)
        assert (same_port.code, "cannot listen on" in same_port.err) == (1, True)


@pytest.mark.parametrize(
    ("inside", "said"),
    [
        ("gossamer.toml", "is the folder of a crawl, not of a frontier"),
        ("letter.txt", "is not empty and not a frontier"),
    ],
)
async def test_other_folders_are_left_alone(tmp_path: Path, inside: str, said: str) -> None:
    (tmp_path / inside).touch()
    ran = await gossamer("frontier", "--dir", tmp_path, "--listen", "127.0.0.1:0")
    assert (ran.code, said in ran.err) == (1, True), ran.err
    assert [path.name for path in tmp_path.iterdir()] == [inside]


async def test_a_crawl_is_not_begun_in_the_folder_of_a_frontier(tmp_path: Path) -> None:
    async with served(tmp_path / "F"):
        pass
    ran = await gossamer("crawl", "http://a.test/", "--dir", tmp_path / "F")
    assert ran.code == 1 and "not a crawl" in ran.err


async def test_status_tells_what_a_frontier_holds(tmp_path: Path) -> None:
    folder = tmp_path / "F"
    async with served(folder) as frontier:
        await frontier.put(discovered("http://a.test/1"), discovered("http://b.test/1"), known("http://a.test/2"))
        await frontier.get(max_queues=1)
        await frontier.call.SetActive(messages.Active(state=False))
        [running] = (await gossamer("status", folder, "--json")).lines()
    [stopped] = (await gossamer("status", folder, "--json")).lines()
    assert running == stopped
    assert not stopped["active"]
    figures = {"queues": 2, "active_queues": 2, "urls": 2, "in_process": 1, "completed": 1, "blocked_queues": 0}
    assert stopped["crawls"] == [{"crawl": "DEFAULT", **figures}]
    assert "2 URLs in 2 of 2 queues" in (await gossamer("status", folder)).out


async def test_an_export_read_by_another_frontier_gives_the_same(tmp_path: Path) -> None:
    one, other, file = tmp_path / "one", tmp_path / "other", tmp_path / "urls.jsonl"
    async with served(one) as frontier:
        await frontier.put(
            discovered("http://a.test/1", metadata={"depth": ["3"]}),
            known("http://a.test/2", FAR),
            known("http://a.test/done"),
            discovered("http://b.test/", crawl="second"),
        )
        await frontier.call.SetDelay(messages.QueueDelayParams(key="a.test", delay_requestable=7))
        await frontier.call.BlockQueueUntil(messages.BlockQueueParams(key="b.test", crawlID="second", time=FAR))
        await frontier.get("DEFAULT", key="a.test")
        busy = await gossamer("frontier", "--dir", one, "--export", "-")
        assert (busy.code, "is being served" in busy.err) == (1, True)
    assert (await gossamer("frontier", "--dir", one, "--export", file)).code == 0
    ran = await gossamer("frontier", "--dir", other, "--import", file)
    assert "4 URLs taken, 0 passed over" in ran.err
    again = await gossamer("frontier", "--dir", other, "--export", "-")
    assert sorted(again.out.splitlines()) == sorted(file.read_text().splitlines())
    async with served(other) as frontier:
        assert await frontier.get("DEFAULT", key="a.test") == ["http://a.test/1"]  # was in process elsewhere
        assert await frontier.get("second") == []
        assert await frontier.put(discovered("http://a.test/done"), known("http://a.test/2", 5)) == [SKIPPED, OK]


async def test_urls_by_themselves_and_items_as_protocol_buffers_write_them_are_read(tmp_path: Path) -> None:
    item = {
        "known": {
            "info": {"url": "http://a.test/2", "metadata": {"k": {"values": ["v"]}}},
            "refetchableFromDate": "5",
        }
    }
    lines = ["http://a.test/1", "", json.dumps({"discovered": {"info": {"url": "http://b.test/", "key": "own"}}})]
    (tmp_path / "in").write_text("\n".join([*lines, json.dumps(item)]))
    ran = await gossamer("frontier", "--dir", tmp_path / "F", "--import", tmp_path / "in")
    assert "3 URLs taken" in ran.err
    async with served(tmp_path / "F") as frontier:
        assert sorted(await frontier.queues()) == ["a.test", "own"]
        assert await frontier.get("DEFAULT", key="a.test") == ["http://a.test/2", "http://a.test/1"]
    (tmp_path / "in").write_text('http://c.test/\n{"known": 3}\n')
    ran = await gossamer("frontier", "--dir", tmp_path / "F", "--import", tmp_path / "in")
    assert ran.code == 2 and "in, line 2: " in ran.err
