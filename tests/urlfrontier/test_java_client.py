"""The client that users of URLFrontier have, in Java, against `gossamer frontier`.

Its classes (`urlfrontier-API`) come from Maven Central. The test suite of URLFrontier itself is not published there
(its build says so), and neither is its server; what they promise is in java/Contract.java and test_contract.py.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import subprocess
import tempfile
from functools import cache
from pathlib import Path

import pytest

from tests.debian import program, without
from tests.urlfrontier.serving import served

CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
CONTRACT = Path(__file__).parent / "java" / "Contract.java"
POM = """<project><modelVersion>4.0.0</modelVersion><groupId>t</groupId><artifactId>t</artifactId><version>1</version>
<dependencies><dependency><groupId>com.github.crawler-commons</groupId><artifactId>urlfrontier-API</artifactId>
<version>{version}</version></dependency></dependencies></project>"""


@cache
def jars(version: str) -> Path:
    """The client and all that it needs, fetched once."""
    target = CACHE / f"urlfrontier-API-{version}"
    target.parent.mkdir(parents=True, exist_ok=True)
    with (CACHE / f"urlfrontier-API-{version}.lock").open("w") as lock:  # several test processes may want them
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not target.exists():
            with tempfile.TemporaryDirectory(dir=CACHE) as home:
                fetch(version, Path(home))
                (Path(home) / "jars").rename(target)
    return target


def fetch(version: str, home: Path) -> None:
    mvn = program("mvn", "maven")
    (home / "pom.xml").write_text(POM.format(version=version))
    copy = ["dependency:copy-dependencies", f"-DoutputDirectory={home}/jars"]
    ran = subprocess.run([mvn, "-q", "-B", *copy], cwd=home, capture_output=True, text=True, timeout=300, check=False)
    if ran.returncode:
        without("urlfrontier-API", f"Maven could not fetch it: {ran.stdout[-1000:]}")


@pytest.mark.parametrize("version", ["2.4", "2.5"])
async def test_the_java_client_finds_every_promise_kept(tmp_path: Path, version: str) -> None:
    program("javac", "default-jdk-headless")
    classes = await asyncio.to_thread(jars, version)
    async with served(tmp_path / "F") as frontier:
        host, _, port = frontier.where.rpartition(":")
        java = await asyncio.create_subprocess_exec(
            *("java", "-cp", f"{classes}/*", str(CONTRACT), host, port),
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        async with asyncio.timeout(200):
            out, err = await java.communicate()
    assert java.returncode == 0, err.decode()[-3000:]
    assert out.decode().endswith("promises kept\n")
