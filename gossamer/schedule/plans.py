"""What a partition remembers of its credit and of its visits as a whole, beside what stands with each page and host.

One record, because both change with the same pages: it is written in the same batch as they are.
"""

from __future__ import annotations

import msgspec

from gossamer.schedule.importance import Treasury
from gossamer.visit_history import ChangeRates


class Plans(msgspec.Struct):
    treasury: Treasury = msgspec.field(default_factory=Treasury)
    census: dict[int, int] = {}
    change_rate: ChangeRates = msgspec.field(default=ChangeRates(), name="pace")  # of all pages
    visits: int = 0  # of pages that were there before
    earned: int = 0  # by the pages of the census together

    @property
    def mean_earned(self) -> float:
        return self.earned / max(1, sum(self.census.values()))


encode = msgspec.msgpack.Encoder().encode
decode = msgspec.msgpack.Decoder(Plans).decode
