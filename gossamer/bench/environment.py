"""The throw-away environment: where the Python peers, and nginx if need be, are installed.

A virtual environment in the cache folder, made at the first use. Its versions are whatever the package index gives
that day; the report names them. Throw the folder away to get newer ones.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

INSTALL_S_MAX = 900.0


class NotInstalled(Exception):
    """The package index did not give it; the text says why, in one line."""


class Environment:
    def __init__(self, folder: Path, say: Callable[[str], None]) -> None:
        self.folder = folder
        self.python = folder / "bin" / "python"
        self.say = say

    def need(self, package: str, *requirements: str) -> str:
        """The version of an installed package; installs it, with the requirements, where it is missing."""
        if (version := self._versions().get(package)) is not None:
            return version
        self.say(f"installing {', '.join(requirements)} into {self.folder}")
        if not self.python.exists():
            run(sys.executable, "-m", "venv", str(self.folder))
        pip = (str(self.python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-input")
        run(*pip, "--only-binary", ":all:", *requirements)
        return self._versions()[package]

    def _versions(self) -> dict[str, str]:
        if not self.python.exists():
            return {}
        said = run(str(self.python), "-m", "pip", "list", "--format", "json", "--disable-pip-version-check")
        return {row["name"].lower(): row["version"] for row in json.loads(said)}


def run(*command: str) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=INSTALL_S_MAX, check=False)
    except (OSError, subprocess.TimeoutExpired) as fault:
        raise NotInstalled(str(fault)) from fault
    if done.returncode:
        lines = done.stderr.strip().splitlines() or [f"{command[0]} ended with {done.returncode}"]
        raise NotInstalled(lines[-1])
    return done.stdout
