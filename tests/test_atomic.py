"""Small files are replaced whole, and changed by one at a time."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from gossamer import atomic
from gossamer.access.keys import Keys
from gossamer.folder import CrawlFolder
from gossamer.maintenance.operator_changes import set_policy


def test_an_error_leaves_the_old_content_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "policies.json"
    atomic.replace(path, b"old")
    with pytest.raises(ZeroDivisionError), atomic.replacing(path) as partial:
        partial.write_bytes(b"half of the n")
        _ = 1 // 0
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["policies.json"]


def test_what_a_killed_writer_left_is_written_over(tmp_path: Path) -> None:
    path = tmp_path / "keys.json"
    (tmp_path / ".keys.json.partial").write_bytes(b"a much longer half of something")
    atomic.replace(path, b"new", mode=0o600)
    assert path.read_bytes() == b"new"
    assert path.stat().st_mode & 0o777 == 0o600
    assert os.listdir(tmp_path) == ["keys.json"]


def test_changes_of_policies_and_keys_at_the_same_moment_are_all_kept(tmp_path: Path) -> None:
    folder = CrawlFolder(tmp_path)

    def change(number: int) -> None:
        set_policy(folder, f"h{number}.test", {"delay_s": 5.0}, is_site=False)
        Keys(tmp_path).add(f"key{number}", "read")

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(change, range(24)))
    assert set(folder.policies().hosts) == {f"h{number}.test" for number in range(24)}
    assert set(Keys(tmp_path).all()) == {f"key{number}" for number in range(24)}
