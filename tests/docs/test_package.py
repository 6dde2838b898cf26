"""The package: a wheel with all of our files, installed into an environment of its own, run from another folder."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import venv
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest

from gossamer import __version__
from gossamer.process.which_reader import FILE
from tests.docs.blocks import ROOT


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("wheel")
    call([sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", made], ROOT)
    return next(made.glob("*.whl"))


def call(command: list[str | Path], folder: Path, code: int = 0) -> str:
    ran = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300, check=False)
    assert ran.returncode == code, ran.stdout + ran.stderr
    return ran.stdout + ran.stderr


def test_the_wheel_has_all_files_and_no_others(wheel: Path) -> None:
    ours = {
        str(path.relative_to(ROOT))
        for path in (ROOT / "gossamer").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts and path.name != FILE.name  # that is of one system only
    }
    packed = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    assert packed == ours and any(name.endswith("dashboard/index.html") for name in packed)


def test_the_wheel_says_what_it_is_and_what_it_needs(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        name = next(name for name in archive.namelist() if name.endswith("/METADATA"))
        metadata = Parser().parsestr(archive.read(name).decode())
    assert (metadata["Name"], metadata["Version"]) == ("gossamer", __version__)
    needed = metadata.get_all("Requires-Dist") or []
    assert [need for need in needed if "pyarrow" in need] == [next(need for need in needed if "'parquet'" in need)]
    pythons = [text for text in metadata.get_all("Classifier") or [] if re.search(r"Python :: 3\.\d+$", text)]
    assert [text.rpartition(".")[2] for text in pythons] == ["11", "12", "13", "14"]


@pytest.mark.long
def test_a_wheel_can_have_the_native_reader_in_it(folder: Path) -> None:
    if shutil.which("cargo") is None:
        pytest.skip("there is no Rust here")
    call([sys.executable, ROOT / "native" / "wheel.py", "--out", folder], ROOT)
    wheel = next(folder.glob("*.whl"))
    assert "-py3-none-" in wheel.name and "-any" not in wheel.name
    gossamer = installed_without_parquet(wheel, folder / "installed")
    assert "pages are read by the native reader" in call([gossamer, "--version"], folder)
    code = "from gossamer.process import native; assert native.loaded()[0], native.loaded()[1]"
    call([gossamer.parent / "python", "-c", code], folder)


def installed_without_parquet(wheel: Path, place: Path) -> Path:
    """`gossamer` in an environment that has all that it needs, and no extra."""
    venv.create(place, symlinks=True)
    packages = next(place.glob("lib/python*/site-packages"))
    for folder in [Path(path) for path in reversed(sys.path) if path.endswith("site-packages")]:
        for entry in folder.iterdir():
            if (
                not entry.name.startswith("pyarrow")
                and entry.suffix != ".pth"
                and not (packages / entry.name).exists()
            ):
                (packages / entry.name).symlink_to(entry)
    call([place / "bin" / "python", "-m", "pip", "install", "--no-index", "--no-deps", wheel], place)
    return place / "bin" / "gossamer"


def test_an_installed_wheel_runs_from_another_folder_and_says_which_extra_is_missing(
    wheel: Path, crawl: Path, folder: Path
) -> None:
    gossamer = installed_without_parquet(wheel, folder / "installed")
    elsewhere = folder / "elsewhere"
    shutil.copytree(crawl, elsewhere / "D")
    version, reader = call([gossamer, "--version"], elsewhere).splitlines()
    assert version == f"gossamer {__version__}"
    assert reader.startswith("pages are read by ")
    said = call([gossamer, "export", "D", "--to", "parquet", "--out", "tables"], elsewhere, code=2)
    assert "pyarrow" in said and "gossamer[parquet]" in said and "Traceback" not in said
    assert not (elsewhere / "tables").exists() and not (elsewhere / "D" / "exports.json").exists()
    call([gossamer, "export", "D", "--to", "jsonl", "--out", "pages.jsonl"], elsewhere)
    assert (elsewhere / "pages.jsonl").read_text().count("\n") > 10
