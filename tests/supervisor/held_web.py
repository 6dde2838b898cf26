"""A web whose pages are answered when the test says so: it decides what is in flight."""

from __future__ import annotations

from dataclasses import replace

from gossamer.clock import VirtualClock
from gossamer.synthetic_web.answer import Answer, Request
from gossamer.synthetic_web.options import WebOptions
from gossamer.synthetic_web.server import Server
from gossamer.synthetic_web.web import Web

HELD_S = 10.0


class HeldWeb(Web):
    """Serve it with `clock`: what it holds is answered by `release`; robots.txt is not held."""

    def __init__(self, hosts: int, pages_per_host: int = 20) -> None:
        super().__init__(WebOptions.plain(hosts=hosts, pages_per_host=pages_per_host, page_bytes=2000))
        self.clock = VirtualClock()
        self.longest: set[int] = set()  # hosts whose pages need a second release

    def answer(self, request: Request) -> Answer:
        answer = super().answer(request)
        if request.target == "/robots.txt":
            return answer
        return replace(answer, wait_s=2 * HELD_S if request.host in self.longest else HELD_S)

    def release(self) -> None:
        self.clock.advance(HELD_S)


def held(server: Server) -> list[str]:
    """What has been asked for and is not answered."""
    return [connection.asked.host + connection.asked.target for connection in server.connections if connection.asked]


def pages_asked(server: Server) -> list[str]:
    """All that was asked for, answered or not."""
    answered = [entry.host + entry.path for entry in server.log.entries]
    return [page for page in (*answered, *held(server)) if not page.endswith("/robots.txt")]
