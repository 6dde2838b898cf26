"""The broker of the tests: one for all tests of a process that ask for it (`kafka`), each takes topics of its own."""

from __future__ import annotations

import atexit
from functools import cache

from gossamer.local_servers.kafka import Kafka
from gossamer.local_servers.kafka_jars import CACHE, download, java
from gossamer.local_servers.process import ServerMissing, free_ports
from tests.debian import without

__all__ = ["Kafka", "free_ports", "kafka", "needed"]


@cache
def why_not() -> str:
    """Why there can be no broker here; empty: there can."""
    try:
        java()
        download(CACHE)
    except ServerMissing as fault:
        return f"{fault}"
    return ""


def needed() -> None:
    """A test that needs brokers skips where there can be none, and fails in CI."""
    if why := why_not():
        without("Kafka", why)


@cache
def _broker() -> Kafka:
    broker = Kafka()
    broker.__enter__()
    atexit.register(broker.__exit__)
    return broker


def kafka() -> Kafka:
    needed()
    return _broker()
