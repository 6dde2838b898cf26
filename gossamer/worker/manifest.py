"""Snapshots of partitions in the object store: what one consists of, which are valid, and which may go.

    snapshots/PPP/EEEEEEEE-NNNNNN    the manifest of a snapshot, created last and never changed
    snapshots/files/SHA256-T         the files that manifests name, by their content: most are in several snapshots

Which manifests count is told by the ownership records alone (cluster/ownership.py), whatever an owner of yesterday
still uploads. Two valid ones are kept of each partition, because a file of the newest may turn out to be damaged.

**A file that no manifest names** may be on its way into one. So it goes only when it is a day old, and a snapshot
relies on no file that is older than half of that: such a one is uploaded once more. Every upload has a name of its
own (T, chosen at random), so whoever comes to remove an old one, be it late, harms nobody. A snapshot that takes
longer than the other half gets no manifest.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from gossamer.cluster.ownership import History
from gossamer.interfaces import Objects
from gossamer.records import Place
from gossamer.settings.kinds import DAY_S

FILES = "snapshots/files/"
KEPT = 2  # valid manifests of a partition
UNNAMED_S = DAY_S  # a file that no manifest names goes when it is older
FRESH_S = UNNAMED_S / 2  # a file that is older is uploaded again
MANIFEST_BYTES_MAX = 16 << 20


class SnapshotFile(msgspec.Struct, frozen=True):
    name: str
    size: int
    sha256: str
    stored_as: str = ""  # below FILES; empty: of an early version, its hash

    @property
    def object(self) -> str:
        return FILES + (self.stored_as or self.sha256)


class Manifest(msgspec.Struct, frozen=True):
    """What is in `snapshots/PPP/EEEEEEEE-NNNNNN`."""

    name: str
    partition: int
    epoch: int
    number: int  # of the last batch in it
    position: int  # in the journal: all that is in it was acknowledged before
    replay_from: int  # in the journal: all that is not in it lies at or behind
    log_position: int
    archive_end: Place | None
    files: list[SnapshotFile]
    taken_at: float
    token: str = ""

    @property
    def bytes(self) -> int:
        return sum(file.size for file in self.files)


def manifest_name(partition: int, epoch: int, count: int) -> str:
    return f"snapshots/{partition:03d}/{epoch:08d}-{count:06d}"


def valid_manifests(objects: Objects, partition: int, history: History) -> Iterator[Manifest]:
    """The newest first; each is read when it is asked for."""
    for name in sorted(objects.names(f"snapshots/{partition:03d}/"), reverse=True):
        manifest = read_manifest(objects, name)
        if manifest is not None and history.is_valid(manifest.epoch, manifest.position):
            yield manifest


def read_manifest(objects: Objects, name: str) -> Manifest | None:
    """None: it was removed meanwhile, or it is damaged."""
    try:
        return msgspec.json.decode(objects.read(name, 0, MANIFEST_BYTES_MAX), type=Manifest)
    except (FileNotFoundError, msgspec.DecodeError):
        return None


def prune(objects: Objects, partition: int, history: History) -> int | None:
    """Remove all manifests of a partition but the two newest valid ones; from where the journal is still needed.

    None: from its beginning. Whoever does this, be it too late, comes to the same end."""
    names = list(objects.names(f"snapshots/{partition:03d}/"))
    kept = [manifest for manifest, _ in zip(valid_manifests(objects, partition, history), range(KEPT), strict=False)]
    if len(kept) < KEPT:
        return None
    objects.remove(name for name in names if name < kept[-1].name)
    return min(manifest.replay_from for manifest in kept)


def tidy(objects: Objects, now: float) -> int:
    """Remove files that no manifest names and that are old; how many. For one at a time, now and then."""
    found = list(objects.names(FILES))  # before the manifests: what is uploaded meanwhile is not in it
    named = set()
    for name in objects.names("snapshots/"):
        if name.startswith(FILES):
            continue
        try:
            manifest = msgspec.json.decode(objects.read(name, 0, MANIFEST_BYTES_MAX), type=Manifest)
        except FileNotFoundError:
            continue  # it was removed just now
        except msgspec.DecodeError:
            return 0  # nobody knows what it names
        named |= {file.object for file in manifest.files}
    removed = 0
    for name in found:
        if name in named:
            continue
        try:
            is_old = objects.modified_at(name) < now - UNNAMED_S  # looked at last: it may be uploaded anew just now
        except FileNotFoundError:
            continue
        if is_old:
            objects.remove([name])
            removed += 1
    return removed
