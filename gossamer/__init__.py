"""Gossamer: a polite, crash-safe web crawler that grows from a laptop to the whole web."""

__version__ = "0.1.0"
