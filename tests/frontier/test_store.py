"""The store finds every key, wherever RocksDB keeps it: in a write buffer, in a new file, in a merged one."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from random import Random

from gossamer.frontier.store import HOST_BYTES, RocksStore

HOSTS = [bytes([first, 0xFF, last]) + bytes(HOST_BYTES - 3) for first in (0, 7, 0xFF) for last in (0, 1, 0xFE, 0xFF)]
NOBODY = b"nobody's"
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
            assert store.of_host("queue", half + b"\0", 1000) == rest
            assert store.of_host("queue", host, 3) == own[:3]


def test_what_is_written_is_read_at_once(tmp_path: Path) -> None:
    """Entries of a host are read by a cursor that lasts until the next write, and no longer."""
    host, other = HOSTS[0], HOSTS[1]
    with closing(RocksStore(tmp_path, ("queue",))) as store:
        for number in range(3):
            assert len(store.of_host("queue", host, 10)) == number
            batch = store.batch()
            batch.put("queue", host + bytes([number]), b"")
            batch.put("queue", other + bytes([number]), b"")
            store.write(batch, sync=False)
        batch = store.batch()
        batch.delete("queue", host + b"\1")
        store.write(batch, sync=False)
        assert [key[-1] for key, _ in store.of_host("queue", host, 10)] == [0, 2]
