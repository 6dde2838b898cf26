"""Snapshots: what one has to have to count, what is left of those that were cut off, and what may be removed."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import pytest

from gossamer.archive.storage import FolderStorage
from gossamer.interfaces import JournalLost
from gossamer.worker import manifest as manifests
from gossamer.worker.manifest import FILES, Manifest, read_manifest, tidy
from gossamer.worker.partition import Partition, Snapshot
from gossamer.worker.restore import GAP_NOTE, How, Restore
from gossamer.worker.snapshots import Snapshots
from tests.s3.server import server
from tests.worker.places import NUMBER, Cluster, Owner, everything, journal_of, keys_in, new_topic, objects_in


@dataclass
class Bare:
    """Of a partition no more than what a snapshot needs of it."""

    owner: Owner
    number: int = NUMBER
    is_given_up: bool = False
    count: int = 0

    @property
    def folder(self) -> Path:
        return self.owner.store.folder

    async def flush(self) -> None:
        await asyncio.to_thread(self.owner.store.flush)

    async def snapshot(self, folder: Path) -> Snapshot:
        self.count += 1
        folder.mkdir(parents=True, exist_ok=True)
        snapshot = Snapshot(f"s{self.count}", NUMBER, self.owner.own.epoch, 7, None, self.owner.store.mark)
        self.owner.store.copy_to(folder / snapshot.name)
        return snapshot


@pytest.fixture
async def cluster(tmp_path: Path) -> AsyncIterator[Cluster]:
    async with journal_of(new_topic()) as journal:
        yield Cluster(tmp_path, journal, objects_in(server().new_place()))


def snapshots_of(cluster: Cluster) -> Snapshots:
    said = cluster.said.append
    return Snapshots(
        cluster.objects, cluster.ownerships, cluster.journal, cluster.clock, cluster.folder / "copies", 900.0, said
    )


async def take(cluster: Cluster, owner: Owner, snapshots: Snapshots | None = None) -> Manifest:
    taken = await (snapshots or snapshots_of(cluster)).take(cast("Partition", Bare(owner)), owner.journal)
    assert taken is not None
    return taken


async def test_a_snapshot_and_the_journal_behind_it_give_the_state(cluster: Cluster) -> None:
    first, _ = await cluster.gain("a")
    first.write("one", "two")
    await first.journal.settled()
    (cluster.disk("a") / GAP_NOTE).touch()
    taken = await take(cluster, first)
    assert (taken.number, taken.log_position, taken.bytes > 0) == (2, 7, True)
    assert not (cluster.disk("a") / GAP_NOTE).exists() and not list((cluster.folder / "copies").iterdir())
    first.write("three")
    await first.journal.settled()
    first.store.close()
    second, restored = await cluster.gain("b")
    second.store.close()
    assert (restored.how, restored.batches) == (How.SNAPSHOT, 1)
    assert everything(cluster.disk("b")) == everything(cluster.disk("a"))


async def test_two_are_kept_and_the_journal_before_them_goes(cluster: Cluster) -> None:
    first, _ = await cluster.gain("a")
    snapshots = snapshots_of(cluster)
    for key in ("one", "two", "three"):
        first.write(key)
        await first.journal.settled()
        await take(cluster, first, snapshots)
    first.store.close()
    names = [name for name in cluster.objects.names("snapshots/") if not name.startswith(FILES)]
    assert names == [f"snapshots/{NUMBER:03d}/00000001-{n:06d}" for n in (2, 3)]
    oldest = read_manifest(cluster.objects, names[0])
    assert oldest is not None
    with pytest.raises(JournalLost):
        async for _ in cluster.journal.entries(NUMBER, oldest.replay_from - 1, oldest.replay_from):
            pass
    second, restored = await cluster.gain("b")
    second.store.close()
    assert restored.how is How.SNAPSHOT and keys_in(cluster.disk("b")) == ["one", "three", "two"]


@pytest.mark.parametrize("harm", ["missing", "damaged", "shorter"])
async def test_a_snapshot_with_a_damaged_file_gives_way_to_the_one_before(cluster: Cluster, harm: str) -> None:
    first, _ = await cluster.gain("a")
    snapshots = snapshots_of(cluster)
    taken = []
    for key in ("one", "two"):
        first.write(key)
        await first.journal.settled()
        taken.append(await take(cluster, first, snapshots))
    first.write("three")
    await first.journal.settled()
    first.store.close()
    before = {file.sha256 for file in taken[0].files}
    victim = FILES + max((file for file in taken[1].files if file.sha256 not in before), key=lambda f: f.size).sha256
    content = b"".join(cluster.objects.chunks(victim))
    cluster.objects.remove([victim])
    if harm != "missing":
        cluster.objects.put(victim, [content[:-1] + (b"?" if harm == "damaged" else b"")])
    second, restored = await cluster.gain("b")
    second.store.close()
    assert (restored.how, restored.batches) == (How.SNAPSHOT, 2)
    assert everything(cluster.disk("b")) == everything(cluster.disk("a"))
    assert any(f"{taken[1].name} is of no use" in line for line in cluster.said)


async def test_a_snapshot_of_an_owner_of_yesterday_does_not_count(cluster: Cluster) -> None:
    first, _ = await cluster.gain("a")
    first.write("one")
    await first.journal.settled()
    second, _ = await cluster.gain("b")
    first.write("zombie")
    late = await take(cluster, first)
    assert late.epoch == 1
    second.write("two")
    await second.journal.settled()
    third, restored = await cluster.gain("c")
    assert (restored.how, keys_in(cluster.disk("c"))) == (How.NOTHING, ["one", "two"])
    for owner in (first, second, third):
        owner.store.close()


async def test_a_late_snapshot_over_a_gap_does_not_displace_what_others_went_on_from(cluster: Cluster) -> None:
    """Its owner kept a disk ahead of the journal, and was lost before its snapshot had a manifest."""
    first, _ = await cluster.gain("a")
    first.write("one")
    await first.journal.settled()
    first.write("two", "three", journal=False)
    first.store.close()
    back, restored = await cluster.gain("a")
    assert restored.needs_snapshot
    back.write("four")
    await back.journal.settled()
    second_own = await cluster.mint("b")
    restored = await cluster.restore(second_own)
    second = cluster.opened(second_own)
    assert keys_in(cluster.disk("b")) == ["one"]
    late = await take(cluster, back)
    assert (await cluster.ownerships.history(NUMBER)).is_valid(late.epoch, late.position)
    second.write("2", "3")
    await second.journal.settled()
    third, restored = await cluster.gain("c")
    assert keys_in(cluster.disk("c")) == ["2", "3", "one"] and restored.how is How.NOTHING
    for owner in (back, second, third):
        owner.store.close()


async def test_a_snapshot_without_a_manifest_is_none_and_its_files_go_after_a_day(cluster: Cluster) -> None:
    first, _ = await cluster.gain("a")
    first.write("one")
    await first.journal.settled()
    kept = await take(cluster, first)
    cluster.objects.put(f"{FILES}{'ab' * 32}", [b"uploaded, and then its owner died"])
    first.store.close()
    now = cluster.clock.now()
    assert tidy(cluster.objects, now) == 0
    assert tidy(cluster.objects, now + manifests.UNNAMED_S + 60) == 1
    assert {FILES + file.sha256 for file in kept.files} == set(cluster.objects.names(FILES))
    second, restored = await cluster.gain("b")
    second.store.close()
    assert restored.how is How.SNAPSHOT


async def test_a_partition_that_is_given_up_gets_no_manifest(cluster: Cluster) -> None:
    first, _ = await cluster.gain("a")
    first.write("one")
    await first.journal.settled()
    snapshots, bare = snapshots_of(cluster), Bare(first)
    taking = asyncio.ensure_future(snapshots.take(cast("Partition", bare), first.journal))
    await asyncio.sleep(0)
    bare.is_given_up = True
    await snapshots.stop(NUMBER)
    first.store.close()
    assert await taking is None
    assert [name for name in cluster.objects.names("snapshots/") if not name.startswith(FILES)] == []


def test_files_that_are_about_to_be_old_are_uploaded_again(tmp_path: Path) -> None:
    """They may be removed while a snapshot is on its way that names them."""
    from gossamer.worker.snapshots import _put  # noqa: PLC0415

    objects, path = FolderStorage(tmp_path / "objects"), tmp_path / "file"
    path.write_bytes(b"content")
    assert _put(objects, path, "aa", 1e9) == 1e9
    stored = tmp_path / "objects" / FILES / "aa"
    os.utime(stored, (1e9, 1e9))
    assert _put(objects, path, "aa", 1e9 + manifests.FRESH_S - 1) == 1e9
    assert _put(objects, path, "aa", 1e9 + manifests.FRESH_S + 1) > 1e9 and stored.stat().st_mtime > 1e9


async def test_a_look_that_is_older_than_the_journal_begins_anew_from_a_snapshot(cluster: Cluster) -> None:
    """Its store is that of nobody: the owner of the same epoch has gone on since."""
    first, _ = await cluster.gain("a")
    first.write("one")
    await first.journal.settled()
    restore = Restore(cluster.objects, cluster.ownerships, cluster.journal, cluster.clock, cluster.said.append)

    async def look() -> tuple[How, list[str]]:
        end = await cluster.journal.mark(NUMBER, "look")
        restored = await restore.look(NUMBER, end, cluster.disk("look"))
        return restored.how, keys_in(cluster.disk("look"))

    assert await look() == (How.NOTHING, ["one"])
    snapshots = snapshots_of(cluster)
    for key in ("two", "three", "four"):
        first.write(key)
        await first.journal.settled()
        await take(cluster, first, snapshots)  # the journal before the one before is deleted
    first.write("five")
    await first.journal.settled()
    assert await look() == (How.SNAPSHOT, ["five", "four", "one", "three", "two"])
    first.write("six")
    await first.journal.settled()
    assert await look() == (How.DISK, ["five", "four", "one", "six", "three", "two"])
    first.store.close()
