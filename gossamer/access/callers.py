"""Callers: who asks a server of ours, by the key that they show. The HTTP API and gRPC have this in common.

With keys nobody is answered without one. Without keys a server is bound to loopback, and whoever is on this machine
may do everything. Wrong keys are counted per address: who has had too many has to wait before any key is looked at
again. No key ever gets into a message.
"""

from __future__ import annotations

import ipaddress
import math
from collections import OrderedDict, deque
from dataclasses import dataclass

from gossamer.access.keys import Keys, Scope
from gossamer.clock import Clock

ADDRESSES_MAX = 10_000  # that failures are remembered of
FAILURES_S = 60.0
CHALLENGE = 'Bearer realm="gossamer"'


@dataclass(frozen=True)
class Caller:
    name: str | None  # of the key; None: no keys are needed
    scope: Scope

    @property
    def can_control(self) -> bool:
        return self.scope == "control"

    def may(self, scope: Scope) -> bool:
        """`control` may everything; `read` and `fetch` only what they are for."""
        return self.scope in ("control", scope)


ANYBODY_HERE = Caller(None, "control")


class NoAccess(Exception):
    """Why somebody is not answered; `status` and `headers` are those of HTTP."""

    def __init__(self, status: int, reason: str, detail: str, **headers: str) -> None:
        super().__init__(detail)
        self.status = status
        self.reason = reason
        self.headers = headers


class Callers:
    def __init__(
        self, keys: Keys, clock: Clock, *, is_local: bool, failures_a_minute: int, is_behind: bool = False
    ) -> None:
        """`is_local`: bound to loopback only. `is_behind`: only those can ask whom somebody else has let in."""
        self.keys = keys
        self._clock = clock
        self._is_local = is_local
        self._is_behind = is_behind
        self._failures_max = failures_a_minute
        self._failures: OrderedDict[str, deque[float]] = OrderedDict()

    @property
    def needs_key(self) -> bool:
        return not self._is_behind and (not self._is_local or bool(self.keys.all()))

    def of_key(self, address: str, key: str) -> Caller:
        """`address`: who shows it."""
        self._check_failures(address)
        name = self.keys.find(key)
        if name is None:
            self._failed(address)
            raise NoAccess(401, "bad_key", "this key is not known here", www_authenticate=CHALLENGE)
        return Caller(name, self.keys.all()[name].scope)

    def _check_failures(self, address: str) -> None:
        failures = self._failures.get(address)
        now = self._clock.now()
        while failures and failures[0] <= now - FAILURES_S:
            failures.popleft()
        if failures and len(failures) >= self._failures_max:
            wait_s = math.ceil(failures[0] + FAILURES_S - now)
            raise NoAccess(
                429, "too_many_failures", f"too many wrong keys; try again in {wait_s} s", retry_after=str(wait_s)
            )

    def _failed(self, address: str) -> None:
        self._failures.setdefault(address, deque(maxlen=self._failures_max)).append(self._clock.now())
        self._failures.move_to_end(address)
        while len(self._failures) > ADDRESSES_MAX:
            self._failures.popitem(last=False)


def is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host.lower().rstrip(".") == "localhost"
