"""A second protocol: the same fetcher, the same rules, another module."""

from __future__ import annotations

from pathlib import Path

import pytest

from gossamer.clock import RealClock
from gossamer.fetch.dns import Dns
from gossamer.fetch.ftp import Ftp
from gossamer.fetch.protocols import protocols
from gossamer.fetch.transfer import Transfers
from gossamer.process.html import process
from gossamer.records import Failed, Fetched, Reason, Refused
from gossamer.settings import DnsSettings, FetchSettings
from gossamer.url.canonical import canonicalize, choose
from tests.crawl.command import gossamer, quick_settings
from tests.fetch.ftp_server import ftp_server

FILES = {"/pub/a.txt": b"hello", "/pub/more/b.txt": b"there", "/robots.txt": b"User-agent: *\nDisallow: /secret/\n"}


def transfers(*, allow_private: bool = True) -> Transfers:
    clock = RealClock()
    return Transfers(Dns(clock, DnsSettings()), clock, FetchSettings(timeout_s=5), allow_private=allow_private)


async def test_a_file_is_a_page() -> None:
    wires = transfers()
    async with ftp_server(FILES) as server:
        result = await Ftp(wires).fetch(server.url("/pub/a.txt"))
    assert isinstance(result, Fetched)
    assert (result.body, result.exchange.status) == (b"hello", 200)
    await wires.close()


async def test_a_folder_is_a_page_of_links() -> None:
    wires = transfers()
    async with ftp_server(FILES) as server:
        url = server.url("/pub/")
        result = await Ftp(wires).fetch(url)
    assert isinstance(result, Fetched)
    choose(("http", "https", "ftp"))
    try:
        page = process(result.body[:], url)
    finally:
        choose(("http", "https"))
    assert [link.url for link in page.links] == [server.url("/pub/a.txt"), server.url("/pub/more/")]
    await wires.close()


async def test_a_file_that_is_not_there_is_gone_for_good() -> None:
    wires = transfers()
    async with ftp_server(FILES) as server:
        result = await Ftp(wires).fetch(server.url("/pub/none.txt"))
    assert isinstance(result, Failed) and result.exchange is not None
    assert (result.reason, result.exchange.status) == (Reason.GONE, 404)
    await wires.close()


async def test_a_crawl_goes_through_the_folders_of_a_server_and_minds_its_robots_txt(folder: Path) -> None:
    files = FILES | {"/secret/c.txt": b"mine"}
    async with ftp_server(files) as server:
        flags = ["--set", "fetch.schemes=ftp", "--allow-private", *quick_settings(fetch__timeout_s=20)]
        ran = await gossamer("crawl", server.url("/"), "--dir", folder, *flags)
        assert ran.code == 0 and "Complete" in ran.out, ran.err
        pages = {page["url"]: page for page in (await gossamer("pages", folder, "--json")).lines()}
        urls = [
            server.url(path) for path in ("/", "/pub/", "/pub/a.txt", "/pub/more/", "/pub/more/b.txt", "/robots.txt")
        ]
        why = await gossamer("why", folder, server.url("/secret/"), "--json")
        asked = [command for command in server.commands if "secret" in command]
    assert sorted(url for url, page in pages.items() if page["state"] == "done") == urls
    assert (why.lines()[0]["reason"], asked) == ("robots", [])


async def test_ftp_leads_nowhere_private_either() -> None:
    wires = transfers(allow_private=False)
    async with ftp_server(FILES) as server:
        result = await Ftp(wires).fetch(server.url("/pub/a.txt"))
        assert isinstance(result, Refused) and result.reason is Reason.PRIVATE_ADDRESS
        assert server.commands == []
    await wires.close()


async def test_a_body_that_is_too_large_is_cut() -> None:
    wires = transfers()
    async with ftp_server({"/big": b"x" * 100_000}) as server:
        result = await Ftp(wires).fetch(server.url("/big"), body_bytes_max=1000)
    assert isinstance(result, Fetched)
    assert (len(result.body), result.exchange.truncated) == (1000, "length")
    await wires.close()


def test_a_scheme_that_is_not_crawled_has_no_canonical_form() -> None:
    assert canonicalize("ftp://a.test/b;c?d") is None
    choose(("ftp",))
    try:
        assert canonicalize("ftp://user@a.test:21/x/../b#c") == "ftp://a.test/b"
        assert canonicalize("http://a.test/") is None
    finally:
        choose(("http", "https"))


async def test_a_scheme_that_nobody_fetches_is_said_at_the_start(folder: Path) -> None:
    ran = await gossamer("crawl", "gopher://a.test/", "--dir", folder, "--set", "fetch.schemes=gopher")
    assert ran.code == 2
    assert "fetch.schemes: nothing here fetches gopher; it knows ftp, http, https" in ran.err


async def test_a_package_of_the_users_own_adds_a_protocol(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    about = folder / "burrow-1.0.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: burrow\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text("[gossamer.protocols]\ngopher = burrow:Gopher\n")
    (folder / "burrow.py").write_text(
        "class Gopher:\n    def __init__(self, transfers, user_agent):\n        self.user_agent = user_agent\n"
    )
    monkeypatch.syspath_prepend(folder)
    wires = transfers()
    table = protocols(("http", "gopher"), wires, "gossamer/0")
    await wires.close()
    assert type(table["gopher"]).__name__ == "Gopher" and vars(table["gopher"]) == {"user_agent": "gossamer/0"}
