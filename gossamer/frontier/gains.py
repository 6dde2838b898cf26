"""Gains: what rendering gained for the pages of each pattern of a host, so that a browser is asked where it helps.

Counted under the pattern of a URL (url/patterns.py) and under the whole host's, which stands for patterns that nobody
has looked at. render/decision.py says what follows.

On disk: table `patterns`, host key + "render" -> {pattern: Gain}, written with the next batch. What a crash takes
back costs another look. In memory: of the `HOSTS_MAX` hosts that were asked about last.
"""

from __future__ import annotations

from collections import OrderedDict

import msgspec

from gossamer.frontier.disk.tables import encode, host_key
from gossamer.interfaces import Batch, Store
from gossamer.records import Url
from gossamer.rendered import Gain, RenderCost
from gossamer.url.patterns import WHOLE_HOST, pattern_of
from gossamer.url.site import host_of

PATTERNS_MAX = 64  # of a host; the one that was looked at longest ago goes
HOSTS_MAX = 4096  # in memory; most have no pattern at all
SUFFIX = b"render"

HostGains = dict[str, Gain]
_decode = msgspec.msgpack.Decoder(dict[str, Gain]).decode


class Gains:
    """Implements `interfaces.Gains`."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._hosts: OrderedDict[bytes, HostGains] = OrderedDict()
        self._dirty: dict[bytes, HostGains] = {}

    def of(self, url: Url) -> tuple[Gain | None, Gain | None]:
        """Of the URL's pattern, and of its whole host; None: nothing of it was rendered yet."""
        gains = self._of(host_key(host_of(url)))
        return (gains.get(pattern_of(url)), gains.get(WHOLE_HOST)) if gains else (None, None)

    def rendered(self, url: Url, cost: RenderCost, now: float) -> None:
        key = host_key(host_of(url))
        gains = self._of(key)
        for name in (pattern_of(url), WHOLE_HOST):
            gain = gains.setdefault(name, Gain())
            gain.rendered += 1
            gain.gained += cost.is_gain
            gain.passed, gain.looked_at, gain.last = 0, now, cost
        if len(gains) > PATTERNS_MAX:
            del gains[min(gains, key=lambda name: (name == WHOLE_HOST, gains[name].looked_at))]
        self._dirty[key] = gains

    def passed(self, url: Url) -> None:
        """A page of it that a browser might have shown was not rendered."""
        key = host_key(host_of(url))
        gain = self._of(key).get(pattern_of(url))
        if gain is not None:
            gain.passed += 1
            if gain.passed.bit_count() == 1:  # now and then: a crash makes the next look later
                self._dirty[key] = self._of(key)

    def save(self, batch: Batch) -> None:
        for key, gains in self._dirty.items():
            batch.put("patterns", key + SUFFIX, encode(gains))
        self._dirty.clear()

    def _of(self, key: bytes) -> HostGains:
        gains = self._hosts.get(key)
        if gains is None:
            gains = self._dirty.get(key)
            if gains is None:
                stored = self._store.get("patterns", key + SUFFIX)
                gains = _decode(stored) if stored is not None else {}
            self._hosts[key] = gains
            if len(self._hosts) > HOSTS_MAX:
                self._hosts.popitem(last=False)
        else:
            self._hosts.move_to_end(key)
        return gains
