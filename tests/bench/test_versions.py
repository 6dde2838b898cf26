"""Two versions of Gossamer in one comparison: each runs its own code, and one that fails is a line and not an end."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from gossamer import cli
from gossamer.bench.command import PEERS, names_of
from gossamer.bench.crawlers import found, labelled
from gossamer.bench.environment import Environment
from gossamer.bench.versions import ROOT
from gossamer.config import UsageError
from tests.bench.needs import needs_nginx
from tests.crawl.command import gossamer


def empty_checkout(folder: Path, init: str = "__version__ = '9.9'\n") -> Path:
    """A Gossamer that can be asked for its version, and can do nothing else."""
    (folder / "gossamer").mkdir(parents=True)
    (folder / "gossamer" / "__init__.py").write_text(init)
    return folder


def environment_in(folder: Path) -> Environment:
    return Environment(folder / "cache" / "environment", print)


def test_another_version_is_compared_with_this_one_and_with_nobody_else_unless_named() -> None:
    assert names_of(None, None) == PEERS.split(",")
    assert names_of(None, ["../before"]) == ["gossamer", "gossamer=../before"]
    assert names_of("gossamer,wget2", ["../before"]) == ["gossamer", "wget2", "gossamer=../before"]


def test_a_version_is_called_by_its_folder_and_two_of_one_name_are_two(tmp_path: Path) -> None:
    first, second = (empty_checkout(tmp_path / parent / "before") for parent in ("a", "b"))
    labels = labelled(["gossamer", f"gossamer={first}", "wget2", f"gossamer={second}"])
    assert labels == {"gossamer": None, "gossamer=before": first, "wget2": None, "gossamer=before#2": second}


def test_what_is_no_checkout_is_refused_before_anything_is_measured(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(UsageError, match="no checkout"):
        labelled([f"gossamer={tmp_path}"])
    assert cli.run(["bench", "--against", str(tmp_path)]) == 2
    assert "no checkout of Gossamer" in capsys.readouterr().err


def test_a_checkout_runs_its_own_code(tmp_path: Path) -> None:
    (other,), missing = found([f"gossamer={empty_checkout(tmp_path / 'old')}"], environment_in(tmp_path))
    assert not missing
    assert (other.name, other.version) == ("gossamer=old", "9.9")
    assert str(tmp_path / "old") in other.settings


def test_a_checkout_runs_in_its_own_environment_where_it_has_one(tmp_path: Path) -> None:
    own = empty_checkout(tmp_path / "old") / ".venv" / "bin" / "python"
    own.parent.mkdir(parents=True)
    own.write_text(f'#!/bin/sh\necho used >> "{tmp_path}/used"\nexec "{sys.executable}" "$@"\n')
    own.chmod(0o755)
    (other,), _ = found([f"gossamer={tmp_path / 'old'}"], environment_in(tmp_path))
    assert other.version == "9.9" and (tmp_path / "used").read_text().count("used") >= 1


@pytest.mark.parametrize("init", ["raise RuntimeError('of yesterday')", "this is no Python"])
def test_a_version_that_does_not_start_is_missing_with_a_reason(tmp_path: Path, init: str) -> None:
    here, (missing,) = found([f"gossamer={empty_checkout(tmp_path / 'old', init)}"], environment_in(tmp_path))
    assert not here
    assert missing.name == "gossamer=old" and missing.reason


@needs_nginx
@pytest.mark.long
async def test_two_versions_are_measured_in_turn_and_a_third_one_fails(tmp_path: Path) -> None:
    before = tmp_path / "before"
    shutil.copytree(ROOT / "gossamer", before / "gossamer", ignore=shutil.ignore_patterns("__pycache__"))
    (before / "gossamer" / "__init__.py").write_text(
        (ROOT / "gossamer" / "__init__.py").read_text().replace("__version__ = ", '__version__ = "7." + ')
    )
    broken = empty_checkout(tmp_path / "broken")
    size = ("--hosts", 4, "--pages", 10, "--rounds", 2, "--seconds", 60, "--port", 18_098, "--cache", tmp_path)
    ran = await gossamer("bench", *size, "--against", before, "--against", broken, "--json", timeout_s=180)
    assert ran.code == 1, ran.err  # because of the third
    (facts,) = ran.lines()
    assert facts["crawlers"]["gossamer=before"]["version"].startswith("7.")
    assert [facts["crawlers"][name]["pages"] for name in ("gossamer", "gossamer=before")] == [40, 40]
    assert len(facts["cpu_ratios_rounds"]["gossamer=before"]) == 2
    assert 0.3 < facts["cpu_ratios"]["gossamer=before"] < 3
    assert "gossamer.__main__" in facts["missing"]["gossamer=broken"]
    order = [line.split(":")[2].split()[0] for line in ran.err.splitlines() if " of 2: " in line]
    assert order == ["gossamer", "gossamer=before", "gossamer=before", "gossamer"]
