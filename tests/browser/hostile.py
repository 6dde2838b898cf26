"""A site that would like to take over the dashboard: markup, scripts and turned text wherever a page has words."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import NamedTuple

TITLE = "<img src=x onerror=alert(1)><script>alert(2)</script> \u202egpj.exe \"'>"
HOME = f"""<!doctype html><title>{TITLE.replace("<", "&lt;")}</title>
<script>alert(document.cookie)</script>
<a href="javascript:alert(3)">a</a> <a href="data:text/html,<script>alert(4)</script>">b</a>
<a href='/?q="><script>alert(5)</script>'>c</a> <a href="/{"long" * 400}">d</a> <a href="/\u202egpj.exe">e</a>
<a href="/gone"><b onmouseover=alert(6)>f</b></a> <a href="/forbidden">g</a>""".encode()


class HostileSite(NamedTuple):
    url: str
    title: str


class Site(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        is_home = self.path == "/"
        if self.path == "/robots.txt":
            self.answer(200, "text/plain", b"User-agent: *\nDisallow: /forbidden\n")
            return
        body = HOME if is_home else b"<title><script>alert(7)</script></title>" * 3
        self.answer(200 if is_home or "?" in self.path else 404, "text/html; charset=utf-8", body)

    def answer(self, status: int, kind: str, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def hostile_site() -> Iterator[HostileSite]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Site)
    server.daemon_threads = True
    thread = Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    yield HostileSite(f"http://127.0.0.1:{server.server_port}/", TITLE)
    server.shutdown()
    thread.join()
    server.server_close()
