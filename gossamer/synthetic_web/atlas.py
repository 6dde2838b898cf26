"""Where everything is: hosts and their addresses, URLs, and which page carries which behaviour.

Host i is the loopback address 127.a.b.c (the block 127.0.0.x is left alone, other programs live there) and has the
name h<i>.test. All of them share one port, which the atlas may learn late, when a server has found a free one.

Behaviours are dealt out by hash, but evenly: all pages of the web stand in one line, the line is cut into
stretches of 1 / share pages, and each stretch has one page with the behaviour, at a hashed place. A question about
one page needs no other page, and yet a small web is sure to have everything that was asked for.
"""

from __future__ import annotations

import random

from gossamer.synthetic_web.chance import hash64
from gossamer.synthetic_web.options import UNREACHABLE, RobotsKind, WebOptions

HOST_FANOUT = 8  # root pages lead to so many other hosts: 400 hosts are three links away


class Atlas:
    def __init__(self, options: WebOptions) -> None:
        self.options = options
        self.port = options.port
        # A stretch of 0 means that the behaviour is switched off.
        self._stretch: dict[str, int] = {}

    def __repr__(self) -> str:
        return f"Atlas(seed={self.options.seed}, hosts={self.options.hosts}, port={self.port})"

    # Hosts and URLs.

    @staticmethod
    def address(host: int) -> str:
        rest, last = divmod(host, 254)
        first, middle = divmod(rest, 256)
        return f"127.{first + 1}.{middle}.{last + 1}"

    @staticmethod
    def name(host: int) -> str:
        return f"h{host}.test"

    def host_of(self, text: str) -> int | None:
        """The number of the host with this address or name; None where it is not of this web."""
        try:
            if text.startswith("127."):
                _, first, middle, last = (int(part) for part in text.split("."))
                host = ((first - 1) * 256 + middle) * 254 + last - 1
            elif text.startswith("h") and text.endswith(".test"):
                host = int(text[1:-5])
            else:
                return None
        except ValueError:
            return None
        known = 0 <= host < self.options.hosts_in_all and text in (self.address(host), self.name(host))
        return host if known else None

    def hostname(self, host: int) -> str:
        """As links spell it."""
        return self.name(host) if self.options.link_by_name else self.address(host)

    def url(self, host: int, path: str = "/") -> str:
        port = "" if self.port in (0, 80) else f":{self.port}"
        return f"http://{self.hostname(host)}{port}{path}"

    def is_barren(self, host: int) -> bool:
        """Its robots.txt cannot be fetched, so nothing on it may be fetched, and nothing is found through it."""
        return self.robots_kind(host) in UNREACHABLE

    def robots_kind(self, host: int) -> RobotsKind:
        kinds = self.options.robots_kinds
        if host == 0:  # the usual seed must let everyone in
            return RobotsKind.SITEMAP if RobotsKind.SITEMAP in kinds else RobotsKind.OPEN
        deal, turn = divmod(host - 1, len(kinds))
        return kinds[(turn + self.hash(f"robots/{deal}")) % len(kinds)]

    def host_children(self, host: int) -> list[int]:
        """The hosts that this one's root page leads to. Who would hang from a barren host moves up to its parent."""
        children: list[int] = []
        for child in range(host * HOST_FANOUT + 1, min((host + 1) * HOST_FANOUT + 1, self.options.hosts)):
            children.append(child)
            if self.is_barren(child):
                children += self.host_children(child)
        hosts = self.options.hosts
        return children + [other for other in range(hosts, self.options.hosts_in_all) if other % hosts == host]

    # Chance.

    def hash(self, name: str) -> int:
        return hash64(f"{self.options.seed}/{name}")

    def chance(self, name: str) -> random.Random:
        return random.Random(self.hash(name))

    def other_host(self, name: str, host: int) -> int:
        """Some host that is not this one, unless there is only one."""
        hosts = self.options.hosts
        return host if hosts == 1 else (host + 1 + self.hash(f"other/{name}") % (hosts - 1)) % hosts

    # Which page carries what.

    def carries(self, behaviour: str, host: int, page: int) -> bool:
        return self._dealt(behaviour, host * self.options.pages_per_host + page)

    def host_carries(self, behaviour: str, host: int) -> bool:
        return self._dealt(behaviour, host)

    def turn(self, behaviour: str, host: int, page: int) -> int:
        """Counts up over the pages that carry a behaviour, so that its variants can take turns."""
        return (host * self.options.pages_per_host + page) // max(1, self._stretch_of(behaviour))

    def page_number(self, part: str) -> int | None:
        """The number that a part of a path spells, if it is that of a page; one spelling each."""
        if part.isdecimal() and part.isascii() and len(part) < 12:
            number = int(part)
            if number < self.options.pages_per_host and part == str(number):
                return number
        return None

    def _dealt(self, behaviour: str, place: int) -> bool:
        stretch = self._stretch_of(behaviour)
        if stretch <= 1:
            return stretch == 1
        which, at = divmod(place, stretch)
        return self.hash(f"{behaviour}/{which}") % stretch == at

    def _stretch_of(self, behaviour: str) -> int:
        stretch = self._stretch.get(behaviour)
        if stretch is None:
            share: float = getattr(self.options, behaviour)
            stretch = self._stretch[behaviour] = round(1 / share) if share > 0 else 0
        return stretch
