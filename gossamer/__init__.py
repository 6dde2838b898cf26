"""Gossamer: a polite, crash-safe web crawler that grows from a laptop to the whole web.

As a library: `async for page in gossamer.crawl([...])` (library.py), and `@gossamer.processes("text/x-recipe")` for a
media type of one's own (process/media_types.py). `__init__.pyi` tells type checkers what they are.
"""

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

# Imported when they are first asked for: they bring the whole crawler, 0.35 s that most commands need not wait.
_LAZY = {"crawl": "gossamer.library", "processes": "gossamer.process.media_types"}


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_LAZY[name]), name)
