"""One request, from its first byte to the answer.

    guard       a name of ours, not too many failures, a key that is known     guard.py
    route       the path, then the method, then the key's scope                table.py
    check       size and type of the body, then body and parameters            route.py
    answer      the route's function
    dress       headers that keep a browser from doing what it should not

Any step may end it with a problem. What the disk or the crawl does to us is answered with 503 and said; an exception
that nobody expected is our own fault: 500, and the traceback goes to standard error, never to who asked.
"""

from __future__ import annotations

import re
import sys
import traceback
from collections.abc import Sequence
from typing import Protocol

import msgspec
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from gossamer.access.callers import ANYBODY_HERE, Caller
from gossamer.api.guard import Guard
from gossamer.api.openapi import PROBLEM
from gossamer.api.route import JSON, NoAnswer, Route, read_body, read_query
from gossamer.api.routes import sessions, static_files
from gossamer.api.shapes import Login
from gossamer.archive.storage import ArchiveDamaged
from gossamer.export.positions import ExportsFault
from gossamer.folder import FolderError
from gossamer.frontier.disk.faults import StoreDamaged

SAFE_HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}


class Served(Protocol):
    """What routes work with: a crawl's context, or that of several crawls."""

    guard: Guard
    is_stopping: bool

    def close(self) -> None: ...


class App:
    """An ASGI application over a table of routes."""

    def __init__(self, context: Served, routes: Sequence[Route], *, body_bytes_max: int) -> None:
        self._context = context
        self._body_bytes_max = body_bytes_max
        self._paths: dict[re.Pattern[str], dict[str, Route]] = {}
        for route in routes:
            self._paths.setdefault(route.pattern, {})[route.method] = route

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        assert scope["type"] == "http"  # the server is told to do nothing else
        request = Request(scope, receive)
        try:
            response = await self._answer(request)
        except NoAnswer as no:
            response = self._problem(request, no)
        except (FolderError, StoreDamaged, ArchiveDamaged, ExportsFault, OSError) as fault:
            response = self._problem(request, NoAnswer(503, "unreadable", str(fault), retry_after="5"))
        except ClientDisconnect:
            return
        except Exception:
            traceback.print_exc(file=sys.stderr)
            response = self._problem(request, NoAnswer(500, "bug", "a fault of this server; its log has more"))
        if request.method == "HEAD" and isinstance(response, StreamingResponse):
            response = Response(media_type=response.media_type)  # it would never end
        for name, value in SAFE_HEADERS.items():
            response.headers.setdefault(name, value)
        await response(scope, receive, send)

    async def _answer(self, request: Request) -> Response:
        context = self._context
        context.guard.check_host(request)
        found, parts = self._find(request.url.path)
        is_open = found is not None and all(route.scope is None for route in found.values())
        # Without a key nobody learns so much as which paths there are.
        caller = ANYBODY_HERE if is_open else context.guard.caller(request)
        if found is None:
            raise NoAnswer(404, "no_such_path", "there is nothing at this path; /docs has the list")
        method = "GET" if request.method == "HEAD" else request.method
        if method not in found:
            allow = ", ".join(sorted({*found, "OPTIONS", *(["HEAD"] if "GET" in found else [])}))
            if method == "OPTIONS":
                return Response(status_code=204, headers={"Allow": allow})
            raise NoAnswer(405, "no_such_method", f"this path answers {allow}", allow=allow)
        route = found[method]
        if route.scope is not None and not caller.may(route.scope):
            raise NoAnswer(403, f"needs_{route.scope}", f"this key is for {caller.scope}; this needs {route.scope}")
        context.guard.check_origin(request)
        answer = await route.answer(**await self._arguments(route, request, caller, parts))
        if isinstance(answer, Response):
            return answer
        return Response(msgspec.json.encode(answer), route.status, media_type=JSON)

    def _find(self, path: str) -> tuple[dict[str, Route] | None, dict[str, str]]:
        for pattern, routes in self._paths.items():
            if match := pattern.fullmatch(path):
                return routes, match.groupdict()
        return None, {}

    async def _arguments(
        self, route: Route, request: Request, caller: Caller, parts: dict[str, str]
    ) -> dict[str, object]:
        given: dict[str, object] = {"context": self._context, "request": request, "caller": caller, **parts}
        if route.query is not None:
            given["query"] = read_query(route.query, request.query_params.multi_items())
        content = given["content"] = await self._body(request) if route.method != "GET" else b""
        if route.body is not None:
            kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
            if kind == sessions.FORM and route.body is Login:
                content = sessions.body_of_form(content)
            elif kind != JSON:
                raise NoAnswer(415, "not_json", "the body has to be application/json")
            given["body"] = read_body(route.body, content)
        return {name: value for name, value in given.items() if name in route.hints}

    async def _body(self, request: Request) -> bytes:
        """Stops as soon as it is too much, said or sent."""
        most = self._body_bytes_max
        said = request.headers.get("content-length", "0")
        received = bytearray()
        if not said.isdigit() or int(said) <= most:
            async for chunk in request.stream():
                received += chunk
                if len(received) > most:
                    break
            else:
                return bytes(received)
        raise NoAnswer(413, "body_too_large", f"a body may have {most} bytes (serve.body_bytes_max)")

    def _problem(self, request: Request, no: NoAnswer) -> Response:
        is_page = request.method in ("GET", "HEAD") and "text/html" in request.headers.get("accept", "")
        is_login = request.url.path.endswith("/login") and "text/html" in request.headers.get("accept", "")
        if no.status in (401, 429) and (is_page or is_login):
            return static_files.form(no)
        return Response(msgspec.json.encode(no.problem), no.status, no.headers, PROBLEM)
