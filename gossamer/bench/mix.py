"""The pages that are crawled: a synthetic web on disk, made once for each mix and used again.

A mix is a number of hosts, pages a host, bytes a page, and with or without TLS. The folder of a mix is complete when
its list of seeds is there, which is written last. Every root page is a seed: the measurement is of crawling, and not
of how soon a crawler finds its hundredth host.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from gossamer.config import UsageError
from gossamer.synthetic_web.habits.static import write_static
from gossamer.synthetic_web.options import WebOptions
from gossamer.synthetic_web.web import Web

SEED = 7  # of the web: everybody's pages are the same
LINKS_A_PAGE = 20


@dataclass(frozen=True)
class Mix:
    hosts: int = 400
    pages_per_host: int = 50
    page_bytes: int = 21_000
    is_tls: bool = False
    port: int = 18_080

    @property
    def pages(self) -> int:
        return self.hosts * self.pages_per_host

    @property
    def scheme(self) -> str:
        return "https" if self.is_tls else "http"

    def __str__(self) -> str:
        return f"{self.hosts}x{self.pages_per_host}-{self.page_bytes}-{self.scheme}-{self.port}"


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
    shutil.rmtree(site.folder, ignore_errors=True)  # of a time that was interrupted
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
    addresses = [web.atlas.address(host) for host in range(mix.hosts)]
    for address in addresses:
        robots = site.folder / address / "robots.txt"
        robots.write_text("User-agent: *\nDisallow: /private/\n", encoding="ascii")
        if mix.is_tls:
            for page in (site.folder / address).rglob("*"):
                if page.is_file():
                    page.write_bytes(page.read_bytes().replace(b'"http://127.', b'"https://127.'))
    if mix.is_tls:
        _write_certificate(site, addresses)
    site.seeds.write_text(
        "".join(f"{mix.scheme}://{address}:{mix.port}/\n" for address in addresses), encoding="ascii"
    )
    return site


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
