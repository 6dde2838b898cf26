"""Which classes stand behind an archive: those of a folder, or those of a bucket."""

from __future__ import annotations

from pathlib import Path

from gossamer.archive.segments import FolderSegments, Opening, Segments
from gossamer.archive.storage import FolderStorage, Storage
from gossamer.settings import ArchiveSettings


def open_storage(settings: ArchiveSettings, folder: Path) -> Storage:
    """`folder`: the crawl's own, for an archive that is not elsewhere."""
    if not settings.url:
        return FolderStorage(folder)
    from gossamer.archive.bucket import BucketStorage  # noqa: PLC0415 - most crawls need none, and it takes 10 ms

    return BucketStorage(settings.url, settings.options)


def open_segments(storage: Storage, partition: int, epoch: int, opening: Opening, file_bytes_max: int) -> Segments:
    if isinstance(storage, FolderStorage):
        return FolderSegments(storage.folder, partition, epoch, opening, file_bytes_max)
    from gossamer.archive.bucket import BucketSegments, BucketStorage  # noqa: PLC0415 - 10 ms

    assert isinstance(storage, BucketStorage)
    return BucketSegments(storage, partition, epoch, opening)
