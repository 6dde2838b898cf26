"""Pages behind a login that scripts make: what they load from their own origin is asked for as the page was, and what
they, or others, load from elsewhere is not."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import parse_qs

from tests.crawl.command import gossamer, quick_settings
from tests.debian import program
from tests.fetch.raw_server import RawServer, raw_server
from tests.getting_in.pages import NOT_THERE, answers, header_of, html, moved, path_of

PASSWORD, KEY, COOKIE = "correct-horse-battery", "key-1a2b3c4d5e", "id=sess-0a1b2c3d4e"
ENVIRONMENT = {"SITE_PASSWORD": PASSWORD, "SITE_KEY": KEY}
SAID = "Only members read what stands here, and it is long enough to count as more text than the page had before. "
BUILD = """
const show = (text) => { document.getElementById("root").textContent += text; };
for (const url of URLS) fetch(url).then((answer) => answer.text()).then(show);
"""


class Site:
    """Members log in by a form. Their page is a shell; its script loads data from its part, from beside it, and from
    another origin. A page there loads the data of the members."""

    def __init__(self, server: RawServer) -> None:
        self.requests: list[tuple[str, str, str | None, str | None]] = []
        self.port = server.port
        answers(server, {}, self.answer)

    def answer(self, request: bytes) -> bytes:
        path, host = path_of(request), (header_of(request, "Host") or "").partition(":")[0]
        cookie = header_of(request, "Cookie")
        self.requests.append((host, path, cookie, header_of(request, "X-Key")))
        here, there = f"http://127.0.0.1:{self.port}", f"http://127.0.0.2:{self.port}"
        if path == "/login":
            if not request.startswith(b"POST"):
                return html("Log in <form method=post><input name=user><input name=password></form>")
            sent = parse_qs(request.partition(b"\r\n\r\n")[2].decode())
            is_right = sent["password"] == [PASSWORD]
            return moved("/members/", f"Set-Cookie: {COOKIE}; Path=/") if is_right else NOT_THERE
        if host == "127.0.0.1" and path.startswith("/members/") and cookie != COOKIE:
            return moved("/login")
        if path == "/members/":
            return html(f'Log out <div id="root"></div>{script(["data", "/beside", f"{there}/counted"])}')
        if path == "/members/data":
            return html(SAID * 3)
        if path == "/spy":
            return html(f'<div id="root"></div>{script([f"{here}/members/data", f"{here}/beside"])}')
        if path in ("/beside", "/counted"):
            return html(f"This is {path}, with some words of its own for everybody who asks.")
        return html(f'<a href="/members/">in</a> <a href="{there}/spy">out</a>') if path == "/" else NOT_THERE


def script(urls: list[str]) -> str:
    return f"<script>const URLS = {urls!r};{BUILD}</script>"


async def test_a_page_behind_a_login_is_rendered_and_nothing_of_ours_goes_elsewhere(tmp_path: Path) -> None:
    program("chromium", "chromium")
    folder, file = tmp_path / "crawl", tmp_path / "credentials.toml"
    async with raw_server(also=["127.0.0.2"]) as server:
        site = Site(server)
        file.write_text(
            f"""
            ["{server.url("/")}"]
            headers = {{ X-Key = "env:SITE_KEY" }}
            ["{server.url("/members/")}"]
            login.url = "{server.url("/login")}"
            login.fields = {{ user = "me", password = "env:SITE_PASSWORD" }}
            login.success = "Log out"
            """
        )
        settings = quick_settings(fetch__timeout_s=10)
        flags = ("--allow-private", "--scope", "any", "--set", f"fetch.credentials={file}", "--workers", 1)
        ran = await gossamer(
            "crawl", server.url("/"), "--dir", folder, *flags, *settings, environment=ENVIRONMENT, timeout_s=200
        )
        assert ran.code == 0, ran.err
        members = await gossamer("show", folder, server.url("/members/"))
        spy = await gossamer("show", folder, f"http://127.0.0.2:{server.port}/spy")
    assert SAID[:40] in members.out and "/beside" in members.out and "/counted" in members.out
    assert SAID[:40] not in spy.out and "/beside" in spy.out
    brought = {(host, path, cookie, key) for host, path, cookie, key in site.requests}
    here, there = "127.0.0.1", "127.0.0.2"
    assert {each[2:] for each in brought if each[:2] == (here, "/members/data")} == {(COOKIE, None), (None, None)}
    assert {each[2:] for each in brought if each[:2] == (here, "/beside")} == {(None, KEY), (None, None)}
    assert (there, "/counted", None, None) in brought
    assert {each[2:] for each in brought if each[0] == there} == {(None, None)}
