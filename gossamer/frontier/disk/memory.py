"""The memory of stores: blocks of files that are kept, and buffers of what was written last.

Buffers are full at once, kept blocks after half a million URLs, and with the files there is more to hold: their
indexes, what merging reads and writes, holes in the heap. With a bound for each a process grows for as long. So
buffers begin large, and shrink as blocks come in. All stores of a process share both, so that memory does not grow
with their number either.

Both are small. With 64 MiB of blocks a lease takes as long at ten million URLs: the system keeps the files in its own
memory, and links go all over them. What it does to a growing crawl: docs/decisions/0054-memory-that-is-full-early.md.
"""

from __future__ import annotations

from rocksdict import Cache, WriteBufferManager

MIB = 1 << 20


class StoreMemory:
    def __init__(self, buffers: tuple[int, int], blocks: int) -> None:
        """In bytes. `buffers`: while no blocks are kept, and when as many are as may be."""
        self.blocks = Cache(blocks)
        self.buffers = WriteBufferManager(buffers[0], False)
        self._most, self._least = buffers
        self._lost_a_byte = (self._most - self._least) / blocks

    def share_out(self) -> None:
        """Buffers that are larger than they may be now are written to files with the next batch."""
        size = int(self._most - self._lost_a_byte * self.blocks.get_usage())
        self.buffers.set_buffer_size(max(self._least, size))


PARTITIONS = StoreMemory((18 * MIB, 8 * MIB), 4 * MIB)  # in a worker
FINGERPRINTS = StoreMemory((4 * MIB, 3 * MIB), 1 * MIB)  # in the supervisor: a page brings a few hundred bytes
