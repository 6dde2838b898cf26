"""Programs that tests need and no package index has, such as a browser.

Found on the PATH, or installed from Debian where that can be done without asking: as root on a machine with apt-get.
Several test processes may want the same program at once, so a lock lets one install it while the others wait; where
that fails the reason is left beside the lock, and nobody waits for it again. Where a program is not there the test
skips, and says why. In CI that is a failure: a check that never runs checks nothing.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import NoReturn

import pytest

UPDATE_S = 120
INSTALL_S = 300


def program(name: str, package: str) -> Path:
    """Where a program is; installed from its Debian package where it has to be and can be."""
    if found := shutil.which(name):
        return Path(found)
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        without(name, f"install {package} to run this")
    fault = install_once(package)
    found = shutil.which(name) or without(name, f"{package} could not be installed: {fault}")
    return Path(found)


def install_once(package: str) -> str:
    """Install a package, or wait for whoever does; the reason where it did not work, otherwise nothing."""
    folder = Path(tempfile.gettempdir())
    run = os.environ.get("PYTEST_XDIST_TESTRUNUID", str(os.getpid()))
    remembered = folder / f"gossamer-apt-{package}-{run}.failed"
    with (folder / "gossamer-apt.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if remembered.exists():
            return remembered.read_text(encoding="utf-8")
        # The lists may be missing or too old; a machine that has them is not made to fetch them again.
        fault = install(package) and (apt_get("update", seconds=UPDATE_S) or install(package))
        if fault:
            remembered.write_text(fault, encoding="utf-8")
        return fault


def install(package: str) -> str:
    return apt_get("install", "-y", "--no-install-recommends", package, seconds=INSTALL_S)


def apt_get(*arguments: str, seconds: float) -> str:
    """Nothing where it worked, otherwise the last thing that apt-get said."""
    command = ["apt-get", "-q", "-o", f"DPkg::Lock::Timeout={seconds}", *arguments]
    environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive", "LC_ALL": "C.UTF-8"}
    try:
        ran = subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=seconds, check=False, errors="replace"
        )
    except subprocess.TimeoutExpired:
        return f"{' '.join(command)} took longer than {seconds:.0f} s"
    said = (ran.stderr or ran.stdout).strip().splitlines()
    return "" if ran.returncode == 0 else said[-1] if said else f"apt-get ended with {ran.returncode}"


def without(name: str, why: str) -> NoReturn:
    message = f"no {name} here: {why}"
    if os.environ.get("CI"):
        pytest.fail(message)
    pytest.skip(message)
