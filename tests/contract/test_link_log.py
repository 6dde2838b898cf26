"""What every link log has to keep: what was appended is there, in order, for whoever reads it next."""

from __future__ import annotations

import asyncio
import sys
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from gossamer.cluster.link_log import FileLinkLog
from gossamer.cluster.link_messages import MESSAGE_LINKS
from gossamer.interfaces import LinkLog
from gossamer.records import Link
from tests.servers.kafka_cluster import kafka_logs

Opened = Callable[[], LinkLog]


@pytest.fixture(params=["files", "kafka"])
async def opened(request: pytest.FixtureRequest, folder: Path) -> AsyncIterator[Opened]:
    """Each call is another process, as far as the log can tell."""
    if request.param == "kafka":
        async with kafka_logs(partitions=3) as logs:
            yield logs.open
        return
    files: list[LinkLog] = []

    def make() -> LinkLog:
        files.append(FileLinkLog(folder / "links", file_bytes=2000))
        return files[-1]

    yield make
    for log in files:
        log.close()


def some(start: int, count: int = 3) -> list[Link]:
    return [Link(f"http://a.test/{number}", anchor="ä\x9bLK") for number in range(start, start + count)]


def urls_of(start: int, end: int) -> list[str]:
    return [f"http://a.test/{number}" for number in range(start, end)]


async def read_all(log: LinkLog, partition: int, position: int = 0) -> tuple[list[str], int]:
    """What comes after a position, up to the end of this moment."""
    await log.open(partition, position)
    end = await end_of(log, partition)
    urls: list[str] = []
    async with asyncio.timeout(20):
        while position < end:
            if (batch := log.read(partition, position)) is None:
                await asyncio.sleep(0.001)  # it is on its way
                continue
            assert batch.position > position
            urls += [link.url for link in batch.links]
            position = batch.position
    assert position == end and log.read(partition, position) is None
    return urls, position


async def end_of(log: LinkLog, partition: int) -> int:
    return (await log.ends()).get(partition, 0)


async def test_what_was_appended_is_read_in_order_by_whoever_comes(opened: Opened) -> None:
    first, second = opened(), opened()
    assert first.read(0, 0) is None and first.end(0) == 0
    await first.append({0: some(0), 1: some(100)})
    await second.append({0: some(3)})
    await first.append({0: some(6), 2: []})
    urls, position = await read_all(second, 0)
    assert urls == urls_of(0, 9)
    assert position == second.end(0) == await end_of(opened(), 0)
    assert (await read_all(opened(), 1))[0] == urls_of(100, 103)
    assert await read_all(second, 2) == ([], 0)
    await first.append({0: some(9)})
    assert (await read_all(second, 0, position))[0] == urls_of(9, 12)


async def test_a_reader_goes_on_from_any_append(opened: Opened) -> None:
    log, reader = opened(), opened()
    positions = [0]
    for start in range(0, 60, 3):
        await log.append({0: some(start)})
        positions.append(log.end(0))
    assert positions == sorted(set(positions))
    for place, position in reversed([*enumerate(positions)]):
        assert (await read_all(reader, 0, position))[0] == urls_of(3 * place, 60)


async def test_a_reader_that_asks_for_an_earlier_position_gets_it(opened: Opened) -> None:
    """Without opening it again: what it applied may not have lasted."""
    log = opened()
    await log.append({0: some(0)})
    _, end = await read_all(log, 0)
    async with asyncio.timeout(20):
        while (batch := log.read(0, 0)) is None:  # noqa: ASYNC110
            await asyncio.sleep(0.001)
    assert [link.url for link in batch.links] == urls_of(0, 3) and batch.position == end


async def test_a_partition_that_was_shut_is_opened_by_another_at_its_position(opened: Opened) -> None:
    log, first, second = opened(), opened(), opened()
    await log.append({0: some(0), 1: some(50)})
    _, position = await read_all(first, 0)
    first.shut(0)
    first.shut(2)  # which was not open
    await log.append({0: some(3)})
    assert (await read_all(second, 0, position))[0] == urls_of(3, 6)
    assert (await read_all(first, 1))[0] == urls_of(50, 53)  # what it has kept
    second.shut(0)
    assert (await read_all(first, 0, position))[0] == urls_of(3, 6)


async def test_what_was_read_is_not_unread_any_more_and_the_rest_stays(opened: Opened) -> None:
    log, reader = opened(), opened()
    for start in range(0, 3000, 30):
        await log.append({0: some(start, 30)})
        if start == 2670:
            position = log.end(0)
    await reader.open(0, 0)
    unread = reader.unread_bytes(0)
    assert unread > 50_000
    read = 0
    async with asyncio.timeout(20):
        while read < position:
            if (batch := reader.read(0, read)) is None:
                await asyncio.sleep(0.001)
                continue
            read = batch.position
    reader.trim(0, position)
    assert reader.unread_bytes(0) < unread / 5
    assert (await read_all(opened(), 0, position))[0] == urls_of(2700, 3000)
    _, position = await read_all(reader, 0, position)
    reader.trim(0, position)
    assert reader.end(0) == position and reader.read(0, position) is None
    await log.append({0: some(3000)})
    assert (await read_all(reader, 0, position))[0] == urls_of(3000, 3003)


async def test_many_links_at_once_come_in_batches_of_a_bounded_size(opened: Opened) -> None:
    log = opened()
    many = [Link(f"http://a.test/{number}", anchor="x" * 10_000) for number in range(300)]
    await log.append({0: [*some(0, 2500), *many]})
    await log.open(0, 0)
    sizes, position = [], 0
    async with asyncio.timeout(20):
        while position < log.end(0):
            if (batch := log.read(0, position)) is None:
                await asyncio.sleep(0.001)
                continue
            sizes.append(len(batch.links))
            position = batch.position
    assert sum(sizes) == 2800 and max(sizes) == MESSAGE_LINKS and len(sizes) > 10


async def test_several_processes_append_at_once(opened: Opened) -> None:
    logs = [opened() for _ in range(4)]
    await asyncio.gather(*(log.append({0: some(1000 * n + 3 * k)}) for n, log in enumerate(logs) for k in range(40)))
    urls, position = await read_all(opened(), 0)
    assert len(urls) == len(set(urls)) == 480 and position == await end_of(logs[0], 0)


# ---- of files --------------------------------------------------------------------------------------------


def read_now(log: LinkLog, partition: int, position: int = 0) -> tuple[list[str], int]:
    urls: list[str] = []
    while (batch := log.read(partition, position)) is not None:
        assert batch.position > position
        urls += [link.url for link in batch.links]
        position = batch.position
    return urls, position


async def test_a_log_that_was_lost_goes_on_where_its_reader_is(folder: Path) -> None:
    log = FileLinkLog(folder)
    await log.open(0, 1_000_000)
    await log.append({0: some(0)})
    assert read_now(log, 0, 1_000_000)[0] == [link.url for link in some(0)]
    assert log.end(0) > 1_000_000
    log.close()


async def test_what_was_read_is_given_back_by_whole_files(folder: Path) -> None:
    log, reader = FileLinkLog(folder, file_bytes=2000), FileLinkLog(folder, file_bytes=2000)
    for start in range(0, 300, 3):
        await log.append({0: some(start)})
    whole = log.unread_bytes(0)
    _, position = read_now(reader, 0)
    reader.trim(0, position)
    assert whole > 10_000 and log.unread_bytes(0) < 2_500
    log.close()
    reader.close()


@pytest.mark.parametrize("more", [False, True])
async def test_a_piece_of_a_frame_is_skipped(folder: Path, *, more: bool) -> None:
    """Somebody died while writing; what others appended before and after is all there."""
    log = FileLinkLog(folder)
    await log.append({0: some(0)})
    file = folder / "000" / f"{0:016d}.links"
    whole = file.read_bytes()
    for length in range(1, len(whole), 7):
        with file.open("ab") as damaged:
            damaged.write(whole[:length])
        if more:
            await log.append({0: some(3)})
        urls, position = read_now(log, 0)
        assert urls == [link.url for link in (some(0, 6) if more else some(0))]
        assert position == log.end(0)
        file.write_bytes(whole)
    log.close()


async def test_a_file_that_a_power_cut_left_short_holds_nobody_up(folder: Path) -> None:
    """Another process had begun the next file before all of this one was on the disk."""
    log = FileLinkLog(folder, file_bytes=500)
    for start in range(0, 30, 3):
        await log.append({0: some(start)})
    first, *others = sorted((folder / "000").glob("*.links"))
    assert others
    first.write_bytes(first.read_bytes()[:300])
    again = FileLinkLog(folder, file_bytes=500)
    await again.open(0, 0)
    urls, position = read_now(again, 0)
    assert position == again.end(0) == log.end(0)
    assert set(urls) < {link.url for link in some(0, 30)} and urls[-1] == "http://a.test/29"
    log.close()
    again.close()


async def test_a_flipped_bit_costs_one_frame(folder: Path) -> None:
    log = FileLinkLog(folder)
    for start in range(0, 30, 3):
        await log.append({0: some(start)})
    file = folder / "000" / f"{0:016d}.links"
    damaged = bytearray(file.read_bytes())
    damaged[len(damaged) // 2] ^= 1
    file.write_bytes(damaged)
    urls, position = read_now(log, 0)
    assert len(urls) == 27 and position == log.end(0)
    log.close()


async def test_nobody_waits_for_a_writer_that_is_stopped(folder: Path) -> None:
    """A reader that meets half a frame does not know yet whether the other half comes."""
    log = FileLinkLog(folder)
    await log.append({0: some(0)})
    with (folder / "000" / f"{0:016d}.links").open("ab") as file:
        file.write(b"\xff\xfeLK")
    holder = "import fcntl, os, sys; fcntl.flock(os.open(sys.argv[1], 2), 2); print(flush=True); sys.stdin.read()"
    command = [sys.executable, "-c", holder, str(folder / "000" / "lock")]
    process = await asyncio.create_subprocess_exec(*command, stdin=PIPE, stdout=PIPE)
    assert process.stdout is not None
    await process.stdout.readline()
    urls, position = read_now(log, 0)
    assert len(urls) == 3 and position < log.end(0)
    process.kill()
    await process.communicate()
    assert read_now(log, 0, position) == ([], log.end(0))
    log.close()
