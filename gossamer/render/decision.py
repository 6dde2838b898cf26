"""Whether a page is rendered: by the operator's word, by the evidence of the page, by what its pattern has gained.

A pattern of URLs that gains is rendered from then on. One that does not is left alone, and looked at again after ever
more pages. Ordinary pages with scripts are a sample: `Credit` keeps those that gain nothing below `SAMPLE_SHARE` of
the pages that were not rendered, in all patterns of a worker together.
"""

from __future__ import annotations

from typing import NamedTuple

from gossamer.render.evidence import NONE, Evidence
from gossamer.rendered import Gain, When

SAMPLE_SHARE = 0.0005  # of pages: a browser takes as long as a hundred of them, and as a thousand to start
SAMPLES_MAX = 2.0  # that are saved up
AGAIN_PAGES = 50  # of a pattern before another look; twice as many after each
AGAIN_DOUBLINGS = 6
HOST_TRIES = 4  # pages of a host that gained nothing: then its other patterns are looked at by the sample alone


class Decision(NamedTuple):
    is_rendered: bool
    why: str


class Credit:
    """How many more pages may be rendered on the chance that they gain something."""

    def __init__(self) -> None:
        self._left = 0.0  # a small crawl of ordinary pages starts no browser

    def passed(self) -> None:
        self._left = min(SAMPLES_MAX, self._left + SAMPLE_SHARE)

    def spend(self) -> None:
        self._left -= 1

    def earn_back(self) -> None:
        self._left += 1

    @property
    def has_sample(self) -> bool:
        return self._left >= 1


def decide(when: When, evidence: Evidence, own: Gain | None, host: Gain | None, credit: Credit) -> Decision:
    """`own`, `host`: what rendering gained for the pattern of the page, and for its whole host."""
    if when != "auto":
        return Decision(when == "always", when)
    if evidence is NONE:
        return Decision(is_rendered=False, why="none")
    if own is not None and own.is_worth_it:
        return Decision(is_rendered=True, why="pattern")
    if own is not None and own.rendered >= max(1, evidence.tries):
        looks = own.rendered - own.gained
        is_due = own.passed >= AGAIN_PAGES << min(looks - 1, AGAIN_DOUBLINGS)
        return Decision(is_due and credit.has_sample, "again" if is_due else "no_gain")
    if own is None and host is not None and not host.gained and host.rendered >= HOST_TRIES:
        return Decision(evidence.tries > 0 and credit.has_sample, evidence.word)  # its other patterns gained nothing
    is_likely = own is None and host is not None and host.is_worth_it  # its other patterns gain
    if evidence.tries or is_likely:
        return Decision(is_rendered=True, why=evidence.word)
    return Decision(credit.has_sample, evidence.word)
