"""Ownership records, and what they say of a journal: which entries count, and which of those follow a state."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncGenerator
from pathlib import Path
from random import Random

import pytest

from gossamer.archive.bucket import BucketStorage
from gossamer.archive.storage import FolderStorage
from gossamer.cluster.ownership import Follower, History, Ownership, Ownerships, Passed
from gossamer.interfaces import JournalEntry, LaterOwner, Mark, Objects, OwnJournal, Unreachable
from tests.s3.server import SECRETS, server


class Markers:
    """A journal that gives nothing but cuts."""

    held_up = ""

    def __init__(self) -> None:
        self.offsets = itertools.count(10)

    async def mark(self, partition: int, node: str) -> int:
        await asyncio.sleep(0)
        return next(self.offsets)

    def begin(self, partition: int, epoch: int, cut: int) -> OwnJournal:
        raise NotImplementedError

    def entries(self, partition: int, start: int, end: int) -> AsyncGenerator[list[JournalEntry], None]:
        raise NotImplementedError

    async def delete_before(self, partition: int, position: int) -> None: ...


@pytest.fixture(params=["folder", "bucket"])
def objects(request: pytest.FixtureRequest, tmp_path: Path) -> Objects:
    if request.param == "folder":
        return FolderStorage(tmp_path)
    return BucketStorage(server().new_place(), server().options | SECRETS | {"timeout": "20s"})


async def test_a_name_is_taken_once_and_its_taker_is_known_again(objects: Objects) -> None:
    assert await objects.create("a/b", b"first")
    assert not await objects.create("a/b", b"second")
    assert await objects.create("a/b", b"first")  # as after a lost answer
    assert (objects.read("a/b", 0, 99), list(objects.names())) == (b"first", ["a/b"])


async def test_who_lost_a_partition_while_it_minted_leaves_no_record_that_would_fence_the_next_owner(
    objects: Objects,
) -> None:
    class Slow(Markers):
        async def mark(self, partition: int, node: str) -> int:
            if node == "lost":  # it was cut off, and others went on meanwhile
                await ownerships.mint(partition, "next")
                owners.remove("lost")
            return await super().mark(partition, node)

    owners = ["lost"]
    ownerships = Ownerships(objects, Slow())
    with pytest.raises(LaterOwner):
        await ownerships.mint(3, "lost", lambda: "lost" in owners)
    assert [record.node for record in (await ownerships.history(3)).records] == ["next"]


async def test_of_many_that_mint_at_once_each_has_an_epoch_of_its_own_and_cuts_grow(objects: Objects) -> None:
    ownerships = Ownerships(objects, Markers())
    minted = await asyncio.gather(*(ownerships.mint(3, f"node{n}") for n in range(8)))
    assert sorted(record.epoch for record in minted) == list(range(1, 9))
    history = await ownerships.history(3)
    assert history.records == sorted(minted, key=lambda record: record.epoch)
    cuts = [record.cut for record in history.records]
    assert cuts == sorted(set(cuts))
    assert (await ownerships.history(4)).records == []


async def test_a_record_whose_answer_was_lost_is_one_epoch_and_the_next_try_has_the_next() -> None:
    """The server takes the request and hangs; when it wakes up it carries the request out."""
    objects = server().storage(server().new_place())
    ownerships = Ownerships(objects, Markers())
    first = await ownerships.mint(3, "a")
    server().freeze()
    try:
        with pytest.raises(Unreachable):
            await objects.create("ownership/003/00000002", b'{"partition":3,"epoch":2,"node":"a","cut":11}')
    finally:
        server().thaw()
    again = await ownerships.mint(3, "a")
    epochs = [record.epoch for record in (await ownerships.history(3)).records]
    assert first.epoch == 1 and again.epoch == epochs[-1] and epochs == sorted(set(epochs))


async def test_who_gave_up_in_order_is_known(objects: Objects) -> None:
    ownerships = Ownerships(objects, Markers())
    await ownerships.mint(3, "a")
    assert await ownerships.released(3, 1) is None
    await ownerships.release(3, Mark(1, 77), 99)
    released = await ownerships.released(3, 1)
    assert released is not None and (released.number, released.position) == (77, 99)


# ---- what counts -----------------------------------------------------------------------------------------

HISTORY = History([Ownership(0, 5, "b", 20), Ownership(0, 2, "a", 10), Ownership(0, 6, "a", 21)])


@pytest.mark.parametrize(
    ("epoch", "offset", "counts"),
    [(2, 9, 0), (2, 10, 1), (2, 19, 1), (2, 20, 0), (5, 20, 1), (5, 21, 0), (6, 21, 1), (6, 999, 1), (3, 15, 0)],
)
def test_an_entry_counts_between_the_cuts_of_its_owner_and_the_next(epoch: int, offset: int, counts: int) -> None:
    assert HISTORY.counts(epoch, offset) == bool(counts)


@pytest.mark.parametrize(("epoch", "position", "valid"), [(2, 20, 1), (2, 21, 0), (5, 21, 1), (6, 99, 1), (4, 20, 0)])
def test_a_snapshot_is_valid_if_all_of_it_was_acknowledged_before_the_next_cut(
    epoch: int, position: int, valid: int
) -> None:
    assert HISTORY.is_valid(epoch, position) == bool(valid)


def followed(history: History, base: Mark, entries: list[tuple[int, int, int]], *, is_known: bool = True) -> Follower:
    follower = Follower(history, base, is_known=is_known)
    for at, epoch, number in entries:
        follower.follows(entry(at, epoch, number))
    return follower


def entry(offset: int, epoch: int, number: int) -> JournalEntry:
    return JournalEntry(offset, Mark(epoch, number), b"")


def test_what_an_owner_of_yesterday_appends_is_passed_over() -> None:
    entries = [(11, 2, 1), (12, 2, 2), (20, 2, 3), (21, 2, 4), (22, 6, 3), (23, 2, 5), (24, 6, 4)]
    found = followed(HISTORY, Mark(), entries)
    assert (found.epoch, found.number, found.is_diverged) == (6, 4, False)
    assert found.passed == {Passed.FENCED: 3}


def test_an_owner_that_went_on_from_a_disk_ahead_is_not_followed_and_who_went_on_from_before_is() -> None:
    # Owner 5 had numbers 3 and 4 on its disk alone. Owner 6 never saw them; its fourth batch would fit owner 5's.
    entries = [(11, 2, 1), (12, 2, 2), (20, 5, 5), (22, 6, 3), (23, 6, 4), (24, 6, 5)]
    found = followed(HISTORY, Mark(), entries)
    assert (found.epoch, found.number, found.passed) == (6, 5, {Passed.GAP: 1})
    disk_of_5 = followed(HISTORY, Mark(5, 5), [*entries[2:], (25, 6, 6)], is_known=False)
    assert (disk_of_5.is_known, disk_of_5.is_diverged, disk_of_5.number) == (True, True, 5)  # 6 fits by its number


def test_a_state_ahead_of_the_journal_is_told_from_one_that_others_left_behind() -> None:
    ahead = followed(HISTORY, Mark(2, 9), [(11, 2, 7), (12, 2, 8)], is_known=False)
    assert (ahead.is_known, ahead.is_diverged) == (False, False)
    left = followed(HISTORY, Mark(2, 9), [(11, 2, 7), (12, 2, 8), (20, 5, 9)], is_known=False)
    assert (left.is_known, left.is_diverged) == (False, True)


@pytest.mark.parametrize("seed", range(300))
def test_what_follows_is_what_a_naive_model_of_owners_has_written(seed: int) -> None:
    """Owners come and go; each goes on from what counts, or from its own disk. Some live on after their end."""
    chance = Random(seed)
    journal: list[tuple[int, int, int]] = []  # offset, epoch, number
    records: list[Ownership] = []
    stories: dict[int, list[tuple[int, int]]] = {}  # by epoch: the batches that make its state
    zombies: list[int] = []
    offset = 0
    for epoch in range(1, chance.randrange(2, 9)):
        records.append(Ownership(0, epoch, f"n{epoch}", offset))
        counted = _state(journal, History(records))
        before = stories.get(epoch - 1)
        keeps_disk = before is not None and before[: len(counted)] == counted and chance.random() < 0.3
        state = list(before) if keeps_disk and before is not None else counted
        offset += 1
        for _ in range(chance.randrange(6)):
            if zombies and chance.random() < 0.3:
                writer = chance.choice(zombies)
                journal.append((offset, writer, stories[writer][-1][1] + 1 if stories[writer] else 1))
            else:
                state.append((epoch, len(state) + 1))
                journal.append((offset, epoch, len(state)))
            offset += 1
        if chance.random() < 0.5:  # what never reached the journal
            state.extend((epoch, len(state) + n) for n in range(1, chance.randrange(1, 3)))
        stories[epoch] = state
        zombies.append(epoch)
    history = History(records)
    follower, mine = Follower(history, Mark(), is_known=True), []
    for at, epoch, number in journal:
        if follower.follows(entry(at, epoch, number)):
            mine.append((epoch, number))
    assert mine == _state(journal, history)
    assert not follower.is_diverged
    assert [number for _, number in mine] == list(range(1, len(mine) + 1))
    assert sum(follower.passed.values()) + len(mine) == len(journal)


def _state(journal: list[tuple[int, int, int]], history: History) -> list[tuple[int, int]]:
    """Owner by owner: all of its batches that count, if the first of them is the next one; up to the first hole."""
    state: list[tuple[int, int]] = []
    cuts = [record.cut for record in history.records] + [10**9]
    for place, record in enumerate(history.records):
        for at, epoch, number in journal:
            if epoch == record.epoch and cuts[place] <= at < cuts[place + 1]:
                if number != len(state) + 1:
                    break
                state.append((epoch, number))
    return state
