"""The archive after a crash, a full disk, or somebody else's hands: what was committed is there, nothing else is."""

from __future__ import annotations

import asyncio
import resource
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import pytest

from gossamer.archive.segments import ArchiveFull
from gossamer.archive.storage import ArchiveDamaged
from gossamer.archive.warc import WarcArchive
from gossamer.records import Place
from tests.archive.outcomes import pages
from tests.archive.outside import seen_by_all

ROOT = Path(__file__).parents[2]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "archive"


async def opened(folder: Path, end: Place | None = None, file_bytes_max: int = 1 << 30) -> WarcArchive:
    archive = WarcArchive(folder, 3, about={}, file_bytes_max=file_bytes_max)
    await archive.recover(end)
    return archive


def size(folder: Path, end: Place | None) -> int:
    assert end is not None
    return (folder / end.file).stat().st_size


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if path.is_file())


@contextmanager
def room_up_to(file_bytes: int) -> Iterator[None]:
    """No file of this process may grow beyond this many bytes; Python ignores the signal and sees an error."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (file_bytes, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


async def test_the_end_is_behind_everything_that_was_saved(folder: Path) -> None:
    archive = await opened(folder)
    [place] = await archive.save(pages(1))
    assert place is not None and archive.end is not None
    assert archive.end == Place("003-00000.warc.gz", size(folder, archive.end), 0)
    assert archive.end.offset > place.offset + place.length  # the page's links come after it


async def test_recovery_cuts_what_was_not_committed_and_saving_goes_on(folder: Path) -> None:
    archive = await opened(folder)
    await archive.save(pages(2))
    committed = archive.end
    await archive.save(pages(2, start=3))
    archive.close()

    assert committed is not None
    again = await opened(folder, committed)
    assert size(folder, committed) == committed.offset
    [place] = await again.save(pages(1, start=5))
    assert place is not None
    urls = [record.fields.get("warc-target-uri") for record in seen_by_all(folder / place.file)]
    assert urls == [None, *(f"http://a.test/{n}" for n in (1, 1, 1, 2, 2, 2, 5, 5, 5))]


async def test_recovery_sets_later_files_aside_and_leaves_other_partitions_alone(folder: Path) -> None:
    archive = await opened(folder, file_bytes_max=1)
    await archive.save(pages(1))
    committed = archive.end
    for number in (2, 3):
        await archive.save(pages(1, start=number))
    other = folder / "033-00002.warc.gz"
    shutil.copy(folder / "003-00002.warc.gz", other)

    await opened(folder, committed)
    assert names(folder) == ["003-00000.warc.gz", other.name]
    assert names(folder / "unknown") == ["003-00001.warc.gz", "003-00002.warc.gz"]  # nobody knows what is in them
    await opened(folder, None)
    assert names(folder) == [other.name]
    assert len(names(folder / "unknown")) == 3


async def test_recovery_after_recovery_changes_nothing(folder: Path) -> None:
    archive = await opened(folder)
    await archive.save(pages(2))
    before = (folder / "003-00000.warc.gz").read_bytes()
    for _ in range(2):
        assert (await opened(folder, archive.end)).end == archive.end
        assert (folder / "003-00000.warc.gz").read_bytes() == before


async def test_recovery_of_an_archive_that_never_was_needs_no_folder(folder: Path) -> None:
    assert (await opened(folder)).end is None


async def test_recovery_refuses_an_archive_that_lost_committed_bytes(folder: Path) -> None:
    archive = await opened(folder)
    await archive.save(pages(1))
    end = archive.end
    assert end is not None
    (folder / end.file).write_bytes((folder / end.file).read_bytes()[:-1])
    with pytest.raises(ArchiveDamaged, match=rf"003-00000.* {end.offset} bytes .* {end.offset - 1} are there"):
        await opened(folder, end)
    (folder / end.file).unlink()
    with pytest.raises(ArchiveDamaged, match="put the file back"):
        await opened(folder, end)


async def test_files_that_nobody_recovered_are_not_overwritten(folder: Path) -> None:
    await (await opened(folder)).save(pages(1))
    before = (folder / "003-00000.warc.gz").read_bytes()
    with pytest.raises(ArchiveDamaged, match="recover"):
        await WarcArchive(folder, 3, about={}).save(pages(1))
    assert (folder / "003-00000.warc.gz").read_bytes() == before


async def test_a_group_without_room_leaves_no_trace_and_fits_later(folder: Path) -> None:
    archive = await opened(folder)
    await archive.save(pages(1))
    end = archive.end
    assert end is not None
    with room_up_to(end.offset + 1_000), pytest.raises(ArchiveFull, match="make room"):
        await archive.save(pages(3, start=2))
    assert archive.end == end
    assert size(folder, end) == end.offset
    await archive.save(pages(1, start=5))
    assert [record.type for record in seen_by_all(folder / end.file)][4:] == ["request", "response", "metadata"]


async def test_a_file_that_could_not_be_begun_leaves_no_trace(folder: Path) -> None:
    archive = await opened(folder, file_bytes_max=1)
    await archive.save(pages(1))
    end = archive.end
    with room_up_to(100), pytest.raises(ArchiveFull):
        await archive.save(pages(1, start=2))
    assert archive.end == end
    assert names(folder) == ["003-00000.warc.gz"]
    [place] = await archive.save(pages(1, start=3))
    assert place is not None and place.file == "003-00001.warc.gz"


async def test_groups_saved_at_once_do_not_mix(folder: Path) -> None:
    archive = await opened(folder)
    groups = [pages(20, start=20 * n) for n in range(5)]
    saved = await asyncio.gather(*(archive.save(group) for group in groups))
    records = {record.offset: record for record in seen_by_all(folder / "003-00000.warc.gz")}
    for group, places in zip(groups, saved, strict=True):
        for outcome, place in zip(group, places, strict=True):
            assert place is not None
            assert records[place.offset].fields["warc-target-uri"] == outcome.lease.url


async def test_a_closed_archive_takes_nothing(folder: Path) -> None:
    archive = await opened(folder)
    archive.close()
    with pytest.raises(RuntimeError, match="closed"):
        await archive.save(pages(1))


# A child process saves groups for ever and says after each what it would commit.
SAVE_FOR_EVER = """
import asyncio, resource, signal, sys
from pathlib import Path
import msgspec
from gossamer.archive.warc import WarcArchive
from tests.archive.outcomes import pages

async def main(folder, file_bytes_max, room_bytes):
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)  # the kernel kills us in the middle of a write
    resource.setrlimit(resource.RLIMIT_FSIZE, (room_bytes, room_bytes))
    archive = WarcArchive(Path(folder), 3, about={}, file_bytes_max=file_bytes_max)
    await archive.recover(None)
    group = pages(50)
    while True:
        await archive.save(group)
        print(msgspec.json.encode(archive.end).decode(), flush=True)

resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
asyncio.run(main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])))
"""


@contextmanager
def saving(folder: Path, file_bytes_max: int, room_bytes: int) -> Iterator[subprocess.Popen[str]]:
    arguments = [str(folder), str(file_bytes_max), str(room_bytes)]
    command = [sys.executable, "-c", SAVE_FOR_EVER, *arguments]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as child:
        try:
            yield child
        finally:
            child.kill()


async def check_recovered(folder: Path, end: Place, groups: int) -> None:
    archive = await opened(folder, end)
    assert size(folder, end) == end.offset
    assert names(folder)[-1] == end.file
    await archive.save(pages(1))
    types = [record.type for path in sorted(folder.iterdir()) for record in seen_by_all(path)]
    assert types.count("response") == types.count("metadata") == groups * 50 + 1


@pytest.mark.parametrize("groups", [1, 7])
def test_a_process_killed_at_any_moment_leaves_what_it_committed(folder: Path, groups: int) -> None:
    with saving(folder, file_bytes_max=300_000, room_bytes=1 << 30) as child:
        assert child.stdout is not None
        lines = [child.stdout.readline() for _ in range(groups)]
        child.kill()
    asyncio.run(check_recovered(folder, msgspec.json.decode(lines[-1], type=Place), groups))


def test_a_process_killed_within_a_write_leaves_what_it_committed(folder: Path) -> None:
    room_bytes = 500_001
    with saving(folder, file_bytes_max=1 << 30, room_bytes=room_bytes) as child:
        assert child.stdout is not None
        lines = child.stdout.readlines()
    assert child.returncode == -signal.SIGXFSZ
    end = msgspec.json.decode(lines[-1], type=Place)
    assert size(folder, end) == room_bytes  # half a group lies behind the end
    asyncio.run(check_recovered(folder, end, len(lines)))
