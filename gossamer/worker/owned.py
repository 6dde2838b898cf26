"""Until when this process may ask the hosts of its partitions: for ever on one machine, until a moment in a cluster.

The moment comes from the supervisor, which hears from the group that the node is still a member
(cluster/kafka/lease.py), and is by `Clock.boottime`, the same in all processes of a machine. When it has come without
a later one, whatever is still being asked for is let go of: somebody else may own the host by now.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from gossamer.clock import Clock


class Owned:
    def __init__(self, clock: Clock, ended: Callable[[], None]) -> None:
        self._clock = clock
        self._ended = ended
        self._until: float | None = None
        self._timer: asyncio.TimerHandle | None = None

    def __call__(self) -> bool:
        """Whether a request may go out now."""
        return self._until is None or self._clock.boottime() < self._until

    def set_until(self, moment: float | None) -> None:
        if moment == self._until:
            return
        self._until = moment
        if self._timer is not None:
            self._timer.cancel()
        if moment:  # 0: it has not begun yet
            left_s = max(0.0, moment - self._clock.boottime())
            self._timer = asyncio.get_running_loop().call_later(left_s, self._ended)
