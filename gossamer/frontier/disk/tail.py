"""The tail of a queue that is full: its worst entries, on disk and in the batch under way alike.

A batch brings up to a thousand links, the good ones among them often last: what is kept must not depend on that.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Container, Iterable

from gossamer.frontier.disk.tables import Entry
from gossamer.interfaces import Store


class Tail:
    def __init__(self, store: Store, host: bytes, added: Iterable[Entry]) -> None:
        """`added`: entries of the host that are not on disk yet."""
        self._store = store
        self._host = host
        self._added = sorted(added)
        self._stored = store.last("queue", host)

    def add(self, entry: Entry) -> None:
        insort(self._added, entry)

    def pop(self, gone: Container[bytes]) -> Entry | None:
        """The worst entry; the next one is better. `gone`: keys that the batch under way deletes."""
        while self._stored is not None and self._stored[0] in gone:
            self._stored = self._before(self._stored)
        while self._added and self._added[-1][0] in gone:
            self._added.pop()
        if self._added and (self._stored is None or self._added[-1] > self._stored):
            return self._added.pop()
        worst = self._stored
        if worst is not None:
            self._stored = self._before(worst)
        return worst

    def put_back(self, entry: Entry) -> None:
        """It was popped, and stays in the queue."""
        insort(self._added, entry)

    def _before(self, entry: Entry) -> Entry | None:
        return self._store.last("queue", self._host, entry[0])
