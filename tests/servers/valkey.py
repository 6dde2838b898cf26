"""The Valkey of the tests: one for all tests of a process that ask for it (`server`), each takes a prefix of its own.

A test that needs other options (`maxmemory`, a password), or that breaks it, has one for itself: `with Valkey(...)`.
"""

from __future__ import annotations

import atexit
import itertools
from functools import cache

from gossamer.local_servers import valkey
from gossamer.local_servers.process import ServerMissing
from tests.debian import without


class Valkey(valkey.Valkey):
    def __init__(self, **options: str) -> None:
        self._numbers = itertools.count()
        try:
            super().__init__(None, **options)
        except ServerMissing as fault:
            without("Valkey", str(fault))

    def new_name(self) -> str:
        """Of a crawl that nobody else has."""
        return f"crawl-{next(self._numbers)}"


@cache
def server() -> Valkey:
    running = Valkey()
    atexit.register(running.remove)
    return running
