"""Who may call what: the keys and scopes of the HTTP API, shown as gRPC metadata `authorization: Bearer KEY`.

With keys nothing but health answers without one; without keys the server listens on loopback only, and whoever is on
this machine may call everything. A key with the scope `read` or `fetch` calls the methods that a service names as
such, one with `control` all. The check is made once a call: a stream that has begun goes on until it ends. What the
disk does to us ends a call with UNAVAILABLE and the reason.
"""

from __future__ import annotations

import inspect
import ipaddress
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Any
from urllib.parse import unquote

import grpc
from grpc.aio import ServerInterceptor, ServicerContext

from gossamer.access.callers import ANYBODY_HERE, Caller, Callers, NoAccess
from gossamer.access.keys import Scope
from gossamer.folder import FolderError
from gossamer.frontier.disk.faults import StoreDamaged

HEALTH = "/grpc.health.v1.Health/"
CODES = {
    401: grpc.StatusCode.UNAUTHENTICATED,
    403: grpc.StatusCode.PERMISSION_DENIED,
    429: grpc.StatusCode.RESOURCE_EXHAUSTED,
}
FAULTS = (OSError, FolderError, StoreDamaged)  # of the disk: the call may be made again
KINDS = ("unary_unary", "unary_stream", "stream_unary", "stream_stream")

Continuation = Callable[[grpc.HandlerCallDetails], Awaitable[Any]]


class RpcGuard(ServerInterceptor):  # type: ignore[misc]  # gRPC has no types
    """`scopes`: of the keys that may call a method, by its full name; all others need `control`."""

    def __init__(self, callers: Callers, scopes: Mapping[str, Scope]) -> None:
        self._callers = callers
        self._scopes = scopes

    async def intercept_service(
        self, continuation: Continuation, handler_call_details: grpc.HandlerCallDetails
    ) -> Any:
        handler = await continuation(handler_call_details)
        method = str(handler_call_details.method)
        if not handler or method.startswith(HEALTH):
            return handler
        [kind] = [kind for kind in KINDS if getattr(handler, kind)]
        guarded = self._guarded(method, getattr(handler, kind))
        make: Callable[..., Any] = getattr(grpc, f"{kind}_rpc_method_handler")
        return make(guarded, handler.request_deserializer, handler.response_serializer)

    def _guarded(self, method: str, answer: Callable[..., Any]) -> Callable[..., Any]:
        # Which of the two it is tells gRPC whether answers are yielded, or written to the context.
        if inspect.isasyncgenfunction(answer):

            async def answers(request: Any, context: ServicerContext) -> AsyncIterator[Any]:
                await self._check(method, context)
                try:
                    async for each in answer(request, context):
                        yield each
                except FAULTS as fault:
                    await context.abort(grpc.StatusCode.UNAVAILABLE, str(fault))

            return answers

        async def answered(request: Any, context: ServicerContext) -> Any:
            await self._check(method, context)
            try:
                return await answer(request, context)
            except FAULTS as fault:
                return await context.abort(grpc.StatusCode.UNAVAILABLE, str(fault))

        return answered

    async def _check(self, method: str, context: ServicerContext) -> None:
        """Ends the call where it may not go on."""
        try:
            caller = self._caller(context)
            needed = self._scopes.get(method, "control")
            if not caller.may(needed):
                raise NoAccess(403, f"needs_{needed}", f"this key is for {caller.scope}, and this needs {needed}")
        except NoAccess as no:
            await context.abort(CODES[no.status], str(no))

    def _caller(self, context: ServicerContext) -> Caller:
        if not self._callers.needs_key:
            return ANYBODY_HERE
        shown = dict(context.invocation_metadata() or ()).get("authorization", "")
        scheme, _, key = str(shown).partition(" ")
        if scheme.lower() != "bearer":
            raise NoAccess(401, "no_key", "a key is needed, as metadata `authorization: Bearer KEY`")
        return self._callers.of_key(_address(context.peer()), key.strip())


def _address(peer: str) -> str:
    """Of `ipv4:127.0.0.1:1234` or `ipv6:%5B::1%5D:1234`."""
    host = unquote(peer).partition(":")[2].rpartition(":")[0].strip("[]")
    try:
        return str(ipaddress.ip_address(host))
    except ValueError:
        return peer
