"""Gossamer: a polite, crash-safe web crawler that grows from a laptop to the whole web.

As a library: `async for page in gossamer.crawl([...])` (library.py), and `@gossamer.processes("text/x-recipe")` for a
media type of one's own (process/media_types.py). Both are imported when they are first asked for, since they bring
all of the crawler with them.
"""

import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gossamer.library import crawl as crawl
    from gossamer.process.media_types import processes as processes

__version__ = "0.1.0"


class _Package(ModuleType):
    """`gossamer.crawl` is the function, though there is a module of that name. As a property of the package it stays
    what it is when that module is imported, which would otherwise put itself in its place."""

    @property
    def crawl(self) -> Any:
        from gossamer.library import crawl  # noqa: PLC0415

        return crawl

    @crawl.setter
    def crawl(self, module: ModuleType) -> None:
        pass

    @property
    def processes(self) -> Any:
        from gossamer.process.media_types import processes  # noqa: PLC0415

        return processes


sys.modules[__name__].__class__ = _Package
