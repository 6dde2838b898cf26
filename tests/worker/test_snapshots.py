"""Snapshots: what one has to have to count, what is left of those that were cut off, and what may be removed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import pytest

from gossamer.clock import RealClock
from gossamer.interfaces import JournalLost, Objects
from gossamer.worker import keeper
from gossamer.worker import manifest as manifests
from gossamer.worker.keeper import ClusterKeeper
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
    victim = max((file for file in taken[1].files if file.sha256 not in before), key=lambda f: f.size).object
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
    assert {file.object for file in kept.files} == set(cluster.objects.names(FILES))
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


class Later(RealClock):
    """It is some hours later than it is."""

    later_s = 0.0

    def now(self) -> float:
        return super().now() + self.later_s


async def test_what_a_snapshot_under_way_needs_is_never_removed(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a store that was uploaded yesterday, and whose manifest is gone: its files are old, and needed again."""
    first, _ = await cluster.gain("a")
    first.write("one")
    await first.journal.settled()
    gone = await take(cluster, first)
    cluster.objects.remove([gone.name])
    cluster.clock = clock = Later()
    # Somebody has uploaded, and is about to write the manifest.
    clock.later_s = manifests.UNNAMED_S - manifests.FRESH_S
    assert tidy(cluster.objects, clock.now()) == 0
    # A day later the same files are needed, while somebody else removes what nobody needs.
    clock.later_s = manifests.UNNAMED_S + 60
    under_way = snapshots_of(cluster)
    put, then = cluster.objects.put, Then(cluster.objects, clock.later_s)

    def put_and_tidy(name: str, parts: Iterable[bytes]) -> None:
        put(name, parts)
        tidy(cast("Objects", then), clock.now())

    monkeypatch.setattr(cluster.objects, "put", put_and_tidy)
    taken = await take(cluster, first, under_way)
    assert then.old and then.old.isdisjoint(cluster.objects.names(FILES))
    first.store.close()
    assert {file.object for file in taken.files} == set(cluster.objects.names(FILES))
    second, restored = await cluster.gain("b")
    second.store.close()
    assert restored.how is How.SNAPSHOT and keys_in(cluster.disk("b")) == ["one"]


class Then:
    """The object store as it is so much later: what is not there yet is new then."""

    def __init__(self, objects: Any, later_s: float) -> None:
        self.old = set(objects.names(FILES))
        self._objects, self._later_s = objects, later_s
        self.names, self.read, self.remove = objects.names, objects.read, objects.remove

    def modified_at(self, name: str) -> float:
        at: float = self._objects.modified_at(name)
        return at if name in self.old else at + self._later_s


async def test_files_of_the_last_snapshot_are_taken_again_unless_they_are_about_to_be_old(cluster: Cluster) -> None:
    """Old ones may be removed while a snapshot is on its way that names them."""
    first, _ = await cluster.gain("a")
    first.write("one")
    await first.journal.settled()
    kept = await take(cluster, first)
    first.store.close()
    cluster.clock = clock = Later()
    second, _ = await cluster.gain("a")
    soon = await take(cluster, second)
    second.store.close()
    tables = [file for file in soon.files if file.name.endswith(".sst")]
    assert tables and {file.object for file in tables} <= {file.object for file in kept.files}
    clock.later_s = manifests.FRESH_S + 60
    third, _ = await cluster.gain("a")
    late = await take(cluster, third)
    third.store.close()
    assert {file.object for file in late.files}.isdisjoint({file.object for file in soon.files})
    assert {file.sha256 for file in late.files} >= {file.sha256 for file in tables}


async def test_a_snapshot_that_takes_half_a_day_gets_no_manifest(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, _ = await cluster.gain("a")
    first.write("one")
    await first.journal.settled()
    cluster.clock = clock = Later()
    put = cluster.objects.put

    def asleep(name: str, parts: Iterable[bytes]) -> None:
        put(name, parts)
        clock.later_s = manifests.FRESH_S + 60

    monkeypatch.setattr(cluster.objects, "put", asleep)
    with pytest.raises(OSError, match="took so long"):
        await take(cluster, first)
    first.store.close()
    assert [name for name in cluster.objects.names("snapshots/") if not name.startswith(FILES)] == []


async def test_a_manifest_that_nobody_can_read_keeps_everything(cluster: Cluster) -> None:
    cluster.objects.put(f"{FILES}{'ab' * 32}", [b"an old file"])
    assert await cluster.objects.create("snapshots/003/00000009-000001", b"of a later version")
    assert tidy(cluster.objects, cluster.clock.now() + 2 * manifests.UNNAMED_S) == 0
    cluster.objects.remove(["snapshots/003/00000009-000001"])
    assert tidy(cluster.objects, cluster.clock.now() + 2 * manifests.UNNAMED_S) == 1


async def test_the_owner_of_partition_0_removes_what_no_snapshot_needs(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Later()
    made = ClusterKeeper(
        "a",
        cluster.objects,
        cluster.journal,
        clock,
        cluster.folder / "k",
        cluster.said.append,
        snapshot_s=900,
        settle_s=1,
    )
    monkeypatch.setattr(keeper, "TIDY_S", 0.05)
    cluster.objects.put(f"{FILES}{'ab' * 32}", [b"cut off"])
    tidying = asyncio.ensure_future(made.tidy())
    try:
        clock.later_s = 2 * manifests.UNNAMED_S
        await asyncio.sleep(0.5)
        assert list(cluster.objects.names(FILES)), "partition 0 is not ours"
        made._open[0] = cast("Partition", None)
        async with asyncio.timeout(20):
            while list(cluster.objects.names(FILES)):  # noqa: ASYNC110
                await asyncio.sleep(0.05)
    finally:
        tidying.cancel()


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
