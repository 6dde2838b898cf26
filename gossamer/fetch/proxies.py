"""Which proxy a request goes through, and who is to blame when it does not get there.

Each host keeps to one of several proxies: the first in an order that is the host's own (rendezvous hashing), and goes
to the next while that one is away. What goes wrong on the way is of one of three kinds, and none uses up a try:

    the proxy is away       no connection, no TLS, a wrong password: nothing goes through it until a request has tried
                            again, first after 5 s, then after twice as long up to half a minute
    it does not let us      403 to CONNECT and its like: this host's URLs wait for ten minutes, others go on
    it cannot get there     502 to CONNECT and its like. With five hosts in a row, and no answer of any other between
                            them, the proxy is away: its own network is. With fewer it is the host's fault (`connect`)
                            where an answer came within a minute, or at the third time
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from enum import Enum
from hashlib import blake2b

import pycurl

from gossamer.clock import Clock
from gossamer.config import ConfigError
from gossamer.headers import header_in
from gossamer.records import Failed, Postponed, Reason, Refused, Url
from gossamer.url.site import host_of
from gossamer.visitor import proxies
from gossamer.visitor.proxies import EnvironmentProxies, Proxy, ProxyNow

AWAY_S, AWAY_S_MAX = 5.0, 30.0
PROBE_S = 15.0  # until another one tries, where nothing was heard of the first
LOOK_S = 2.0  # until a host looks again while somebody tries
DENIED_S = 600.0
CARRIED_S = 60.0
HOSTS_MAX = 10_000  # in trouble, that are remembered
UNREACHED_MAX, TRIES = 5, 3  # so many hosts speak against the proxy; one of fewer, so often, against itself
CHECK_S = 5.0
SUPPRESS_CONNECT_HEADERS = 265  # <curl/curl.h>; pycurl has no name for it

# CURLPX_..., of <curl/curl.h>: what a SOCKS server says.
UNREACHED_CODES = frozenset({19, 20, 21, 22, 24, 27})
DENIED_CODES = frozenset({17, 18, 23})
HANDSHAKES = frozenset({pycurl.E_SSL_CONNECT_ERROR, pycurl.E_PEER_FAILED_VERIFICATION, pycurl.E_SSL_CERTPROBLEM})
E_PROXY = 97  # pycurl has no name for it


class Kind(Enum):
    AWAY = "away"
    DENIED = "denied"
    UNREACHED = "unreached"


Trouble = tuple[Kind, str]


class State:
    """What is known of one proxy."""

    def __init__(self) -> None:
        self.trouble = ""  # why it is away; empty: it is not
        self.until = 0.0  # nobody tries before
        self.is_tried = False  # somebody does now
        self.wait_s = 0.0
        self.carried_at = float("-inf")  # the last answer of a host
        self.unreached: dict[str, int] = {}  # hosts that it did not get to since, and how often


class Proxies:
    def __init__(
        self,
        settings: tuple[str, ...],
        clock: Clock,
        wanted: Callable[[str], str | None] = lambda host: None,
        say: Callable[[str], None] = lambda text: None,
    ) -> None:
        """`wanted`: what an operator wants for a host, as in a policy. Raises ConfigError where a setting names what
        is not there."""
        self._clock = clock
        self._wanted = wanted
        self._say = say
        self._of_all = proxies.read(settings)
        self._of_policies: dict[str, tuple[Proxy | EnvironmentProxies, ...]] = {}
        self._states: dict[Proxy, State] = {}
        self._denied: OrderedDict[str, tuple[float, str]] = OrderedDict()  # until when, and why
        for proxy in self._of_all:
            for each in proxy.by_scheme.values() if isinstance(proxy, EnvironmentProxies) else (proxy,):
                self._states[each] = State()

    def choose(self, url: Url, host: str) -> Proxy | Refused | Postponed | None:
        """None: it goes there directly."""
        text = self._wanted(host)
        if text is None and not self._of_all:  # as nearly always
            return None
        now = self._clock.now()
        try:
            able = self._able(url, host, text)
        except ConfigError as fault:
            return Postponed(AWAY_S_MAX, Reason.PROXY, str(fault))
        if not able:
            return None
        if not url.startswith("http"):
            return Refused(Reason.SCHEME, f"{url.partition(':')[0]} does not go through a proxy")
        if host in self._denied:
            until, why = self._denied[host]
            if until > now:
                return Refused(Reason.PROXY, why, until - now)
            del self._denied[host]
        for proxy in able:
            state = self._states[proxy]
            if state.trouble and state.until <= now:
                state.is_tried, state.until = True, now + PROBE_S  # the others wait for how this one fares
                return proxy
            if not state.trouble:
                return proxy
        soonest = min(able, key=lambda proxy: self._states[proxy].until)
        state = self._states[soonest]
        wait_s = LOOK_S if state.is_tried else max(0.1, state.until - now)
        return Postponed(wait_s, Reason.PROXY, f"{soonest.shown}: {state.trouble}")

    def _able(self, url: Url, host: str, text: str | None) -> list[Proxy]:
        """All that it may go through, in its own order. Raises ConfigError where a policy names what is not there."""
        found = self._of_all if text is None else self._of_policy(text)
        able = [proxy for each in found if (proxy := each.of(url) if isinstance(each, EnvironmentProxies) else each)]
        for proxy in able:
            self._states.setdefault(proxy, State())
        return sorted(able, key=lambda proxy: _place(proxy, host)) if len(able) > 1 else able

    def carried(self, proxy: Proxy) -> None:
        """An answer of a host has come through it."""
        state = self._states[proxy]
        state.carried_at = self._clock.now()
        self._is_back(proxy, state)

    def blame(self, proxy: Proxy, url: Url, trouble: Trouble) -> Refused | Postponed | Failed:
        """What becomes of a request that did not get through."""
        result = self._blame(proxy, host_of(url), trouble)
        if isinstance(result, Postponed) and any(not self._states[each].trouble for each in self._others(proxy, url)):
            return Postponed(0.0, result.reason, result.detail)  # at its host's next turn, through another
        return result

    def _others(self, proxy: Proxy, url: Url) -> list[Proxy]:
        with suppress(ConfigError):
            host = host_of(url)
            return [each for each in self._able(url, host, self._wanted(host)) if each != proxy]
        return []

    def _blame(self, proxy: Proxy, host: str, trouble: Trouble) -> Refused | Postponed | Failed:
        (kind, said), state, now = trouble, self._states[proxy], self._clock.now()
        detail = f"{proxy.shown}: {said}"
        if kind is Kind.AWAY:
            return self._is_away(proxy, state, said)
        if kind is Kind.DENIED:
            self._is_back(proxy, state)
            self._denied[host] = (now + DENIED_S, detail)
            while len(self._denied) > HOSTS_MAX:
                self._denied.popitem(last=False)
            return Refused(Reason.PROXY, detail, DENIED_S)
        unreached = state.unreached
        if host in unreached or len(unreached) < UNREACHED_MAX:
            unreached[host] = unreached.get(host, 0) + 1
        if len(unreached) >= UNREACHED_MAX:
            return self._is_away(proxy, state, said)
        if now - state.carried_at <= CARRIED_S or unreached[host] >= TRIES:
            return Failed(Reason.CONNECT, None, detail, now)
        return self._is_away(proxy, state, said) if state.trouble else Postponed(AWAY_S, Reason.PROXY, detail)

    async def is_there(self, proxy: Proxy) -> bool:
        """Whether somebody listens. Asked where a request broke off, and nobody knows at which end."""
        with suppress(OSError, TimeoutError):
            async with asyncio.timeout(CHECK_S):
                _, writer = await asyncio.open_connection(proxy.host.strip("[]"), proxy.port)
            writer.close()
            return True
        return False

    def report(self) -> tuple[ProxyNow, ...]:
        return tuple(ProxyNow(proxy.shown, state.trouble) for proxy, state in self._states.items())

    def _of_policy(self, text: str) -> tuple[Proxy | EnvironmentProxies, ...]:
        if text not in self._of_policies:
            self._of_policies[text] = proxies.read((text,), "policy")
        return self._of_policies[text]

    def _is_away(self, proxy: Proxy, state: State, said: str) -> Postponed:
        if not state.trouble:
            self._say(
                f"proxy {proxy.shown}: {said}. What goes through it waits, and no host is blamed; nothing is lost"
            )
        if not state.trouble or state.is_tried:  # else it failed together with others
            state.wait_s = min(2 * state.wait_s, AWAY_S_MAX) if state.trouble else AWAY_S
            state.until, state.is_tried = self._clock.now() + state.wait_s, False
        state.trouble = said
        return Postponed(max(0.1, state.until - self._clock.now()), Reason.PROXY, f"{proxy.shown}: {said}")

    def _is_back(self, proxy: Proxy, state: State) -> None:
        state.unreached.clear()
        if state.trouble:
            state.trouble, state.is_tried = "", False
            self._say(f"proxy {proxy.shown} is back")


def _place(proxy: Proxy, host: str) -> bytes:
    return blake2b(f"{proxy.shown} {host}".encode(), digest_size=8).digest()


def trouble_of(curl: pycurl.Curl, fault: pycurl.error, proxy: Proxy) -> Trouble | None:
    """What was in the way of a request that was never sent. None: it is the host's own."""
    code, said = (*fault.args, "")[:2]
    if code == pycurl.E_ABORTED_BY_CALLBACK:
        return None  # we have looked at a kept connection, and do not want it
    if code == pycurl.E_COULDNT_RESOLVE_PROXY:
        return Kind.AWAY, "its name has no address"
    if code == E_PROXY:
        number = curl.getinfo(pycurl.PROXY_ERROR)
        kind = Kind.UNREACHED if number in UNREACHED_CODES else Kind.DENIED if number in DENIED_CODES else Kind.AWAY
        return kind, said
    connected, tunnelled = curl.getinfo(pycurl.CONNECT_TIME) > 0, curl.getinfo(pycurl.HTTP_CONNECTCODE)
    if tunnelled >= 300:
        return _kind_of(tunnelled), f"answers {tunnelled} to CONNECT"
    if tunnelled:
        return None  # it stands: the rest is the host's own
    if not connected:
        return Kind.AWAY, "no connection"
    if code in HANDSHAKES and not proxy.is_socks:
        return Kind.AWAY, f"no TLS with it: {said}"
    if code in HANDSHAKES:
        return None
    return Kind.UNREACHED, said


def trouble_in(status: int, head: bytes) -> Trouble | None:
    """Whether an answer is the proxy's own: where a request goes through it openly, both come in the same way."""
    if status == 407:
        return Kind.AWAY, "it wants another name or password (407)"
    if status < 400:
        return None
    server, error = header_in(head, "Server") or "", header_in(head, "X-Squid-Error")
    is_own = error or server.startswith("tinyproxy") or "error=" in (header_in(head, "Proxy-Status") or "")
    return (_kind_of(status), f"answers {status}{f' ({error})' if error else ''}") if is_own else None


def _kind_of(status: int) -> Kind:
    if status in (401, 407):
        return Kind.AWAY
    return Kind.UNREACHED if status >= 500 and status != 501 else Kind.DENIED
