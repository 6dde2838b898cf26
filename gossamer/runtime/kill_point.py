"""A kill at a given moment, for tests of what a crash leaves behind.

`GOSSAMER_KILL_AT=after_send:3` kills the first workers, each with SIGKILL when it has sent the links of a commit for
the third time. The points are those that `Crawl.commit` names, and
`after_look` where some refused URLs were looked at again (worker/partition.py); workers that replace the dead live
on. With `!` behind it, as in `after_send:3!`, they die of an exception instead, as of a bug.
"""

from __future__ import annotations

import os
import signal
from collections import Counter


class KillPoint:
    def __init__(self, wanted: str) -> None:
        self._is_bug = wanted.endswith("!")
        self._point, _, times = wanted.removesuffix("!").partition(":")
        self._times = int(times or 1)
        self._passed: Counter[str] = Counter()

    def __call__(self, point: str) -> None:
        if point == self._point:
            self._passed[point] += 1
            if self._passed[point] == self._times:
                if self._is_bug:
                    raise RuntimeError(f"a bug at {point}")
                os.kill(os.getpid(), signal.SIGKILL)
