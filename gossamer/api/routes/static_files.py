"""What is not JSON: the dashboard and its files, the form for the key, the interactive docs, health.

All of it comes from this package; nothing on any of these pages asks another server for anything. The headers say so
too: only our own scripts and styles, no frames, no referrer. Without a key there is only the form, whole in itself,
so that not even a style sheet has to be given to strangers.
"""

from __future__ import annotations

import base64
import hashlib
import html
import mimetypes
from pathlib import Path

from starlette.responses import Response

from gossamer.api import shapes
from gossamer.api.context import Context
from gossamer.api.route import NoAnswer
from gossamer.folder import FolderError
from gossamer.frontier.disk.faults import StoreDamaged

DASHBOARD = Path(__file__).parent.parent / "dashboard"
WEB = Path(__file__).parent.parent / "web"

PAGE_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "font-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)

FORM = (WEB / "form.html").read_text(encoding="utf-8")
STYLE = FORM[FORM.index("<style>") + 7 : FORM.index("</style>")]
STYLE_HASH = base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()
FORM_POLICY = (
    f"default-src 'none'; style-src 'sha256-{STYLE_HASH}'; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'"
)


async def dashboard(context: Context) -> Response:
    return file_in(DASHBOARD, "index.html")


async def static(context: Context, file: str) -> Response:
    return file_in(DASHBOARD, file)


async def docs(context: Context) -> Response:
    return file_in(WEB, "docs.html")


async def docs_file(context: Context, file: str) -> Response:
    return file_in(WEB, file)


def file_in(folder: Path, name: str) -> Response:
    """Never one outside the folder, however it is asked for."""
    path = (folder / name).resolve() if "\0" not in name and len(name) < 255 else folder
    if not path.is_relative_to(folder.resolve()) or not path.is_file():
        raise NoAnswer(404, "no_such_file", "there is no such file", value=name[:255])
    kind = mimetypes.guess_type(path.name)[0] or "application/octet-stream"
    headers = {"Content-Security-Policy": PAGE_POLICY, "Cache-Control": "no-cache"}
    return Response(path.read_bytes(), media_type=kind, headers=headers)


def form(no: NoAnswer) -> Response:
    """What a browser sees that has shown no key, or a wrong one."""
    text = "This crawl asks for a key." if no.problem.reason == "no_key" else f"{no.problem.detail.capitalize()}."
    headers = {**no.headers, "Content-Security-Policy": FORM_POLICY}
    return Response(FORM.replace("%NOTE%", html.escape(text)), no.status, media_type="text/html", headers=headers)


# ---- health --------------------------------------------------------------------------------------------------


async def health(context: Context) -> shapes.Health:
    """This process lives and answers."""
    return shapes.Health("ok")


async def ready(context: Context) -> shapes.Ready:
    """The crawl's folder can be read; whether the crawl runs is a fact and no fault."""
    try:
        await context.views.read(lambda view: view.totals())
    except (FolderError, StoreDamaged):
        raise NoAnswer(503, "unreadable", "the crawl's folder cannot be read") from None
    running = await context.crawl.now() is not None
    return shapes.Ready("ready", running, "the crawl is running" if running else "the crawl is not running")
