"""The event loop that everything runs in: uvloop where it exists."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

try:
    import uvloop
except ImportError:
    uvloop = None  # type: ignore[assignment]

T = TypeVar("T")


def in_loop(work: Coroutine[Any, Any, T]) -> T:
    return asyncio.run(work) if uvloop is None else uvloop.run(work)
