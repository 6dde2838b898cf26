"""Whether a page is rendered: by the operator's word, by the evidence of the page, by what its pattern has gained.

A pattern of URLs that gains is rendered from then on. One that does not is left alone, and looked at again after ever
more pages. At ordinary pages with scripts a browser has a look where the worker has credit for one (credit.py), and
so it has at a pattern again.
"""

from __future__ import annotations

from typing import NamedTuple

from gossamer.render.evidence import NONE, Evidence
from gossamer.rendered import Gain, When

AGAIN_PAGES = 50  # of a pattern before another look; twice as many after each
AGAIN_DOUBLINGS = 6
HOST_TRIES = 4  # pages of a host that gained nothing: then its other patterns need both evidence and credit


class Decision(NamedTuple):
    is_rendered: bool
    why: str


def decide(when: When, evidence: Evidence, own: Gain | None, host: Gain | None, *, has_look: bool) -> Decision:
    """`own`, `host`: what rendering gained for the pattern of the page, and for its whole host. `has_look`: there
    is credit for one."""
    if when != "auto":
        return Decision(when == "always", when)
    if evidence is NONE:
        return Decision(is_rendered=False, why="none")
    if own is not None and own.is_worth_it:
        return Decision(is_rendered=True, why="pattern")
    if own is not None and own.rendered >= max(1, evidence.tries):
        looks = own.rendered - own.gained
        is_due = own.passed >= AGAIN_PAGES << min(looks - 1, AGAIN_DOUBLINGS)
        return Decision(is_due and has_look, "again" if is_due else "no_gain")
    if own is None and host is not None and not host.gained and host.rendered >= HOST_TRIES:
        return Decision(evidence.tries > 0 and has_look, evidence.word)  # its other patterns gained nothing
    is_likely = own is None and host is not None and host.is_worth_it  # its other patterns gain
    if evidence.tries or is_likely:
        return Decision(is_rendered=True, why=evidence.word)
    return Decision(has_look, evidence.word)
