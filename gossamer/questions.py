"""What one node asks of another, through the topic of links: a robots.txt that moved to a host which that one owns.

A question goes to the partition of the host that has to be asked, its answer to the partition of the origin that it
is for. They stand between the links, and who owns a partition reads all that comes for it. Neither is kept anywhere:
what is lost is asked for again.
"""

from __future__ import annotations

import msgspec

from gossamer.reasons import Reason
from gossamer.records import Url


class RobotsQuestion(msgspec.Struct, frozen=True, tag="robots?", omit_defaults=True):
    """What is at this URL? The robots.txt of that origin has moved there."""

    origin: str
    url: Url


class RobotsAnswer(msgspec.Struct, frozen=True, tag="robots!", omit_defaults=True):
    """What was there, as far as it says something about the origin."""

    origin: str
    url: Url
    status: int | None = None  # None: the server did not answer
    body: bytes = b""
    target: Url | None = None  # it has moved on
    reason: Reason | None = None  # why it could not be fetched
    detail: str = ""
    is_refused: bool = False  # by us: nothing was asked


Question = RobotsQuestion | RobotsAnswer
