"""Which reader of HTML this installation has: told without loading it, since `gossamer --version` asks."""

from __future__ import annotations

import os
from pathlib import Path

SWITCH = "GOSSAMER_NATIVE"
FILE = Path(__file__).with_name("gossamer_native.so")


def why_python() -> str:
    """Why Python reads the pages; empty: there is a native reader."""
    if os.environ.get(SWITCH, "").lower() in ("off", "0", "no"):
        return f"{SWITCH}={os.environ[SWITCH]}"
    return "" if FILE.exists() else "the native reader was not built"


def reader_text() -> str:
    why = why_python()
    return f"Python ({why})" if why else "the native reader"
