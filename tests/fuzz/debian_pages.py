"""Real pages: the HTML of Debian's documentation packages, many authors, generators and languages.

    python -m tests.fuzz.debian_pages FOLDER        fetches the packages (100 MB) and unpacks them into FOLDER
    GOSSAMER_DEBIAN_PAGES=FOLDER ./run test --long tests/fuzz/test_debian_pages.py

It needs a Debian system with apt-get and dpkg; nothing is installed. Without a folder the test reads what the machine
has in /usr/share/doc.
"""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

from gossamer.process.media_types import Readers
from gossamer.settings import ProcessSettings
from gossamer.url.canonical import canonicalize

PACKAGES = (
    "python3.11-doc debian-reference-en debian-reference-ja debian-reference-zh-cn debian-policy libcairo2-doc "
    "developers-reference postgresql-doc-15 apache2-doc sqlite3-doc libglib2.0-doc libgtk-3-doc python-django-doc "
    "installation-guide-amd64 r-doc-html aptitude-doc-es aptitude-doc-fi debian-handbook lilypond-doc-html"
)
MACHINE = Path("/usr/share/doc")
HTML = "text/html"


@dataclass
class Figures:
    files: int = 0
    body_bytes: int = 0
    links: int = 0
    without_text: int = 0
    slowest_s: float = 0.0
    slowest: str = ""
    seconds: float = 0.0
    faults: list[str] = field(default_factory=list)


def folder() -> Path:
    return Path(os.environ.get("GOSSAMER_DEBIAN_PAGES") or MACHINE)


def pages_in(where: Path) -> list[Path]:
    found = (path for ending in ("*.html", "*.htm", "*.xhtml", "*.html.gz") for path in where.rglob(ending))
    return sorted(path for path in found if path.is_file())


def body_of(path: Path) -> bytes:
    body = path.read_bytes()
    return gzip.decompress(body) if path.suffix == ".gz" else body


def read_all(where: Path) -> Figures:
    readers = Readers("gossamer", ProcessSettings(links_from=("images", "scripts")))
    figures = Figures()
    for path in pages_in(where):
        body = body_of(path)
        url = canonicalize(f"http://debian.test/{path.relative_to(where).as_posix()}") or "http://debian.test/"
        started = time.process_time()
        try:
            page = readers.read(HTML, body, url, None)
        except Exception as fault:  # what must not happen, whatever it is
            figures.faults.append(f"{path}: {type(fault).__name__}: {fault}")
            continue
        took_s = time.process_time() - started
        if page.fault:
            figures.faults.append(f"{path}: {page.fault}")
        figures.files += 1
        figures.body_bytes += len(body)
        figures.links += len(page.links)
        figures.without_text += not page.text
        figures.seconds += took_s
        if took_s > figures.slowest_s:
            figures.slowest_s, figures.slowest = took_s, f"{path}, {len(body)} bytes"
    return figures


def fetch(where: Path) -> None:
    where.mkdir(parents=True, exist_ok=True)
    for package in PACKAGES.split():
        got = subprocess.run(["apt-get", "download", package], cwd=where, check=False)
        if got.returncode:
            print(f"{package}: not available here, left out", file=sys.stderr)
    for file in where.glob("*.deb"):
        subprocess.run(["dpkg", "-x", file, where], check=True)


if __name__ == "__main__":
    fetch(Path(sys.argv[1]))
    print(read_all(Path(sys.argv[1])))
