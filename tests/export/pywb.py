"""pywb, in an environment of its own.

It cannot be among our own dependencies: some of what it pins is older than what we need, and shadows it. So the
packages that it really uses are installed apart, in the versions of pywb.lock, once for each lock file and Python.
"""

from __future__ import annotations

import fcntl
import hashlib
import http.client
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

LOCK = Path(__file__).parent / "pywb.lock"
FROM_SOURCE = "surt"  # plain Python, and nobody made a wheel of it


def environment() -> Path:
    """The folder of its programs; made where it is missing, which takes half a minute and a package index."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "gossamer-tests"
    name = hashlib.sha256(LOCK.read_bytes() + sys.version.encode()).hexdigest()[:16]
    cache.mkdir(parents=True, exist_ok=True)
    with (cache / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (cache / name / "complete").exists():
            shutil.rmtree(cache / name, ignore_errors=True)
            install(cache / name)
            (cache / name / "complete").touch()
    return cache / name / "bin"


def install(folder: Path) -> None:
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    pip = [str(folder / "bin" / "pip"), "install", "--quiet", "--disable-pip-version-check", "--no-deps"]
    wheels = ["--only-binary", ":all:", "--no-binary", FROM_SOURCE, "--requirement", str(LOCK)]
    made = subprocess.run([*pip, *wheels], check=False, capture_output=True, text=True)
    if made.returncode:
        pytest.skip(f"pywb cannot be installed, is there no package index? {made.stderr[-300:]}")


@contextmanager
def wayback(programs: Path, folder: Path) -> Iterator[int]:
    """Serves the collections in a folder; gives the port."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port: int = free.getsockname()[1]
    command = [str(programs / "wayback"), "--bind", "127.0.0.1", "--port", str(port)]
    with (folder / "wayback.log").open("wb") as log:
        server = subprocess.Popen(command, cwd=folder, stdout=log, stderr=log)
        try:
            while not answers(port):
                assert server.poll() is None, (folder / "wayback.log").read_text()
            yield port
        finally:
            server.terminate()
            server.wait()


def answers(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True


def replayed(port: int, collection: str, url: str, mode: str = "id_") -> tuple[int, str | None, bytes]:
    """Status, Location and body, as they were; in mode mp_ with all that pywb adds to a page."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    try:
        connection.request("GET", f"/{collection}/{mode}/{url}")
        answer = connection.getresponse()
        return answer.status, answer.getheader("Location"), answer.read()
    finally:
        connection.close()
