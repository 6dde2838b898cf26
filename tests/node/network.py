"""A network that can be cut: each node in a network namespace of its own, with two ways out.

One way leads to the servers (127.0.0.1), the other to the web (all other addresses that begin with 127), both over a
pair of virtual interfaces to the namespace in which servers and web are. A cut takes an interface down on that side:
packets vanish, nothing is refused, and whoever waits for an answer hears nothing. The dangerous cut is that of the
servers alone: the node cannot know any more whether it owns anything, and can still ask the web.

Addresses that begin with 127 never leave a namespace by themselves; a namespace without any of its own, and
interfaces that are told to carry them (`route_localnet`), make them ordinary ones.

To be used in a namespace that is nobody else's (`unshare --net`): interfaces there have fixed names.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterable, Sequence
from typing import Self

WAYS = {"servers": "127.0.0.1/32", "web": "127.0.0.0/8"}


class Network:
    def __init__(self, names: Iterable[str]) -> None:
        self._numbers = {name: number for number, name in enumerate(names, 1)}
        self._holders: dict[str, subprocess.Popen[bytes]] = {}  # a namespace lives as long as a process in it

    def __enter__(self) -> Self:
        run("ip", "link", "set", "dev", "lo", "up")
        run("sysctl", "-qw", "net.ipv4.conf.all.rp_filter=0", "net.ipv4.conf.default.rp_filter=0")
        for name in self._numbers:
            held = ["unshare", "--net", "sh", "-c", "echo; exec sleep 86400"]
            holder = self._holders[name] = subprocess.Popen(held, stdout=subprocess.PIPE)
            assert holder.stdout is not None
            holder.stdout.readline()  # it is in its namespace
            for place, (way, addresses) in enumerate(WAYS.items()):
                self._lay(name, way, place, addresses)
        return self

    def _lay(self, name: str, way: str, place: int, addresses: str) -> None:
        here, there = self._end(name, way), f"to-{way}"
        net = f"198.18.{self._numbers[name]}."
        ours, theirs = f"{net}{4 * place + 1}", f"{net}{4 * place + 2}"
        run("ip", "link", "add", here, "type", "veth", "peer", "name", there, "netns", str(self._holders[name].pid))
        for inside, end, address in (((), here, ours), (self.inside(name), there, theirs)):
            run(*inside, "ip", "addr", "add", f"{address}/30", "dev", end)
            run(*inside, "ip", "link", "set", "dev", end, "up")
            run(*inside, "sysctl", "-qw", f"net.ipv4.conf.{end}.route_localnet=1")
        run(*self.inside(name), "ip", "route", "add", addresses, "via", ours, "dev", there, "src", theirs)

    def __exit__(self, *_: object) -> None:
        for holder in self._holders.values():
            holder.kill()
            holder.wait()

    def inside(self, name: str) -> Sequence[str]:
        """Words before a command that is to run there."""
        return ("nsenter", "--net", "--target", str(self._holders[name].pid))

    def cut(self, name: str, way: str) -> None:
        run("ip", "link", "set", "dev", self._end(name, way), "down")

    def mend(self, name: str, way: str) -> None:
        run("ip", "link", "set", "dev", self._end(name, way), "up")

    def _end(self, name: str, way: str) -> str:
        return f"{way}-{self._numbers[name]}"


def run(*words: str) -> None:
    ran = subprocess.run(words, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, f"{' '.join(words)}: {ran.stderr}"
