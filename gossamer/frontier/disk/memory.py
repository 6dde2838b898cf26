"""The memory of stores: blocks of files that are kept, and buffers of what was written last, within one bound.

Both fill up as a crawl grows: the buffers at once, the kept blocks over a million URLs. Two bounds would be a process
that grows for as long. So there is one: buffers have the room that blocks do not use yet, and give it up when those
come in. All stores of a process share it, so that memory does not grow with their number either.

The bounds are small. With 64 MiB of blocks a lease takes as long at ten million URLs: the system keeps the files in
its own memory, and links go all over them (docs/decisions/0054-memory-that-is-full-early.md).
"""

from __future__ import annotations

from rocksdict import Cache, WriteBufferManager

MIB = 1 << 20
OF_PARTITIONS = 16 * MIB  # in a worker
OF_FINGERPRINTS = 4 * MIB  # in the supervisor: a page brings a few hundred bytes
BLOCKS_SHARE = 4  # the part of it that blocks may take: one in so many


class StoreMemory:
    def __init__(self, size: int) -> None:
        self.blocks = Cache(size // BLOCKS_SHARE)
        self.buffers = WriteBufferManager(size, False)
        self._size = size

    def share_out(self) -> None:
        """Buffers get what blocks leave. Those that are larger than that are written to files with the next batch."""
        self.buffers.set_buffer_size(self._size - self.blocks.get_usage())


PARTITIONS = StoreMemory(OF_PARTITIONS)
FINGERPRINTS = StoreMemory(OF_FINGERPRINTS)
