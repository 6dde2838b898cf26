"""A browser's way in: it shows the key once and gets a cookie for the rest of the day (guard.py)."""

from __future__ import annotations

from urllib.parse import parse_qs

import msgspec
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from gossamer.access.callers import Caller
from gossamer.api import shapes
from gossamer.api.context import Context
from gossamer.api.guard import SESSION_S, Guard, address_of, cookie_name
from gossamer.api.route import JSON

FORM = "application/x-www-form-urlencoded"


async def login(context: Context, request: Request, body: shapes.Login) -> shapes.Me | Response:
    """As JSON, or as a form sends it: then the answer leads to the dashboard."""
    caller = Caller(None, "control")
    if context.guard.needs_key:
        caller = context.guard.of_key(address_of(request), body.key)
    response: Response
    if request.headers.get("content-type", "").startswith(FORM):
        response = RedirectResponse("/", status_code=303)
    else:
        response = Response(msgspec.json.encode(me_shape(context.guard, caller)), media_type=JSON)
    if caller.name is not None:
        response.set_cookie(
            cookie_name(request),
            context.guard.open_session(caller.name),
            max_age=int(SESSION_S),
            httponly=True,
            samesite="strict",
            secure=request.url.scheme == "https",
        )
    return response


async def logout(context: Context, request: Request, caller: Caller) -> shapes.Me | Response:
    context.guard.close_session(request)
    response = Response(msgspec.json.encode(me_shape(context.guard, caller)), media_type=JSON)
    response.delete_cookie(cookie_name(request), httponly=True, samesite="strict")
    return response


async def me(context: Context, caller: Caller) -> shapes.Me:
    return me_shape(context.guard, caller)


def me_shape(guard: Guard, caller: Caller) -> shapes.Me:
    return shapes.Me(guard.needs_key, caller.name, caller.scope, caller.can_control)


def body_of_form(content: bytes) -> bytes:
    """What a form sent, as the JSON that the route is declared with."""
    fields = parse_qs(content.decode("utf-8", "replace"), max_num_fields=10)
    return msgspec.json.encode({name: values[0] for name, values in fields.items()})
