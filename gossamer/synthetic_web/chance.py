"""Chance that is the same every time: everything random in the synthetic web is a hash of a name.

A page can then be made from its URL alone, in any order and in any process, and nothing has to be stored.
One hash costs about a microsecond.
"""

from __future__ import annotations

from hashlib import blake2b


def hash64(name: str) -> int:
    return int.from_bytes(blake2b(name.encode(), digest_size=8).digest(), "big")


def uniform(name: str) -> float:
    """In [0, 1)."""
    return (hash64(name) >> 11) / (1 << 53)
