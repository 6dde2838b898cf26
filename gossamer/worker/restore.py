"""Restoring a partition: its state as the last owner left it, on a machine that may never have had it.

The base is the store on this disk if it is a part of the story that counts, else the newest valid snapshot of which
every file is what it was, else nothing. Then come the entries of the journal that count and follow, up to the cut of
our own ownership. What results is the exact state, byte by byte, up to the last batch that was acknowledged.

    the store on this disk is ...        then
    behind the journal                   the rest is applied
    ahead, and no other node since       it is kept: a worker was killed before its last batches were acknowledged.
                                         The journal has a gap now: a snapshot is due before anything is leased
    ahead, and another node since        it is thrown away: the others went on without those batches
    damaged                              it is thrown away
    open elsewhere                       nothing is touched

The folder is replaced at once and at the end, by one that was filled beside it; whatever is cut off on its way begins
again. Restoring reads nothing but objects and the journal, both of which a lost owner may still write to: which of it
counts is a function of the ownership records (cluster/ownership.py).
"""

from __future__ import annotations

import asyncio
import hashlib
import shutil
from collections.abc import Callable
from contextlib import aclosing, suppress
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from gossamer.atomic import make_folder, sync_folder
from gossamer.clock import Clock
from gossamer.cluster.ownership import Follower, History, Ownership, Ownerships, Passed
from gossamer.frontier.disk.faults import StoreDamaged, StoreInUse
from gossamer.frontier.disk.store import RocksStore, is_store
from gossamer.frontier.disk.tables import TABLES
from gossamer.interfaces import Journal, JournalEntry, JournalLost, LaterOwner, Mark, Objects
from gossamer.text import COMMAND
from gossamer.worker.manifest import Manifest, SnapshotFile, valid_manifests

LOCK_S, LOCK_LOOK_S = 10.0, 0.02  # a store may still be held by a worker that is just being killed
DOWNLOADS_AT_ONCE = 8
GAP_NOTE = "journal-gap"  # beside the store: a snapshot is due, because the journal does not lead here
FILTER = "seen.bloom"  # of an earlier state


class How(StrEnum):
    DISK = "disk"
    SNAPSHOT = "snapshot"
    NOTHING = "nothing"


@dataclass
class Restored:
    how: How
    mark: Mark
    batches: int = 0  # that were applied
    entries: int = 0
    seconds: float = 0.0
    bytes: int = 0  # of a snapshot, that were downloaded
    is_clean: bool = True  # the last owner gave it up in order, on this machine, and its state is here
    needs_snapshot: bool = False  # before anything is leased
    passed: dict[Passed, int] = field(default_factory=dict)  # entries of the journal


class _Useless(Exception):
    """This base leads nowhere; the message says why."""


class Restore:
    def __init__(
        self,
        objects: Objects,
        ownerships: Ownerships,
        journal: Journal,
        clock: Clock,
        say: Callable[[str], None],
    ) -> None:
        self.objects = objects
        self.ownerships = ownerships
        self.journal = journal
        self.clock = clock
        self.say = say

    async def __call__(
        self, number: int, epoch: int, node: str, folder: Path, *, accept_loss: bool = False
    ) -> Restored:
        """A store in this folder, with the state that the owner of this epoch begins with.

        `accept_loss`: where the journal is gone, the last snapshot will do."""
        began = self.clock.awake()
        history = await self.ownerships.history(number)
        own = next((record for record in history.records if record.epoch == epoch), None)
        if own is None or history.records[-1].epoch > epoch or own.node != node:
            raise LaterOwner(f"partition {number} is not ours in epoch {epoch}: {history}")
        run = _Run(self, own, history, folder, accept_loss)
        restored = await run.from_disk() or await run.from_elsewhere()
        previous = history.before(epoch)
        if previous is not None:
            released = await self.ownerships.released(number, previous.epoch)
            # Of another machine not even then: its clock may be behind ours, and its hosts' moments with it.
            is_whole = released is not None and released.number == restored.mark.number
            restored.is_clean = is_whole and previous.node == node
        restored.seconds = self.clock.awake() - began
        return restored

    async def look(self, number: int, end: int, folder: Path) -> Restored:
        """The same for somebody who owns nothing: the state up to this offset of the journal."""
        history = await self.ownerships.history(number)
        epoch = history.records[-1].epoch + 1 if history.records else 1
        own = Ownership(number, epoch, "", end)
        run = _Run(self, own, History([*history.records, own]), folder, accept_loss=True, is_look=True)
        return await run.from_disk() or await run.from_elsewhere()


@dataclass
class _Run:
    """One partition, once."""

    parts: Restore
    own: Ownership
    history: History
    folder: Path
    accept_loss: bool
    is_look: bool = False  # what is on this disk was never that of an owner

    # ---- the store on this disk --------------------------------------------------------------------------

    async def from_disk(self) -> Restored | None:
        if not is_store(self.folder):
            return None
        try:
            store = await self._opened()
        except StoreInUse:
            raise
        except StoreDamaged as fault:
            self._tell(f"its store is damaged ({fault})")
            return None
        try:
            return await self._go_on(store)
        except StoreInUse:
            raise
        except (_Useless, JournalLost, StoreDamaged) as why:
            self._tell(str(why))
            return None
        finally:
            await asyncio.to_thread(store.close)

    async def _opened(self) -> RocksStore:
        until = self.parts.clock.now() + LOCK_S
        while True:
            try:
                return await asyncio.to_thread(RocksStore, self.folder, TABLES)
            except StoreInUse:
                if self.parts.clock.now() > until:
                    raise
                await self.parts.clock.sleep(LOCK_LOOK_S)

    async def _go_on(self, store: RocksStore) -> Restored:
        base = store.mark
        if not base.number:
            if store.get("meta", b"meta") is not None:
                raise StoreInUse(
                    f"{self.folder} has the state of a crawl on one machine, and no node of a cluster may touch it: "
                    "give the node a folder of its own",
                    self.folder,
                )
            raise _Useless("its store is empty")
        if all(record.epoch != base.epoch for record in self.history.records):
            raise _Useless(f"its store is of epoch {base.epoch}, which nobody knows")
        restored = Restored(How.DISK, base)
        follower = Follower(self.history, base, is_known=False)
        try:
            await self._replay(store, follower, base.position, restored)
        except JournalLost:
            if self._others_since(base.epoch):
                raise
            # Nobody else has written since: whatever is gone is in this store.
            (self.folder / GAP_NOTE).touch()
            restored.needs_snapshot = True
            return restored
        if follower.is_diverged or follower.passed[Passed.GAP]:
            raise _Useless("others went on from another state than that of its store")
        note = self.folder / GAP_NOTE
        if not follower.is_known:
            if self._others_since(base.epoch):
                raise _Useless("its store is ahead of the journal, and another node has owned it since")
            note.touch()
        restored.needs_snapshot = note.exists()
        if restored.batches:
            with suppress(FileNotFoundError):
                (self.folder / FILTER).unlink()
        return restored

    def _others_since(self, epoch: int) -> bool:
        """Whether anybody but this machine has written since: for a look the owner of that same epoch has."""
        return self.is_look or self.history.others_since(epoch, self.own.epoch, self.own.node)

    # ---- a snapshot, or nothing --------------------------------------------------------------------------

    async def from_elsewhere(self) -> Restored:
        beside = self.folder.with_name(f".{self.folder.name}.restoring")
        number, valid = self.own.partition, valid_manifests(self.parts.objects, self.own.partition, self.history)
        try:
            while (manifest := await asyncio.to_thread(next, valid, None)) is not None:
                await asyncio.to_thread(_make_anew, beside)
                try:
                    await self._download(manifest, beside)
                    return await self._filled(beside, How.SNAPSHOT, manifest)
                except (_Useless, StoreDamaged) as why:
                    self._tell(f"{manifest.name} is of no use: {why}")
            await asyncio.to_thread(_make_anew, beside)
            return await self._filled(beside, How.NOTHING, None)
        except (JournalLost, _Useless) as fault:
            raise JournalLost(
                f"partition {number} cannot be restored: {fault}. Put the journal or the snapshots back, or bring "
                "back the node that owned it last with its disk; or go on from what is there, and pages since then "
                f"are fetched again: `{COMMAND} recover FILE --partition {number}`"
            ) from fault
        finally:
            await asyncio.to_thread(shutil.rmtree, beside, ignore_errors=True)

    async def _filled(self, beside: Path, how: How, manifest: Manifest | None) -> Restored:
        store = await asyncio.to_thread(RocksStore, beside, TABLES)
        try:
            base = store.mark
            if manifest is not None and base[:2] != (manifest.epoch, manifest.number):
                raise _Useless(f"its store says {base}")
            restored = Restored(how, base, bytes=manifest.bytes if manifest is not None else 0)
            follower = Follower(self.history, base, is_known=True)
            try:
                await self._replay(store, follower, manifest.replay_from if manifest else 0, restored)
            except JournalLost as fault:
                if not self.accept_loss:
                    raise
                restored.needs_snapshot = True  # nobody can come here a second time
                (beside / GAP_NOTE).touch()
                self._tell(f"what came after {manifest.name if manifest else 'its beginning'} is lost: {fault}")
            if follower.is_diverged:
                raise _Useless("a later owner went on from another state")
        finally:
            await asyncio.to_thread(store.close)
        await asyncio.to_thread(_swap, beside, self.folder)
        return restored

    async def _download(self, manifest: Manifest, folder: Path) -> None:
        few = asyncio.Semaphore(DOWNLOADS_AT_ONCE)

        async def one(file: SnapshotFile) -> None:
            async with few:
                await asyncio.to_thread(_fetch, self.parts.objects, file, folder)

        await asyncio.gather(*map(one, manifest.files))

    # ---- the journal -------------------------------------------------------------------------------------

    async def _replay(self, store: RocksStore, follower: Follower, start: int, restored: Restored) -> None:
        cut = self.own.cut
        async with aclosing(self.parts.journal.entries(self.own.partition, min(start, cut), cut)) as entries:
            async for some in entries:
                await asyncio.to_thread(_apply, store, follower, some, restored)
                if follower.is_diverged:
                    break
        restored.mark = await asyncio.to_thread(lambda: store.mark)
        restored.passed = dict(follower.passed)

    def _tell(self, what: str) -> None:
        self.parts.say(f"partition {self.own.partition}: {what}")


def _apply(store: RocksStore, follower: Follower, entries: list[JournalEntry], restored: Restored) -> None:
    for entry in entries:
        if follower.follows(entry):
            restored.entries += store.apply(entry.mark, entry.entries)
            restored.batches += 1


def _fetch(objects: Objects, file: SnapshotFile, folder: Path) -> None:
    digest, size = hashlib.sha256(), 0
    if Path(file.name).name != file.name:
        raise _Useless(f"it has a file named {file.name!r}")
    try:
        with (folder / file.name).open("wb") as out:
            for chunk in objects.chunks(file.object):
                out.write(chunk)
                digest.update(chunk)
                size += len(chunk)
    except FileNotFoundError:
        raise _Useless(f"{file.name} ({file.sha256[:12]}) is missing") from None
    if size != file.size or digest.hexdigest() != file.sha256:
        raise _Useless(f"{file.name} ({file.sha256[:12]}) is damaged")


def _make_anew(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    make_folder(folder)


def _swap(beside: Path, folder: Path) -> None:
    """A crash in between leaves none or the new one: what is thrown away is out of the way first."""
    old = folder.with_name(f".{folder.name}.old")
    shutil.rmtree(old, ignore_errors=True)
    if folder.exists():
        folder.rename(old)
    beside.rename(folder)
    sync_folder(folder.parent)
    shutil.rmtree(old, ignore_errors=True)
