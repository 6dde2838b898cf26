"""The store finds every key, wherever RocksDB keeps it: in a write buffer, in a new file, in a merged one."""

from __future__ import annotations

import resource
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from random import Random

import pytest
from rocksdict import Options, Rdict

from gossamer.frontier.disk.faults import StoreDamaged, StoreFull
from gossamer.frontier.disk.memory import StoreMemory
from gossamer.frontier.disk.store import FILES_MERGED, HOST_BYTES, RocksStore

HOSTS = [bytes([first, 0xFF, last]) + bytes(HOST_BYTES - 3) for first in (0, 7, 0xFF) for last in (0, 1, 0xFE, 0xFF)]
NOBODY = b"nobody's"
FILES_MAX = 16  # open, of a store where few are allowed
FILES = 20  # more than are merged at a time


def test_a_queue_is_read_host_by_host_from_buffers_and_files_alike(tmp_path: Path) -> None:
    chance, truth = Random(1), dict[bytes, bytes]()
    with closing(RocksStore(tmp_path, ("queue", "urls"))) as store:
        for number in range(FILES):
            batch = store.batch()
            for _ in range(30):
                key = chance.choice(HOSTS[number % 5 :: 3]) + chance.randbytes(1) + bytes(11)
                truth[key] = chance.randbytes(4)
                batch.put("queue", key, truth[key])
            for gone in chance.sample(sorted(truth), 5):
                batch.delete("queue", gone)
                del truth[gone]
            store.write(batch, sync=False)
            if number < FILES - 1:
                store._tables["queue"].flush()
        assert list(tmp_path.glob("*.sst"))
        assert dict(store.scan("queue")) == truth
        for start in (*HOSTS, NOBODY):
            assert list(store.scan("queue", start)) == sorted(item for item in truth.items() if item[0] >= start)
        for host in (*HOSTS, NOBODY):
            own = sorted(item for item in truth.items() if item[0].startswith(host))
            assert list(store.scan("queue", prefix=host)) == own
            assert store.last("queue", host) == (own[-1] if own else None)
            half = own[len(own) // 2][0] if own else host
            rest = [item for item in own if item[0] > half]
            assert list(store.scan("queue", half + b"\0", host)) == rest
            assert store.first("queue", host, 1000, half + b"\0") == rest
            assert store.first("queue", host, 3) == own[:3]


def test_what_is_written_is_read_at_once(tmp_path: Path) -> None:
    """Entries of a host are read by a cursor that lasts until the next write, and no longer."""
    host, other = HOSTS[0], HOSTS[1]
    with closing(RocksStore(tmp_path, ("queue",))) as store:
        for number in range(3):
            assert len(store.first("queue", host, 10)) == number
            batch = store.batch()
            batch.put("queue", host + bytes([number]), b"")
            batch.put("queue", other + bytes([number]), b"")
            store.write(batch, sync=False)
        batch = store.batch()
        batch.delete("queue", host + b"\1")
        store.write(batch, sync=False)
        assert [key[-1] for key, _ in store.first("queue", host, 10)] == [0, 2]


# --- damage, and a full disk ---


FILL = """
import os, sys
from pathlib import Path
from random import Random
from gossamer.frontier.disk.store import RocksStore
store = RocksStore(Path(sys.argv[1]), ("urls", "queue"))
for start in range(0, 3000, 100):
    batch = store.batch()
    for number in range(start, start + 100):
        batch.put("urls", number.to_bytes(20, "big"), Random(number).randbytes(60))
    store.write(batch, sync=False)
if "flush" in sys.argv:
    store._tables["urls"].flush()
os._exit(0)
"""


def filled(folder: Path, *how: str) -> list[bytes]:
    """A store of 3,000 keys as a killed process leaves it."""
    folder.mkdir(parents=True)
    subprocess.run([sys.executable, "-c", FILL, str(folder), *how], check=True)
    return [number.to_bytes(20, "big") for number in range(3000)]


def flip(file: Path, at: float) -> None:
    content = bytearray(file.read_bytes())
    content[int(len(content) * at)] ^= 1
    file.write_bytes(content)


@pytest.mark.parametrize("at", [0.1, 0.5])
def test_a_flipped_bit_in_a_file_is_damage_however_it_is_met(tmp_path: Path, at: float) -> None:
    folder = tmp_path / "crawl" / "partitions" / "003"
    keys = filled(folder, "flush")
    (file,) = folder.glob("*.sst")
    flip(file, at)
    with closing(RocksStore(folder, ("urls", "queue"))) as store:
        for read in (
            lambda: list(store.scan("urls")),
            lambda: [store.get("urls", key) for key in keys],
            lambda: store.get_many("urls", keys),
        ):
            with pytest.raises(StoreDamaged, match=f"{file.name}.*gossamer rebuild .*/crawl --partition 3"):
                read()
        assert len(list(store.check())) == 1


def test_a_flipped_bit_in_the_log_is_damage_and_a_cut_off_end_is_none(tmp_path: Path) -> None:
    filled(tmp_path / "whole")
    (log,) = (path for path in (tmp_path / "whole").glob("*.log") if path.stat().st_size)
    cut = log.read_bytes()[:-40]
    flip(log, 0.98)
    with pytest.raises(StoreDamaged, match=f"its log, {log.name}"):
        RocksStore(tmp_path / "whole", ("urls", "queue"))
    log.write_bytes(cut)
    with closing(RocksStore(tmp_path / "whole", ("urls", "queue"))) as store:
        assert len(list(store.scan("urls"))) == 2900  # the last batch was not whole


def test_a_full_disk_says_so_and_the_store_goes_on_once_there_is_room(tmp_path: Path) -> None:
    with closing(RocksStore(tmp_path, ("urls",))) as store:

        def write(number: int) -> None:
            batch = store.batch()
            batch.put("urls", number.to_bytes(20, "big"), bytes(100_000))
            store.write(batch, sync=True)

        write(0)
        before = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (90_000, before[1]))
        try:
            for number in (1, 2):
                with pytest.raises(StoreFull, match="make room"):
                    write(number)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
        write(3)
        assert [key[-1] for key, _ in store.scan("urls")] == [0, 3]


def test_the_open_files_of_a_store_are_bounded(folder: Path) -> None:
    """In a soak of 20 minutes they are most of what grows: 0 to 450 of the 700 files that a worker had open."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (FILES_MAX * 32, hard))
    try:
        store = RocksStore(folder / "store", tuple("abcdef"))
        for number in range(FILES_MERGED - 1):
            batch = store.batch()
            for table in "abcdef":
                batch.put(table, b"%d" % number, b"x")
            store.write(batch, sync=False)
            for rows in store._tables.values():
                rows.flush()
        open_files = [str(path.readlink()) for path in Path("/proc/self/fd").iterdir() if path.is_symlink()]
        of_tables = [path for path in open_files if path.startswith(str(folder)) and ".sst" in path]
        assert 0 < len(of_tables) <= FILES_MAX < len(list((folder / "store").glob("*.sst")))
        store.close()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_a_store_is_made_by_the_first_entry_and_reads_as_empty_before(tmp_path: Path) -> None:
    folder = tmp_path / "partitions" / "000"
    with closing(RocksStore(folder, ("queue", "urls"))) as store:
        assert store.get("urls", b"a") is None and store.get_many("urls", [b"a", b"b"]) == [None, None]
        assert list(store.scan("queue")) == [] and store.first("queue", HOSTS[0], 5) == []
        assert store.last("queue", b"") is None and list(store.check()) == []
        store.write(store.batch(), sync=True)  # with nothing in it
        assert not folder.exists()
        batch = store.batch()
        batch.put("queue", HOSTS[0] + b"1", b"one")
        store.write(batch, sync=False)
        assert store.first("queue", HOSTS[0], 5) == [(HOSTS[0] + b"1", b"one")]
    with closing(RocksStore(folder, ("queue", "urls"))) as store:
        assert store.get("queue", HOSTS[0] + b"1") == b"one"


def test_what_was_closed_is_never_made_by_somebody_who_comes_late(tmp_path: Path) -> None:
    store = RocksStore(tmp_path / "000", ("urls",))
    batch = store.batch()
    store.close()
    with pytest.raises(AssertionError, match="closed"):
        batch.put("urls", b"a", b"b")
    assert not (tmp_path / "000").exists()


def test_a_store_that_is_just_being_made_reads_as_empty_and_a_damaged_one_does_not(tmp_path: Path) -> None:
    Rdict(str(tmp_path), options=Options(raw_mode=True)).close()  # the tables are not there yet
    options = [*tmp_path.glob("OPTIONS-*")]
    with pytest.raises(StoreDamaged):
        RocksStore(tmp_path, ("urls",), read_only=True)
    for path in options:
        path.unlink()
    with closing(RocksStore(tmp_path, ("urls",), read_only=True)) as store:
        assert list(store.scan("urls")) == []


def test_buffers_begin_large_and_shrink_as_blocks_are_kept(tmp_path: Path) -> None:
    chance, keys = Random(1), list[bytes]()
    memory = StoreMemory((4 << 20, 2 << 20), 1 << 20)

    def write(store: RocksStore, entries: int) -> None:
        batch = store.batch()
        for _ in range(entries):
            keys.append(chance.randbytes(20))
            batch.put("urls", keys[-1], chance.randbytes(1000))
        store.write(batch, sync=False)

    with closing(RocksStore(tmp_path, ("urls",), memory=memory)) as store:
        for _ in range(34):
            write(store, 100)
        assert memory.buffers.get_usage() > 3.3 * (1 << 20), "nothing is kept yet"
        for _ in range(100):
            write(store, 100)
        store.flush()
        assert None not in store.get_many("urls", keys)
        kept = memory.blocks.get_usage()
        assert 0.7 * (1 << 20) < kept < 1.1 * (1 << 20)
        write(store, 1)
        assert 2 << 20 <= memory.buffers.get_buffer_size() < 2.6 * (1 << 20)
