"""A crawl that is resumed after the public suffix list of this machine has changed."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

from tests.crawl.command import gossamer, quick_settings
from tests.fetch.raw_server import raw_server

HOSTS = [f"h{n}.big.test" for n in range(6)]
# By another list every one of them is a site of its own, and would live in another partition.
OTHER = """
import pathlib, publicsuffixlist
publicsuffixlist.PSLFILE = str(pathlib.Path(__file__).parent / "list.dat")
"""


async def test_under_another_suffix_list_every_host_stays_in_its_partition(folder: Path) -> None:
    """Judged by the access log: in another partition nobody would know that a page was fetched already."""
    asked: Counter[str] = Counter()

    def answer(request: bytes) -> list[bytes | float]:
        path, host = request.split()[1].decode(), request.partition(b"Host: ")[2].partition(b":")[0].decode()
        if path == "/robots.txt":
            return [b"HTTP/1.1 404 X\r\nContent-Length: 0\r\n\r\n"]
        asked[host + path] += 1
        links = [server.url(f"/{n}", name) for name in HOSTS for n in range(3)]
        body = f"<p>{host} {path}</p>" + "".join(f'<a href="{link}">{link}</a>' for link in links)
        return [f"HTTP/1.1 200 X\r\nContent-Type: text/html\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode()]

    (folder / "other").mkdir()
    (folder / "other" / "sitecustomize.py").write_text(OTHER)
    (folder / "other" / "list.dat").write_text("test\nbig.test\n")
    other = {"PYTHONPATH": os.pathsep.join([str(folder / "other"), os.environ.get("PYTHONPATH", "")])}
    overrides = ", ".join(f'"{name}" = "127.0.0.1"' for name in HOSTS)
    (folder / "more.toml").write_text(f"[dns]\noverrides = {{{overrides}}}\n")
    async with raw_server() as server:
        server.answer = answer
        crawl = ["crawl", server.url("/0", HOSTS[0]), "--dir", folder / "crawl", "--scope", "any", "--allow-private"]
        crawl += ["--config", folder / "more.toml", *quick_settings()]
        first = await gossamer(*crawl, "--max-pages", 6)
        assert first.code == 0 and asked.total() == 6, first.err
        second = await gossamer(*crawl, "--set", "crawl.max_pages=null", environment=other)
        assert second.code == 0 and "Complete" in second.out, second.err
    assert asked == {f"{name}/{n}": 1 for name in HOSTS for n in range(3)}
