"""Cookies of a crawl: which go with a request, and what an answer makes of them (`fetch.cookies`).

    off         none is kept, none is sent
    redirects   a redirect to the very same URL that sets a cookie is followed once, with that cookie and no other;
                it is forgotten afterwards. Many sites begin like this, and would end as `redirect_loop`
    host        all that a site sets is kept with its state and goes where it belongs (gossamer/visitor/cookies.py)

The second request for a URL waits for its host's next turn, like any other. Should the process end in between, the
server sets its cookie once more.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Literal, NamedTuple

from gossamer.clock import Clock
from gossamer.records import Exchange, Url
from gossamer.visitor.cookies import Jar, sent_to, with_answer

AGAIN_MAX = 10_000  # URLs that wait to be asked again; there is one a host, at most
Mode = Literal["off", "redirects", "host"]


class Brought(NamedTuple):
    """What goes with a request."""

    cookies: str = ""  # as in the header Cookie
    is_again: bool = False  # the URL was moved to itself just before


NOTHING = Brought()


class CookieJars:
    def __init__(
        self,
        mode: Mode,
        clock: Clock,
        load: Callable[[Url], Jar] = lambda url: (),
        keep: Callable[[Url, Jar], None] = lambda url, jar: None,
    ) -> None:
        """`load`, `keep`: the jar of a URL's site, wherever that is stored."""
        self._mode = mode
        self._clock = clock
        self._load = load
        self._keep = keep
        self._again: OrderedDict[Url, str] = OrderedDict()

    def brought_to(self, url: Url) -> Brought:
        if self._mode == "host":
            return Brought(self.kept_for(url), self._again.pop(url, None) is not None)
        if self._again and (cookies := self._again.pop(url, None)) is not None:
            return Brought(cookies, is_again=True)
        return NOTHING

    def kept_for(self, url: Url) -> str:
        """What goes there of all that is kept; empty: nothing."""
        return sent_to(self._load(url), url, self._clock.now()) if self._mode == "host" else ""

    def take(self, url: Url, exchange: Exchange | None) -> None:
        """What an answer sets."""
        if self._mode == "host" and exchange is not None and b"\nset-cookie:" in exchange.head.lower():
            jar = self._load(url)
            changed = with_answer(jar, exchange.head, url, self._clock.now())
            if changed is not jar:
                self._keep(url, changed)

    def asks_again(self, url: Url, brought: Brought, exchange: Exchange) -> bool:
        """The URL was moved to itself: whether it is worth asking once more, with what was set."""
        if self._mode == "off" or brought.is_again:
            return False
        now = self._clock.now()
        cookies = sent_to(with_answer((), exchange.head, url, now), url, now)
        if not cookies:
            return False
        self._again[url] = cookies
        if len(self._again) > AGAIN_MAX:
            self._again.popitem(last=False)
        return True
