"""Gossamer: a polite, crash-safe web crawler that grows from a laptop to the whole web.

As a library: `async for page in gossamer.crawl([...])`, `for page in gossamer.crawl_sync([...])` in a script, and
`@gossamer.processes("text/x-recipe")` for a media type of one's own. `dir(gossamer)` has all names that programs use;
`__init__.pyi` tells type checkers what they are.
"""

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

# Imported when they are first asked for: some bring the whole crawler, 0.35 s that most commands need not wait.
_HOME = {
    "gossamer.library.crawl": "Crawl crawl",
    "gossamer.library.sync": "CrawlSync crawl_sync",
    "gossamer.library.crawled": "Crawled",
    "gossamer.library.report": "Report",
    "gossamer.process.media_types": "processes",
    "gossamer.records": "Link Page Reason Verdict",
    "gossamer.config": "ConfigError",
    "gossamer.folder": "FolderError",
    "gossamer.url.typed": "NotASeed",
}
_LAZY = {name: module for module, names in _HOME.items() for name in names.split()}

__all__ = ["__version__", *sorted(_LAZY)]  # noqa: PLE0604 - texts all of them


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_LAZY[name]), name)
    return value


def __dir__() -> list[str]:
    return __all__
