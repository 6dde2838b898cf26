"""The command as somebody whom permissions hold: who runs the tests may be allowed everything."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.crawl.command import ROOT, Ran

OVERRULING = "-dac_override,-dac_read_search"


def unprivileged(*arguments: object) -> Ran:
    call = [sys.executable, "-m", "gossamer", *map(str, arguments)]
    if os.geteuid() == 0:
        if shutil.which("setpriv") is None:
            pytest.skip("root is held by no permission, and there is no setpriv to change that")
        call = ["setpriv", f"--bounding-set={OVERRULING}", f"--inh-caps={OVERRULING}", *call]
    ran = subprocess.run(call, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    return Ran(ran.returncode, ran.stdout, ran.stderr)


@contextmanager
def read_only(folder: Path) -> Iterator[None]:
    """Nothing in it can be written, made or removed. As in a colleague's crawl, its lock cannot even be read."""
    paths = [folder, *folder.rglob("*")]
    before = {path: path.stat().st_mode for path in paths}
    for path, mode in before.items():
        path.chmod(0 if path.name == "crawl.lock" else mode & ~0o222)
    try:
        yield
    finally:
        for path, mode in before.items():
            path.chmod(mode)
