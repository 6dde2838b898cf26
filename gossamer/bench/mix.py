"""The pages that are crawled: a synthetic web on disk, made once for each mix and used again.

A mix is a number of hosts, pages a host, bytes a page, and with or without TLS. Pages of an *even* mix are all of one
size; those of the *real* one are as different as those of the web (real_pages.py), are served over TLS, and are there
twice: as they are, and packed by gzip for whoever asks for that. The folder of a mix gets its name when it is
complete. Every root page is a seed: the measurement is of crawling, and not of how soon a crawler finds its hundredth
host.
"""

from __future__ import annotations

import gzip
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from gossamer.bench.real_pages import Host, path_of, sizes
from gossamer.config import UsageError
from gossamer.synthetic_web.atlas import Atlas
from gossamer.synthetic_web.habits.static import write_static
from gossamer.synthetic_web.options import WebOptions
from gossamer.synthetic_web.web import Web

SEED = 7  # of the web: everybody's pages are the same
LINKS_A_PAGE = 20
KINDS = ("even", "real")
PACKED = "packed"  # the folder that has everything once more, by gzip
GZIP_LEVEL = 6


@dataclass(frozen=True)
class Mix:
    hosts: int = 400
    pages_per_host: int = 50
    page_bytes: int = 21_000  # in the mean
    is_tls: bool = False
    port: int = 18_080
    kind: str = "even"

    @classmethod
    def real(cls, hosts: int, pages_per_host: int, port: int) -> Mix:
        drawn = sizes(hosts * pages_per_host, SEED)
        return cls(hosts, pages_per_host, round(sum(drawn) / len(drawn)), True, port, "real")

    @property
    def pages(self) -> int:
        return self.hosts * self.pages_per_host

    @property
    def scheme(self) -> str:
        return "https" if self.is_tls else "http"

    @property
    def is_packed(self) -> bool:
        return self.kind == "real"

    def __str__(self) -> str:
        size = "real" if self.kind == "real" else str(self.page_bytes)
        return f"{self.hosts}x{self.pages_per_host}-{size}-{self.scheme}-{self.port}"


@dataclass(frozen=True)
class Site:
    """A mix on disk."""

    mix: Mix
    folder: Path  # one folder in it for each host

    @property
    def seeds(self) -> Path:
        return self.folder / "seeds.txt"

    @property
    def certificate(self) -> Path:
        return self.folder / "certificate.pem"

    @property
    def key(self) -> Path:
        return self.folder / "key.pem"


def on_disk(mix: Mix, cache: Path, say: Callable[[str], None]) -> Site:
    site = Site(mix, cache / f"web-{mix}")
    if site.seeds.exists():
        return site
    say(f"writing {mix.pages:,} pages on {mix.hosts} hosts into {site.folder}")
    shutil.rmtree(site.folder, ignore_errors=True)  # of a version that wrote in place, and was interrupted
    cache.mkdir(parents=True, exist_ok=True)
    made = Path(tempfile.mkdtemp(prefix="making-", dir=cache))
    try:
        _write(Site(mix, made))
        made.chmod(0o755)  # for a server that runs as somebody else
        try:
            made.rename(site.folder)
        except OSError:
            if not site.seeds.exists():  # else another bench was quicker, with the same pages
                raise
    finally:
        shutil.rmtree(made, ignore_errors=True)
    return site


def read_once(site: Site) -> None:
    """So that the first run finds the pages in the system's memory like all others."""
    for folder, _, names in os.walk(site.folder):
        for name in names:
            Path(folder, name).read_bytes()


def _write(site: Site) -> None:
    mix = site.mix
    addresses = [Atlas.address(host) for host in range(mix.hosts)]
    urls = [f"{mix.scheme}://{address}:{mix.port}" for address in addresses]
    if mix.kind == "real":
        _write_real(site, addresses, urls)
    else:
        _write_even(site, addresses)
    for address in addresses:
        _write_file(site, address, "/robots.txt", b"User-agent: *\nDisallow: /private/\n")
    if mix.is_tls:
        _write_certificate(site, addresses)
    site.seeds.write_text("".join(f"{url}/\n" for url in urls), encoding="ascii")


def _write_even(site: Site, addresses: list[str]) -> None:
    mix = site.mix
    web = Web(
        WebOptions.plain(
            hosts=mix.hosts,
            pages_per_host=mix.pages_per_host,
            page_bytes=mix.page_bytes,
            links_per_page=LINKS_A_PAGE,
            seed=SEED,
            port=mix.port,
        )
    )
    write_static(web, site.folder)
    if mix.is_tls:
        for page in (page for address in addresses for page in (site.folder / address).rglob("*") if page.is_file()):
            page.write_bytes(page.read_bytes().replace(b'"http://127.', b'"https://127.'))


def _write_real(site: Site, addresses: list[str], urls: list[str]) -> None:
    mix = site.mix
    drawn = iter(sizes(mix.pages, SEED))
    for number, address in enumerate(addresses):
        host = Host(number, urls, mix.pages_per_host, SEED)
        for page in range(mix.pages_per_host):
            _write_file(site, address, path_of(page), host.page(page, next(drawn)))


def _write_file(site: Site, address: str, path: str, body: bytes) -> None:
    name = "index.html" if path == "/" else path[1:]
    forms = {site.folder: body}
    if site.mix.is_packed:
        forms[site.folder / PACKED] = gzip.compress(body, GZIP_LEVEL, mtime=0)
    for top, content in forms.items():
        file = top / address / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)


def _write_certificate(site: Site, addresses: list[str]) -> None:
    """One for all hosts, its own authority: whoever trusts it can check every connection."""
    openssl = shutil.which("openssl")
    if openssl is None:
        raise UsageError("--tls needs the command `openssl`, to make a certificate: apt install openssl")
    names = ",".join(f"IP:{address}" for address in addresses)
    kind = ["-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "3650"]
    about = ["-subj", "/CN=gossamer bench", "-addext", f"subjectAltName={names}"]
    files = ["-keyout", str(site.key), "-out", str(site.certificate)]
    subprocess.run([openssl, "req", *kind, *about, *files], check=True, capture_output=True)
