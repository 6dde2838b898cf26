"""Trusted hosts: what was refused there as part of a trap comes back to its queue.

An operator who trusts a host wants the pages that were taken for a trap, and most of them will not be found again by
themselves. So when a host or a site is trusted its URLs are looked through, some at each lease, because there may be
millions. It is done once more at every start: a host may have been trusted while the crawl stood still, and what has
come back already is refused no more.
"""

from __future__ import annotations

from itertools import islice

import msgspec

from gossamer.frontier.change import Change
from gossamer.frontier.disk.partition_reader import PartitionReader
from gossamer.frontier.disk.tables import host_key
from gossamer.frontier.rules.policy import Policies
from gossamer.records import Reason, State
from gossamer.url.site import host_of

AT_ONCE = 1000  # URLs looked at in one lease: some 5 ms
OF_TRAPS = frozenset({Reason.TRAP_PATTERN, Reason.TRAP_HOST})


class Trusted:
    def __init__(self, reader: PartitionReader) -> None:
        self._reader = reader
        self._before = Policies()
        self._hosts: list[bytes] = []  # to be looked through
        self._next = b""  # where in the last of them

    @property
    def is_done(self) -> bool:
        return not self._hosts

    def apply_policies(self, policies: Policies) -> None:
        """Look through the hosts that are trusted from now on."""
        before = self._before
        hosts = {name for name, each in policies.hosts.items() if each.trusted} - {
            name for name, each in before.hosts.items() if each.trusted
        }
        sites = {name for name, each in policies.sites.items() if each.trusted} - {
            name for name, each in before.sites.items() if each.trusted
        }
        self._before = policies
        if sites:
            hosts |= {host.name for host in self._reader.all_hosts() if host.site in sites}
        self._hosts[:0] = map(host_key, sorted(hosts))

    def bring_back(self, change: Change) -> None:
        """Some of what was refused; what is queued is judged at its turn like any other URL."""
        if not self._hosts:
            return
        host = self._hosts[-1]
        some = list(islice(self._reader.all_url_records(self._next, host), AT_ONCE))
        for key, known in some:
            if known.state is State.REFUSED and known.reason in OF_TRAPS:
                change.uncount(known)
                change.enqueue(key, msgspec.structs.replace(known, state=State.QUEUED, reason=None, detail=""))
                change.host(key, host_of(known.url)).trapped = 0
        if len(some) < AT_ONCE:
            self._hosts.pop()
            self._next = b""
        else:
            self._next = some[-1][0] + b"\0"
        change.write(sync=False)
