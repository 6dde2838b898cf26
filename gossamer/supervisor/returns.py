"""What comes back after a limit, a policy or a filter became more generous, in one sentence for all partitions.

Each partition looks through its refused URLs by itself (frontier/lifted.py) and tells when it has. Links that the
link filter turned away are only counted, because there are too many of them: whoever expects those is told how to
get them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path

from gossamer.frontier.rules.limits import DECIDED_BY
from gossamer.messages.worker_messages import Returned
from gossamer.text import COMMAND, counted

TOLD_FROM = 10_000  # refused URLs: fewer are looked through before anybody has read that they are


class Returns:
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._ended: dict[str, dict[int, Returned]] = {}  # by what has changed, then by partition
        self._told: set[str] = set()  # that it takes its time

    def take(
        self,
        returned: Iterable[Returned],
        looking: Iterable[tuple[str, int]],
        partitions: Iterable[int],
        turned_away: Mapping[str, int],
    ) -> list[str]:
        """What there is to say. `looking`: what has changed, and how many refused URLs are still looked at, each of a
        partition; `turned_away`: links of the whole crawl, by reason."""
        said, open_ = [], Counter[str]()
        for why, left in looking:
            open_[why] += left
        for each in returned:
            self._ended.setdefault(each.why, {})[each.partition] = each
        for why, left in open_.items():
            if left >= TOLD_FROM and why not in self._told:
                said.append(f"{why}: {counted(left, 'refused URL')} are looked at again, beside the crawl")
                self._told.add(why)
        for why in [why for why, ended in self._ended.items() if ended.keys() >= set(partitions)]:
            ended = self._ended.pop(why)
            self._told.discard(why)
            key = next(iter(ended.values())).key
            said.append(self._sentence(key, why, sum(each.urls for each in ended.values()), turned_away))
        return said

    def _sentence(self, key: str, why: str, urls: int, turned_away: Mapping[str, int]) -> str:
        links = sum(turned_away.get(reason, 0) for reason in DECIDED_BY.get(key, ()))
        parts = []
        if urls or not links:
            what = counted(urls, "URL") if urls else "no URL"
            parts.append(f"{what} that {'was' if urls <= 1 else 'were'} refused come{'s' * (urls <= 1)} back")
        if links:
            parts.append(
                f"{counted(links, 'link')} that {'was' if links == 1 else 'were'} rejected for it so far "
                f"{'was' if links == 1 else 'were'} not kept; `{COMMAND} retry {self._folder} --links`, while the "
                "crawl is stopped, finds what is accepted now in the pages that are stored"
            )
        return f"{why}: {'; '.join(parts)}"
