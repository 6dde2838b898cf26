"""How early are the important pages fetched? Share of all PageRank after a tenth, three tenths and half of the pages.

    python -m benchmarks.importance [--pages 100000] [--seed 1] [--links 30] [--json]

A web is drawn with the features that matter here. Sites have sizes by a power law. How often a page is linked to is a
power law (exponent 2.1), and so is how many links it has; a home page is its site's best; half of the pages are
leaves, which only the page that lists them links to. A quarter of the links lead to other sites, to pages in
proportion to their popularity there and to their site's. The crawl starts at ten home pages and fetches each page
once, one after the other.

    ours            the package's own code (schedule/importance.py) in eight partitions; the page with the most credit
                    comes next, and a queued page gets a better place when its credit has doubled
    breadth-first   pages in the order in which they were found
    random          any page that was found
    ideal           by PageRank, which nobody knows before the crawl, whether they were found or not

It also says how well credit agrees with PageRank in the end, for pages and for sites.
"""

from __future__ import annotations

import argparse
import heapq
import json
import random
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from gossamer.schedule.importance import (
    Treasury,
    advance,
    even_share,
    finished,
    grant,
    is_worth_more,
    level,
    mint,
    told,
    total,
    worths,
)
from gossamer.schedule.rank import Agreement, Edges, agreement, pagerank

Whole = NDArray[np.int64]
SHARES = (0.1, 0.3, 0.5)
PARTITIONS = 8
SEEDS = 10
TELL_EVERY = 100  # pages, after which partitions tell each other what they gave


@dataclass(frozen=True)
class Web:
    sites: Whole  # of each page
    homes: Whole  # the home page of each site
    links: list[list[int]]

    @property
    def pages(self) -> int:
        return len(self.sites)


def web(pages: int, seed: int, mean_links: float) -> Web:
    chance = np.random.default_rng(seed)
    count = max(20, pages // 50)
    sizes = np.minimum(chance.pareto(1.1, count) + 1, count / 10)
    _, sites = np.unique(np.sort(chance.choice(count, pages, p=sizes / sizes.sum())), return_inverse=True)
    homes = np.searchsorted(sites, np.arange(sites.max() + 1))
    ends = np.append(homes[1:], pages)
    popular = np.where(chance.random(pages) < 0.5, 0.0, chance.pareto(1.1, pages) + 1)
    popular[homes] = 2 * np.maximum(1, np.maximum.reduceat(popular, homes))
    site_popular = chance.lognormal(0, 1, len(homes)) * np.add.reduceat(popular, homes)
    out = np.minimum(500, ((chance.pareto(1.5, pages) + 1) * mean_links / 3).astype(np.int64))
    sources = np.repeat(np.arange(pages), out)
    to_site = sites[sources]
    crossing = chance.random(len(sources)) < 0.25
    to_site[crossing] = chance.choice(len(homes), int(crossing.sum()), p=site_popular / site_popular.sum())
    targets = _drawn(chance, popular, homes[to_site], ends[to_site])
    # Every page is listed by an earlier one of its site, a home page by any page at all.
    own = np.arange(pages)
    lister = _drawn(chance, out.astype(np.float64), homes[sites], np.maximum(own, homes[sites] + 1))
    lister[homes] = chance.integers(0, pages, len(homes))
    pairs = np.unique(np.concatenate([sources, lister]) * pages + np.concatenate([targets, own]))
    sources, targets = pairs // pages, pairs % pages
    starts = np.searchsorted(sources, np.arange(1, pages))
    links = [
        [target for target in some.tolist() if target != page] for page, some in enumerate(np.split(targets, starts))
    ]
    return Web(sites, homes, links)


def _drawn(chance: np.random.Generator, weights: NDArray[np.float64], starts: Whole, ends: Whole) -> Whole:
    """A page between each start and end, by weight."""
    sums = np.concatenate([[0.0], np.cumsum(weights)])
    low, high = sums[starts], sums[ends]
    drawn = np.searchsorted(sums, low + (high - low) * chance.random(len(starts)), "right") - 1
    clipped: Whole = np.clip(drawn, starts, ends - 1)
    return clipped


def true_rank(links: list[list[int]]) -> NDArray[np.float64]:
    with tempfile.TemporaryDirectory() as folder:
        edges = Edges(Path(folder), len(links))
        sources = np.repeat(np.arange(len(links), dtype=np.uint32), [len(some) for some in links])
        edges.add(sources, np.array([target for some in links for target in some], np.uint32))
        return pagerank(edges.close())


# --- Orders ---


def breadth_first(there: Web, seeds: list[int]) -> list[int]:
    found, order = set(seeds), list(seeds)
    for page in order:
        for target in there.links[page]:
            if target not in found:
                found.add(target)
                order.append(target)
    return order


def at_random(there: Web, seeds: list[int], seed: int) -> list[int]:
    chance = random.Random(seed)
    found, waiting, order = set(seeds), list(seeds), []
    while waiting:
        place = chance.randrange(len(waiting))
        waiting[place], waiting[-1] = waiting[-1], waiting[place]
        page = waiting.pop()
        order.append(page)
        for target in there.links[page]:
            if target not in found:
                found.add(target)
                waiting.append(target)
    return order


class Ours:
    def __init__(self, there: Web, seeds: list[int]) -> None:
        self.web = there
        self.sites = there.sites.tolist()
        self.treasuries = {number: Treasury() for number in range(PARTITIONS)}
        self.cash: dict[int, int] = {}  # of pages that were found
        self.earned = [0] * there.pages
        self.ranked: dict[int, int] = {}  # their credit when they got their place
        self.queue: list[tuple[int, int, int]] = []
        self.site_pages = [0] * len(there.homes)
        self.in_links = [0] * len(there.homes)
        self.done = bytearray(there.pages)
        self.even = 0
        self.order: list[int] = []
        for seed in seeds:
            self._credit(seed, mint(self._home(seed)))
        self._tell()

    def run(self) -> list[int]:
        while self.queue:
            credit, _, page = heapq.heappop(self.queue)
            if not self.done[page] and -credit == self.ranked[page]:
                self._fetch(page)
                if len(self.order) % TELL_EVERY == 0:
                    self._tell()
        self._tell()
        assert total(self.treasuries, self.cash.values()) == sum(each.minted for each in self.treasuries.values())
        return self.order

    def _home(self, page: int) -> Treasury:
        return self.treasuries[self.sites[page] % PARTITIONS]

    def _fetch(self, page: int) -> None:
        site, here = self.sites[page], self._home(page)
        self.done[page] = 1
        self.order.append(page)
        credit = self.cash[page] + grant(self.even, self.site_pages[site], self.in_links[site])
        targets = self.web.links[page]
        for target, worth in zip(targets, worths(credit, [self.sites[one] != site for one in targets]), strict=True):
            other = self.sites[target]
            self.in_links[other] += other != site
            self.earned[target] += worth
            if not self.done[target]:
                self._credit(target, advance(self._home(target), worth))
        finished(here, self.cash[page])
        self.cash[page] = 0
        self.site_pages[site] += 1

    def _credit(self, page: int, amount: int) -> None:
        credit = self.cash[page] = self.cash.get(page, 0) + amount
        if page not in self.ranked or is_worth_more(credit, self.ranked[page]):
            self.ranked[page] = credit
            heapq.heappush(self.queue, (-credit, len(self.ranked), page))

    def _tell(self) -> None:
        """What the supervisor's round does: everybody hears of what they were given, and of what others have."""
        cashes = {number: treasury.cash for number, treasury in self.treasuries.items()}
        self.even = even_share(sum(cashes.values()), len(self.cash))
        for number, treasury in self.treasuries.items():
            level(treasury, number, cashes)
        for source, treasury in self.treasuries.items():
            for receiver, given in treasury.given.items():
                told(self.treasuries[receiver], source, given)


def had(order: list[int] | Whole, rank: NDArray[np.float64]) -> list[float]:
    sums = np.cumsum(rank[np.asarray(order)])
    return [float(sums[min(len(sums), round(share * len(rank))) - 1]) for share in SHARES]


def compare(pages: int, seed: int, mean_links: float) -> tuple[dict[str, list[float]], Agreement, Agreement]:
    """What each order had after the three shares; and the agreement of credit with PageRank, for pages and sites."""
    there = web(pages, seed, mean_links)
    rank = true_rank(there.links)
    seeds = np.random.default_rng(seed).choice(there.homes, SEEDS, replace=False).tolist()
    ours = Ours(there, seeds)
    found = {
        "ideal": had(np.argsort(-rank), rank),
        "ours": had(ours.run(), rank),
        "breadth-first": had(breadth_first(there, seeds), rank),
        "random": had(at_random(there, seeds, seed), rank),
    }
    earned = np.array(ours.earned, np.float64)
    site_earned = np.bincount(there.sites, earned).astype(np.float64)
    by_site = agreement(site_earned, np.bincount(there.sites, rank).astype(np.float64))
    return found, agreement(earned, rank), by_site


def main() -> None:
    parser = argparse.ArgumentParser(description="Compare orders of crawling.")
    parser.add_argument("--pages", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--links", type=float, default=30)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    started = time.process_time()
    found, of_pages, of_sites = compare(arguments.pages, arguments.seed, arguments.links)
    if arguments.json:
        print(json.dumps({**found, "pages": of_pages._asdict(), "sites": of_sites._asdict()}))
        return
    took = time.process_time() - started
    print(f"{arguments.pages:,} pages, {arguments.links:g} links each, seed {arguments.seed}; {took:.0f} s\n")
    print("| order | " + " | ".join(f"{share:.0%}" for share in SHARES) + " |\n|---|---|---|---|")
    for name, shares in found.items():
        print(f"| {name} | " + " | ".join(f"{share:.3f}" for share in shares) + " |")
    ways = [
        (mine - first) / (best - first)
        for mine, first, best in zip(found["ours"], found["breadth-first"], found["ideal"], strict=True)
    ]
    print("| of the way from breadth-first to ideal | " + " | ".join(f"{way:.0%}" for way in ways) + " |\n")
    for name, one in (("pages", of_pages), ("sites", of_sites)):
        print(f"{name}: Spearman {one.spearman:.2f}, of the best 1 % {one.top:.0%}, having {one.top_rank:.0%} of it")


if __name__ == "__main__":
    main()
