"""Gossamer: a polite, crash-safe web crawler that grows from a laptop to the whole web."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gossamer.process.media_types import processes as processes

__version__ = "0.1.0"


def __getattr__(name: str) -> object:
    if name == "processes":  # only then: it brings all parsers with it
        from gossamer.process.media_types import processes  # noqa: PLC0415

        return processes
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
