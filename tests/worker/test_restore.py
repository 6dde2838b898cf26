"""Restoring: whatever became of an owner and its disk, the next one has the state that counts, and nothing else."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from gossamer.cluster.kafka import journal as kafka_journal
from gossamer.cluster.ownership import Passed
from gossamer.frontier.disk.faults import StoreInUse
from gossamer.frontier.disk.store import RocksStore
from gossamer.frontier.disk.tables import TABLES
from gossamer.interfaces import JournalLost, LaterOwner, Mark
from gossamer.worker import restore
from gossamer.worker.restore import GAP_NOTE, How
from tests.s3.server import server
from tests.worker.places import NUMBER, Cluster, everything, journal_of, keys_in, new_topic, objects_in


@pytest.fixture
async def cluster(tmp_path: Path) -> AsyncIterator[Cluster]:
    async with journal_of(new_topic()) as journal:
        yield Cluster(tmp_path, journal, objects_in(server().new_place()))


async def test_the_journal_alone_gives_the_state_to_a_node_that_never_had_it(cluster: Cluster) -> None:
    first, restored = await cluster.gain("a")
    assert (restored.how, restored.is_clean, restored.batches) == (How.NOTHING, True, 0)
    first.write("one", "two", "three")
    await first.journal.settled()
    first.store.close()
    second, restored = await cluster.gain("b")
    second.store.close()
    assert (restored.how, restored.batches, restored.entries, restored.passed) == (How.NOTHING, 3, 6, {})
    assert not restored.is_clean  # nobody said that he gave it up
    assert everything(cluster.disk("b")) == everything(cluster.disk("a"))


async def test_a_batch_larger_than_a_message_counts_when_all_of_it_is_there(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kafka_journal, "PART_BYTES", 50)
    first, _ = await cluster.gain("a")
    first.write("one", "k" * 500, "three")
    whole = cluster.journal.send
    sent = 0

    def some(own: kafka_journal.PartitionJournal, number: int | None, message: bytes) -> None:
        nonlocal sent
        sent += 1
        if sent <= 3:
            whole(own, None, message)

    await first.journal.settled()
    monkeypatch.setattr(cluster.journal, "send", some)
    first.write("cut off " * 60)  # its owner dies after three parts
    first.store.close()
    second, restored = await cluster.gain("b")
    second.store.close()
    assert (restored.batches, keys_in(cluster.disk("b"))) == (3, sorted(["one", "k" * 500, "three"]))


async def test_a_node_that_comes_back_with_its_disk_applies_only_what_is_newer(cluster: Cluster) -> None:
    first, _ = await cluster.gain("a")
    first.write("one", "two")
    await first.journal.settled()
    first.store.close()
    (cluster.disk("a") / "seen.bloom").write_bytes(b"of then")
    second, _ = await cluster.gain("b")
    second.write("three")
    await second.journal.settled()
    second.store.close()
    back, restored = await cluster.gain("a")
    back.store.close()
    assert (restored.how, restored.batches, restored.needs_snapshot) == (How.DISK, 1, False)
    assert everything(cluster.disk("a")) == everything(cluster.disk("b"))
    assert not (cluster.disk("a") / "seen.bloom").exists()


async def test_a_disk_ahead_of_the_journal_is_kept_and_a_snapshot_is_due_until_there_is_one(cluster: Cluster) -> None:
    first, _ = await cluster.gain("a")
    first.write("one")
    await first.journal.settled()
    first.write("two", "three", journal=False)
    first.store.close()
    for _ in range(2):  # also if it dies again before its snapshot
        back, restored = await cluster.gain("a")
        assert (restored.how, restored.needs_snapshot, restored.is_clean) == (How.DISK, True, False)
        assert restored.mark.number >= 3 and keys_in(cluster.disk("a"))[:2] == ["one", "three"]
        back.write("zz")
        await back.journal.settled()
        back.store.close()
    (cluster.disk("a") / GAP_NOTE).unlink()
    _, restored = await cluster.gain("a")
    assert not restored.needs_snapshot


async def test_a_disk_ahead_of_the_journal_is_thrown_away_if_another_node_has_owned_it_since(
    cluster: Cluster,
) -> None:
    first, _ = await cluster.gain("a")
    first.write("one")
    await first.journal.settled()
    first.write("two", "three", journal=False)
    first.store.close()
    second, _ = await cluster.gain("b")
    second.write("2", "3", "4", "5")  # the fourth would follow what the first has
    await second.journal.settled()
    second.store.close()
    back, restored = await cluster.gain("a")
    back.store.close()
    assert (restored.how, restored.batches) == (How.NOTHING, 5)
    assert everything(cluster.disk("a")) == everything(cluster.disk("b"))
    assert any("went on from another state" in line for line in cluster.said)


async def test_a_disk_ahead_is_thrown_away_though_the_other_node_wrote_nothing(cluster: Cluster) -> None:
    first, _ = await cluster.gain("a")
    first.write("one")
    await first.journal.settled()
    first.write("two", journal=False)
    first.store.close()
    await cluster.mint("b")
    back, restored = await cluster.gain("a")
    back.store.close()
    assert (restored.how, keys_in(cluster.disk("a"))) == (How.NOTHING, ["one"])


async def test_nothing_of_an_owner_of_yesterday_counts(cluster: Cluster) -> None:
    first, _ = await cluster.gain("a")
    first.write("one")
    await first.journal.settled()
    second, restored = await cluster.gain("b")
    assert restored.batches == 1
    first.write("zombie", "zombie too")
    second.write("two")
    first.write("zombie again")
    await asyncio.gather(first.journal.settled(), second.journal.settled())
    first.store.close()
    second.store.close()
    for node in ("c", "a"):
        owner, restored = await cluster.gain(node)
        owner.store.close()
        assert keys_in(cluster.disk(node)) == ["one", "two"] and restored.passed[Passed.FENCED] == 3
    assert restored.how is How.NOTHING  # its own disk had what nobody else has


async def test_a_damaged_disk_is_replaced(cluster: Cluster) -> None:
    first, _ = await cluster.gain("a")
    first.write("one", "two")
    await first.journal.settled()
    first.store.close()
    (cluster.disk("a") / "CURRENT").write_text("nonsense\n")
    back, restored = await cluster.gain("a")
    back.store.close()
    assert (restored.how, keys_in(cluster.disk("a"))) == (How.NOTHING, ["one", "two"])
    assert any("its store is damaged" in line for line in cluster.said)


async def test_a_store_that_is_open_is_not_touched(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(restore, "LOCK_S", 0.1)
    first, _ = await cluster.gain("a")
    first.write("one")
    await first.journal.settled()
    own = await cluster.mint("a")
    with pytest.raises(StoreInUse):
        await cluster.restore(own)
    first.write("two")
    assert first.store.get("urls", b"two") is not None
    first.store.close()
    assert keys_in(cluster.disk("a")) == ["one", "two"]


async def test_the_store_of_a_crawl_on_one_machine_is_not_touched(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = RocksStore(cluster.disk("a"), TABLES)
    batch = store.batch()
    batch.put("meta", b"meta", b"precious")
    store.write(batch, sync=True)
    store.close()
    with pytest.raises(StoreInUse, match="on one machine"):
        await cluster.gain("a")
    assert everything(cluster.disk("a"))["meta"] == [(b"meta", b"precious")]


async def test_a_journal_that_has_expired_is_named_and_the_loss_can_be_accepted(cluster: Cluster) -> None:
    first, _ = await cluster.gain("a")
    first.write("one", "two")
    position = await first.journal.settled()
    first.write("three")
    await first.journal.settled()
    first.store.close()
    await cluster.journal.delete_before(NUMBER, position)
    own = await cluster.mint("b")
    with pytest.raises(JournalLost, match=r"cannot be restored: .* has offsets 3 to .* Put the journal or"):
        await cluster.restore(own)
    assert not cluster.disk("b").exists()
    accepted = await cluster.restore(own, accept_loss=True)
    assert (accepted.how, accepted.needs_snapshot, accepted.batches) == (How.NOTHING, True, 0)
    shutil.rmtree(cluster.disk("b"))
    own = await cluster.mint("a")  # whose disk has all of it
    restored = await cluster.restore(own)
    assert (restored.how, restored.batches) == (How.DISK, 0)
    assert keys_in(cluster.disk("a")) == ["one", "three", "two"]


async def test_a_disk_that_nobody_else_went_on_from_needs_no_journal(cluster: Cluster) -> None:
    """A crawl that stood still for longer than the journal is kept goes on where its disks are."""
    first, _ = await cluster.gain("a")
    first.write("one", "two")
    position = await first.journal.settled()
    first.store.close()
    await cluster.mint("a")
    await cluster.journal.delete_before(NUMBER, position + 1)
    second, restored = await cluster.gain("a")
    assert (restored.how, restored.needs_snapshot, restored.batches) == (How.DISK, True, 0)
    second.store.close()
    assert keys_in(cluster.disk("a")) == ["one", "two"]
    await cluster.mint("b")  # from here on somebody else may have gone on
    own = await cluster.mint("a")
    await cluster.journal.delete_before(NUMBER, own.cut)
    with pytest.raises(JournalLost):
        await cluster.restore(own)


async def test_who_is_not_the_owner_any_more_restores_nothing(cluster: Cluster) -> None:
    own = await cluster.mint("a")
    await cluster.mint("b")
    with pytest.raises(LaterOwner):
        await cluster.restore(own)


async def test_an_orderly_end_is_known_only_on_its_own_machine_and_while_its_state_is_here(cluster: Cluster) -> None:
    first, _ = await cluster.gain("a")
    first.write("one", "two")
    position = await first.journal.settled()
    first.store.close()
    await cluster.ownerships.release(NUMBER, Mark(first.own.epoch, first.journal.appended), position)
    second, restored = await cluster.gain("a")
    assert restored.is_clean and restored.mark.number == 2
    second.write("three")
    position = await second.journal.settled()
    second.store.close()
    await cluster.ownerships.release(NUMBER, Mark(second.own.epoch, second.journal.appended), position)
    third, restored = await cluster.gain("b")
    assert not restored.is_clean  # clocks of two machines differ
    third.write("four")
    await third.journal.settled()
    third.store.close()
    await cluster.ownerships.release(NUMBER, Mark(third.own.epoch, 99), position)  # more than anybody has
    _, restored = await cluster.gain("b")
    assert not restored.is_clean
