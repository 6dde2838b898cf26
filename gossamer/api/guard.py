"""The guard: may this request be answered, and who is asking?

Two situations. **With keys** nothing but health answers without one. **Without keys** the server is bound to loopback
and whoever is on this machine may do everything; what has to be kept out then is the web in this machine's browser:

    a page whose name was made to point here (DNS rebinding)   `Host` has to be a name of loopback
    a page that sends a form or a request here (CSRF)          `Origin`, or else `Sec-Fetch-Site`, has to be our own

The second holds with keys too, because a browser sends its cookie along. A cookie stands for a session, not for
the key: it ends with the server, after a day, or when its key is removed.

Wrong keys are counted per address. Who has had too many has to wait before any key is looked at again; sessions go
on, so that nobody is locked out by a neighbour. No key ever gets into a message.
"""

from __future__ import annotations

import hashlib
import secrets
from collections import OrderedDict

from starlette.requests import Request

from gossamer.access.callers import ANYBODY_HERE, CHALLENGE, Caller, Callers, NoAccess, is_loopback
from gossamer.access.keys import Keys
from gossamer.api.route import NoAnswer
from gossamer.clock import Clock

SESSION_S = 86_400.0
SESSIONS_MAX = 1000
SAFE = ("GET", "HEAD", "OPTIONS")


class Guard(Callers):
    def __init__(
        self, keys: Keys, clock: Clock, *, is_local: bool, failures_a_minute: int, is_behind: bool = False
    ) -> None:
        super().__init__(keys, clock, is_local=is_local, failures_a_minute=failures_a_minute, is_behind=is_behind)
        self._sessions: OrderedDict[str, tuple[str, float]] = OrderedDict()  # hash -> name of the key, end

    def check_host(self, request: Request) -> None:
        if self._is_behind:
            return
        if self._is_local and not self.needs_key and not is_loopback(_name_in(request.headers.get("host", ""))):
            raise NoAnswer(403, "foreign_host", "this server is asked by a name that is not its own; use localhost")

    def check_origin(self, request: Request) -> None:
        if request.method in SAFE:
            return
        origin, site = request.headers.get("origin"), request.headers.get("sec-fetch-site")
        if origin is None:
            is_own = site in (None, "none", "same-origin")
        elif origin == "null":
            is_own = site == "same-origin"  # a form on a page without referrer, such as ours for the key
        else:
            is_own = origin.partition("://")[2] == request.headers.get("host")
        if not is_own:
            raise NoAnswer(403, "foreign_origin", "a page of another server may not do this")

    def caller(self, request: Request) -> Caller:
        """Who asks. Raises where it is nobody that we know."""
        if not self.needs_key:
            return ANYBODY_HERE
        scheme, _, key = request.headers.get("authorization", "").partition(" ")
        if scheme:
            if scheme.lower() != "bearer":
                raise NoAnswer(
                    401, "no_key", "a key is wanted as `Authorization: Bearer KEY`", www_authenticate=CHALLENGE
                )
            return self.of_key(address_of(request), key.strip())
        if token := request.cookies.get(cookie_name(request)):
            name, until = self._sessions.get(_hash(token), ("", 0.0))
            if self._clock.now() < until and (known := self.keys.all().get(name)):
                return Caller(name, known.scope)
        raise NoAnswer(401, "no_key", "a key is needed: `Authorization: Bearer KEY`", www_authenticate=CHALLENGE)

    def of_key(self, address: str, key: str) -> Caller:
        try:
            return super().of_key(address, key)
        except NoAccess as no:
            raise NoAnswer(no.status, no.reason, str(no), **no.headers) from None

    # ---- sessions ----------------------------------------------------------------------------------------

    def open_session(self, name: str) -> str:
        token = secrets.token_urlsafe(32)
        self._sessions[_hash(token)] = (name, self._clock.now() + SESSION_S)
        while len(self._sessions) > SESSIONS_MAX:
            self._sessions.popitem(last=False)
        return token

    def close_session(self, request: Request) -> None:
        self._sessions.pop(_hash(request.cookies.get(cookie_name(request), "")), None)


def address_of(request: Request) -> str:
    return request.client.host if request.client else ""


def cookie_name(request: Request) -> str:
    """Cookies know no ports, and two crawls may be served on one machine."""
    return f"gossamer_{request.scope['server'][1]}"


def _hash(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "replace")).hexdigest()


def _name_in(host: str) -> str:
    """Without the port."""
    return host[: host.rindex("]") + 1] if host.startswith("[") and "]" in host else host.partition(":")[0]
