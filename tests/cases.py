"""Cases that others wrote: public conformance data, read in place and kept out of this repository.

They lie at `../shared/cases` beside the project, or where GOSSAMER_CASES points. A test that needs them skips where
they are not. A row that we answer differently on purpose stands in a table in its test, with the reason.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent

Row = dict[str, Any]


def folder() -> Path:
    path = Path(os.environ.get("GOSSAMER_CASES") or ROOT.parent / "shared" / "cases")
    if not path.is_dir():
        pytest.skip(f"the public cases are not at {path}; GOSSAMER_CASES may point to them")
    return path


def rows(name: str) -> list[Row]:
    """The rows of `urls/wpt_urltestdata` and the like."""
    path = folder() / f"{name}.jsonl"
    if not path.is_file():
        pytest.skip(f"there is no {path}")
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line]


def content(name: str) -> bytes:
    return (folder() / name).read_bytes()
