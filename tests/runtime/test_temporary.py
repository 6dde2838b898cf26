"""A temporary folder goes with its process, or with the next one where it was killed."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

from gossamer.runtime.temporary import temporary_folder

HOLD = """
import sys
from gossamer.runtime.temporary import temporary_folder
with temporary_folder() as folder:
    (folder / "supervisor").touch()
    print(folder, flush=True)
    sys.stdin.read()
"""


def held() -> tuple[subprocess.Popen[str], Path]:
    process = subprocess.Popen([sys.executable, "-c", HOLD], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    return process, Path(process.stdout.readline().strip())


def test_what_a_killed_process_left_is_taken_away_by_the_next_and_nothing_else(tmp_path: Path) -> None:
    dead, left = held()
    dead.send_signal(signal.SIGKILL)
    dead.communicate()
    living, kept = held()
    assert not left.exists() and kept.exists()
    other = kept.with_name(kept.name + "-a-crawl-of-somebody")
    (other / "archive").mkdir(parents=True)
    try:
        with temporary_folder() as folder:
            assert folder.stat().st_mode & 0o077 == 0
            assert kept.exists() and (other / "archive").exists()
    finally:
        (other / "archive").rmdir()
        other.rmdir()
    assert not folder.exists()
    living.communicate("")
    assert not kept.exists()
