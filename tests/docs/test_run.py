"""`./run` on a fresh machine: it makes its environment once, from the lock file alone, and says how far it is."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.docs.blocks import ROOT

TOOLS = ("sh", "dirname", "cmp", "cp", "rm", "cat")  # and no uv: what pip does is slower, so it is what must be told


def checkout(folder: Path) -> Path:
    """One with a single dependency, which is in a folder of wheels, and a program that shows that it has it."""
    root = folder / "checkout"
    (root / "gossamer").mkdir(parents=True)
    shutil.copy(ROOT / "run", root)
    (root / "gossamer" / "__main__.py").write_text("import sys, tiny; print('started', *sys.argv[1:])")
    wheel = folder / "tiny-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("tiny.py", "")
        archive.writestr("tiny-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: tiny\nVersion: 1.0\n")
        archive.writestr("tiny-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr("tiny-1.0.dist-info/RECORD", "")
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    other = "other==2.0 ; sys_platform == 'another' \\\n    --hash=sha256:" + "0" * 64 + "\n"
    (root / "requirements.lock").write_text(f"tiny==1.0 \\\n    --hash=sha256:{digest}\n{other}")
    (folder / "bin").mkdir()
    (folder / "bin" / "python3").symlink_to(Path(sys.executable).resolve())
    for tool in TOOLS:
        (folder / "bin" / tool).symlink_to(shutil.which(tool) or tool)
    return root


def run(root: Path, *words: str) -> subprocess.CompletedProcess[str]:
    environment = {"PATH": str(root.parent / "bin"), "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(root.parent)}
    command = [str(root / "run"), *words]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)


@pytest.mark.long  # a virtual environment with pip in it takes a while; .ci/run does the same for real
def test_the_set_up_says_what_it_does_and_is_done_once(folder: Path) -> None:
    root = checkout(folder)
    first = run(root, "status", "D")
    assert first.stdout == "started status D\n", first.stderr
    assert "gossamer: 1 of 1: tiny-1.0-py3-none-any.whl" in first.stderr and "unpacking 1 packages" in first.stderr
    again = run(root, "python", "-c", "import tiny, sys; print(sys.prefix)")
    assert (again.stdout, again.stderr) == (f"{root / '.venv'}\n", "")
    # The demo of a cluster starts servers, which are wheels of the other lock file.
    shutil.copy(root / "requirements.lock", root / "requirements-dev.lock")
    assert run(root, "demo").stderr == ""
    demo = run(root, "demo", "--dir", "D", "--cluster")
    assert (
        demo.stdout == "started demo --dir D --cluster\n" and "up to date with requirements-dev.lock" in demo.stderr
    )
