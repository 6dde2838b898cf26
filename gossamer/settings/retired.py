"""Settings that there were once, and why they are gone: their values are part of what is stored."""

from __future__ import annotations

from typing import NamedTuple


class Retired(NamedTuple):
    """A setting that there was once. The same value may still stand somewhere: nothing follows from it."""

    value: object  # that always holds now
    why: str
    stops: bool = False  # a crawl that was made with another value cannot go on


_WEIGHT = "it is part of every priority that is stored, and priorities of two kinds could not be compared"
_CONTEXT = "what a link is worth is stored with its URL, and values of two kinds could not be compared"
RETIRED = {
    "frontier.seen": Retired("exact", "every URL is looked up, because a filter alone loses URLs"),
    "frontier.authority_weight": Retired(0.4, _WEIGHT),
    "frontier.freshness_weight": Retired(0.3, _WEIGHT),
    "frontier.context_weight": Retired(0.3, _WEIGHT),
    "frontier.waiting_a_day": Retired(0.01, _WEIGHT),
    "process.shingle_words": Retired(3, "the fingerprints that are stored are made of as many words"),
    "context.position_weight": Retired(0.4, _CONTEXT),
    "context.anchor_weight": Retired(0.3, _CONTEXT),
    "context.relation_weight": Retired(0.2, _CONTEXT),
    "context.site_weight": Retired(0.1, _CONTEXT),
    "archive.kind": Retired(
        "warc",
        "an archive of objects is not written or read any more. Export it with the version that made it, and begin a "
        "new crawl in another folder",
        stops=True,
    ),
}
