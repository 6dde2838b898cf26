"""Headers, passwords and logins by the beginning of URLs: they reach whom they are for, and nobody else."""

from __future__ import annotations

import gzip
import re
from base64 import b64encode
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import pytest

from gossamer.frontier.disk.store import RocksStore, is_store
from gossamer.frontier.disk.tables import TABLES
from gossamer.process.fingerprints import duplicates
from tests.api.serving import served
from tests.crawl.command import gossamer, quick_settings, start
from tests.fetch.raw_server import RawServer, raw_server
from tests.fetchers.crawling import free_port
from tests.getting_in.pages import NOT_THERE, answers, header_of, html, moved, path_of

PASSWORD, TOKEN, KEY = "correct-horse-battery", "tok-9f8e7d6c5b", "key-1a2b3c4d5e"
BASIC = b64encode(f"me:{PASSWORD}".encode()).decode()
SESSION = "sess-0a1b2c3d4e"
SECRETS = (PASSWORD, TOKEN, KEY, BASIC)
ENVIRONMENT = {"SITE_LOGIN": f"me:{PASSWORD}", "SITE_KEY": KEY, "SITE_PASSWORD": PASSWORD}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Of the crawl; the file of credentials lies beside it."""
    return tmp_path / "crawl"


def asked(server: RawServer, path: str) -> list[bytes]:
    return [request for request in server.requests if path_of(request) == path]


async def crawl(folder: Path, url: str, file: Path, *flags: object, **settings: object) -> dict[str, dict[str, Any]]:
    ran = await gossamer(
        *("crawl", url, "--dir", folder, "--allow-private", "--set", f"fetch.credentials={file}", *flags),
        *quick_settings(**settings),
        environment=ENVIRONMENT,
    )
    assert ran.code == 0, ran.err
    assert not [secret for secret in SECRETS if secret in ran.out + ran.err]
    return {page["url"]: page for page in (await gossamer("pages", folder, "--json")).lines()}


async def test_headers_and_passwords_reach_their_part_of_an_origin_alone(folder: Path, tmp_path: Path) -> None:
    def guard(request: bytes) -> bytes | None:
        path, wanted = path_of(request), {"/basic/": f"Basic {BASIC}", "/token/": f"Bearer {TOKEN}"}
        for begin, value in wanted.items():
            if path.startswith(begin) and header_of(request, "Authorization") != value:
                return html("who are you?", "401 Unauthorized")
        return None

    file, token = tmp_path / "credentials.toml", tmp_path / "token"
    token.write_text(f"{TOKEN}\n")
    async with raw_server(also=["127.0.0.2"]) as server:
        other = f"http://127.0.0.2:{server.port}/other"
        file.write_text(
            f"""
            ["{server.url("/")}"]
            user_agent = "gossamer/own (+me@example.org)"
            accept_language = "de"
            headers = {{ X-Edition = "2", X-Key = "env:SITE_KEY" }}
            ["{server.url("/basic/")}"]
            basic = "env:SITE_LOGIN"
            ["{server.url("/token")}"]
            bearer = "file:{token}"
            """
        )
        links = f'<a href="/basic/a">a</a><a href="/token/b">b</a><a href="/tokens">c</a><a href="{other}">d</a>'
        pages = {"/": html(links), "/basic/a": moved(other), "/token/b": html("b"), "/tokens": html("c")}
        answers(server, pages | {"/other": html("other")}, guard)
        log = tmp_path / "log"
        flags = ("--scope", "any", "--set", "log.level=debug", "--set", f"log.file={log}")
        listed = await crawl(folder, server.url("/"), file, *flags)
    assert listed[server.url("/basic/a")]["status"] == 302 and listed[server.url("/token/b")]["status"] == 200
    for path in ("/", "/tokens"):
        [request] = asked(server, path)
        names = ("User-Agent", "Accept-Language", "X-Edition", "X-Key", "Authorization")
        own = ["gossamer/own (+me@example.org)", "de", "2", KEY, None]
        assert [header_of(request, name) for name in names] == own
    assert header_of(asked(server, "/robots.txt")[0], "X-Key") == KEY  # the same visitor
    [elsewhere] = asked(server, "/other")
    assert not [secret for secret in SECRETS if secret.encode() in elsewhere]
    assert header_of(elsewhere, "X-Edition") is None and header_of(elsewhere, "Host") == f"127.0.0.2:{server.port}"
    everything = log.read_text() + (await gossamer("config", folder)).out
    assert len(asked(server, "/basic/a")) == 1 and "basic/a" in everything
    searched(folder, everything)
    assert "Authorization: ..." in requests_in(folder) and "X-Key: ..." in requests_in(folder)


@pytest.mark.parametrize("flags", [(), ("--process",)])
async def test_a_fetcher_gets_the_secrets_of_its_job_and_brings_back_none(
    folder: Path, tmp_path: Path, flags: tuple[str, ...]
) -> None:
    """With --process it is the fetcher that writes the request record."""

    def guard(request: bytes) -> bytes | None:
        wanted = f"Basic {BASIC}" if path_of(request).startswith("/basic/") else None
        return None if header_of(request, "Authorization") == wanted else html("who are you?", "401 Unauthorized")

    file, join = tmp_path / "credentials.toml", f"127.0.0.1:{free_port()}"
    async with raw_server() as server:
        file.write_text(f'["{server.url("/basic/")}"]\nbasic = "env:SITE_LOGIN"\n')
        answers(server, {"/": html('<a href="/basic/a">a</a>'), "/basic/a": html("behind the door")}, guard)
        fetcher = await start("fetcher", "--join", join, "--allow-private", *flags)
        try:
            listed = await crawl(folder, server.url("/"), file, "--fetchers", join)
        finally:
            fetcher.terminate()
            said = b"".join(await fetcher.communicate()).decode()
    assert listed[server.url("/basic/a")]["status"] == 200
    assert len(asked(server, "/basic/a")) == 1
    searched(folder, said)
    assert "Authorization: ..." in requests_in(folder)


class Members:
    """A site with a form: a hidden field has to come back with it, and a session lasts for some pages."""

    def __init__(self, server: RawServer, *, pages_a_session: int) -> None:
        self.logins = self.pages = 0
        self.forms: list[bytes] = []
        self.most = pages_a_session
        answers(server, {}, self.answer)

    def answer(self, request: bytes) -> bytes:
        path, cookie = path_of(request), header_of(request, "Cookie") or ""
        if path == "/login" and request.startswith(b"POST"):
            self.forms.append(request)
            sent = parse_qs(request.partition(b"\r\n\r\n")[2].decode())
            if sent != {"user": ["me"], "password": [PASSWORD], "csrf": ["42"]} or "visit=1" not in cookie:
                return html("Wrong. Log in")
            self.logins, self.pages = self.logins + 1, 0
            return moved("/members/", f"Set-Cookie: id={SESSION}{self.logins}; Path=/")
        if path == "/login":
            form = '<form method=post><input type=hidden name=csrf value=42><input name=user><input name="password">'
            return html(f"Log in {form}</form>", "200 OK", "Set-Cookie: visit=1")
        if path.startswith("/members/"):
            self.pages += 1
            if f"id={SESSION}{self.logins}" not in cookie or not self.logins or self.pages > self.most:
                return moved("/login?next=/members/")
            links = "".join(f'<a href="/members/{number}">{number}</a>' for number in range(9))
            return html(f"{links} Hello me. Log out" if path == "/members/" else f"Page {path}")
        return html('<a href="/members/">members</a>') if path == "/" else NOT_THERE


def form_file(tmp_path: Path, server: RawServer, success: str = "Log out") -> Path:
    file = tmp_path / "credentials.toml"
    file.write_text(
        f"""
        ["{server.url("/members/")}"]
        login.url = "{server.url("/login")}"
        login.fields = {{ user = "me", password = "env:SITE_PASSWORD" }}
        login.success = "{success}"
        """
    )
    return file


async def test_a_form_is_filled_in_and_again_when_the_session_is_over(folder: Path, tmp_path: Path) -> None:
    async with raw_server() as server:
        site = Members(server, pages_a_session=5)
        file = form_file(tmp_path, server)
        listed = await crawl(folder, server.url("/"), file, fetch__cookies="host")
        tried = await gossamer(
            *("fetch", server.url("/members/3"), "--allow-private", "--delay", "0", "--json"),
            *("--set", f"fetch.credentials={file}"),
            environment=ENVIRONMENT,
        )
    members = {url: page for url, page in listed.items() if "/members/" in url}
    assert len(members) == 10 and {page["status"] for page in members.values()} == {200}
    assert (
        site.logins >= 3 and len(site.forms) == site.logins
    )  # two sessions of the crawl, at least, and one of `fetch`
    assert "Page /members/3" in tried.lines()[0]["page"]["text"] and PASSWORD not in tried.out
    assert not asked(server, "/")[0].count(b"Cookie")
    searched(folder, "")
    assert SESSION.encode() not in stored_in(folder)  # of a session not even its cookies, not in mode `host` either


async def test_a_form_that_lets_nobody_in_is_not_sent_again_and_again(folder: Path, tmp_path: Path) -> None:
    async with raw_server() as server:
        site = Members(server, pages_a_session=100)
        listed = await crawl(folder, server.url("/"), form_file(tmp_path, server, "Nobody says this"))
        why = await gossamer("why", folder, server.url("/members/"))
    assert len(site.forms) == 1 and server.url("/members/") not in listed
    assert "[login]" in why.out and "does not say 'Nobody says this'" in why.out and "next try in" in why.out


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('["https://example.com/"]\nbasic = "me:hunter2"', "wanted env:NAME or file:PATH"),
        ('["https://example.com/"]\nheaders = { Authorization = "hunter2" }', "Authorization is a secret"),
        ('["https://example.com/"]\nbearer = "env:NOT_THERE"', "there is no NOT_THERE in the environment"),
        ('["https://example.com/"]\nbearer = "file:/not/there"', "/not/there cannot be read"),
        ('["https://example.com/"]\npassword = "hunter2"', "unknown field `password`"),
        ('["example"]\naccept_language = "de"', "wanted the beginning of URLs"),
        (
            '["https://example.com/"]\nlogin = { url = "https://other.test/", fields = {}, success = "x" }',
            "login.url has to be on the same host",
        ),
        ("nonsense", "is not TOML"),
    ],
)
async def test_a_mistake_in_the_file_stops_the_start(folder: Path, tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "credentials.toml"
    file.write_text(text)
    ran = await gossamer("crawl", "https://example.com/", "--dir", folder, "--set", f"fetch.credentials={file}")
    assert ran.code == 2 and said in ran.err and "hunter2" not in ran.err, ran.err
    assert not folder.exists()


# ---- where a secret could have been left ---------------------------------------------------------------------


def stored_in(folder: Path) -> bytes:
    """Every byte of a crawl's folder: files as they are, archives unpacked, stores entry by entry."""

    def pieces() -> Iterator[bytes]:
        for path in filter(Path.is_file, folder.rglob("*")):
            yield path.read_bytes()
            if path.name.endswith(".warc.gz"):
                yield gzip.decompress(path.read_bytes())
        stores = [(path, TABLES) for path in (folder / "partitions").iterdir()]
        for path, tables in [*stores, (folder / "fingerprints", duplicates.TABLES)]:
            if is_store(path):
                with closing(RocksStore(path, tables, read_only=True)) as store:
                    for table in tables:
                        yield from (key + b" " + value for key, value in store.scan(table))

    return b"\n".join(pieces())


def requests_in(folder: Path) -> str:
    warcs = b"".join(gzip.decompress(path.read_bytes()) for path in folder.rglob("*.warc.gz"))
    return "".join(re.findall(r"WARC-Type: request.*?\r\n\r\n\r\n", warcs.decode("latin-1"), re.DOTALL))


def searched(folder: Path, more: str) -> None:
    """No secret is in the folder, in what the API says of it, or in what else was written."""
    stored = stored_in(folder)
    assert b"WARC/1.1" in stored
    with served(folder, secrets=SECRETS) as api:
        said = str([api.get(path) for path in ("/status", "/pages", "/hosts")]) + api.ask("GET", "/metrics").text
    assert "gossamer_state_bytes" in said
    for secret in SECRETS:
        assert secret.encode() not in stored and secret not in said + more
