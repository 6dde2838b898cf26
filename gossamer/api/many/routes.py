"""What the server of several crawls answers: its page, the list, start and stop; all else goes to the crawl's own."""

from __future__ import annotations

from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from gossamer.access.callers import Caller
from gossamer.access.keys import Keys
from gossamer.api import shapes
from gossamer.api.guard import Guard
from gossamer.api.many.beside import Beside
from gossamer.api.many.crawls import Crawls
from gossamer.api.many.shapes import CrawlsList, CrawlSummary
from gossamer.api.route import NoAnswer, Route
from gossamer.api.routes import sessions, static_files

API = "/api/v1"


@dataclass
class ManyContext:
    guard: Guard
    crawls: Crawls
    beside: Beside
    is_stopping: bool = False

    def close(self) -> None:
        """Nobody waits here: what is handed on ends with the servers behind."""


async def page(context: ManyContext) -> Response:
    return static_files.file_in(static_files.DASHBOARD, "crawls.html")


async def crawls(context: ManyContext) -> CrawlsList:
    return CrawlsList(str(context.crawls.path), await context.crawls.all())


async def start(context: ManyContext, name: str) -> CrawlSummary:
    """As `gossamer crawl --dir` with its own settings; it goes on when this server ends."""
    return await context.crawls.start(name)


async def stop(context: ManyContext, name: str) -> CrawlSummary:
    return await context.crawls.stop(name)


async def crawl_page(context: ManyContext, name: str) -> Response:
    must_be_ours(context, name)
    return static_files.file_in(static_files.DASHBOARD, "index.html")


async def to_crawl_page(context: ManyContext, name: str) -> Response:
    return RedirectResponse(f"/crawls/{quote(name)}/", HTTPStatus.PERMANENT_REDIRECT)


async def crawl_me(context: ManyContext, caller: Caller, name: str) -> shapes.Me:
    """Who is asking is known here, and not behind."""
    return sessions.me_shape(context.guard, caller)


async def me(context: ManyContext, caller: Caller) -> shapes.Me:
    return sessions.me_shape(context.guard, caller)


async def onward(context: ManyContext, request: Request, name: str, file: str, content: bytes) -> Response:
    path = must_be_ours(context, name)
    target = f"/{quote(file)}{'?' + request.url.query if request.url.query else ''}"
    return await context.beside.ask(path, request.method, target, request.headers.raw, content)


def must_be_ours(context: ManyContext, name: str) -> Path:
    """A crawl whose owner asks for keys is not shown to whoever comes without one."""
    path = context.crawls.folder(name).path
    if not context.guard.needs_key and Keys(path).all():
        raise NoAnswer(
            403,
            "needs_key",
            f"{name} has keys, and {context.crawls.path} has none: `gossamer keys {context.crawls.path} --add NAME` "
            "makes one that is good for all crawls in it",
        )
    return path


ROUTES = (
    Route("GET", "/", page, "The list of crawls", media_type="text/html"),
    Route("GET", f"{API}/crawls", crawls, "How each crawl stands"),
    Route("POST", f"{API}/crawls/{{name}}/start", start, "Start a crawl, or go on with it", scope="control"),
    Route("POST", f"{API}/crawls/{{name}}/stop", stop, "Finish what is in flight, then end it", scope="control"),
    Route("GET", f"{API}/me", me, "Who is asking, and what they may do"),
    Route("POST", f"{API}/login", sessions.login, "Show a key, and get a cookie for the day", scope=None),
    Route("POST", f"{API}/logout", sessions.logout, "Give the cookie back"),
    Route("GET", "/health", static_files.health, "The process lives", scope=None),
    Route("GET", "/static/{file}", static_files.static, "A file of the dashboard", media_type="*/*"),
    Route("GET", "/docs/{file}", static_files.docs_file, "A file of the docs", media_type="*/*"),
    Route("GET", "/crawls/{name}", to_crawl_page, "The dashboard of a crawl", media_type="text/html"),
    Route("GET", "/crawls/{name}/", crawl_page, "The dashboard of a crawl", media_type="text/html"),
    Route("GET", f"/crawls/{{name}}{API}/me", crawl_me, "Who is asking"),
    Route("POST", f"/crawls/{{name}}{API}/logout", sessions.logout, "Give the cookie back"),
    Route("GET", "/crawls/{name}/{file}", onward, "The crawl's own API", media_type="*/*"),
    Route("POST", "/crawls/{name}/{file}", onward, "The crawl's own API", scope="control", media_type="*/*"),
    Route("PUT", "/crawls/{name}/{file}", onward, "The crawl's own API", scope="control", media_type="*/*"),
)
