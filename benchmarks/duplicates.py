"""How well are near copies told? Precision and recall on a labelled set, for each number of bits.

    python -m benchmarks.duplicates [--families 1700] [--seed 2] [--shingle-words 3] [--json]

The set is `gossamer.synthetic_web.editions`: each family is one article in a dozen editions with edits of known
size, as whole HTML pages that go through `process.html` like any page. Every page is compared with every other one.
Two pages are

    near        if they hold the same article, and at most 1 % of its words are edited
    different   if they hold other articles, or the same one with 10 % or more of its words edited

What lies between is counted apart: 64 bits cannot tell 1 % from 2 % (docs/decisions/0010-near-duplicates.md), and
for a crawl either answer will do. How much of it is found is in the second table, and what the figures would be if
it were counted as different, or the line were drawn at 5 %, in the third.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from gossamer.process import html
from gossamer.process.simhash import simhash
from gossamer.synthetic_web.editions import EDITS, Edition, edited_share, editions

NEAR_SHARE_MAX = 0.01
DIFFERENT_SHARE_MIN = 0.1
BITS = 3  # the default of process.near_bits
MANKU = 0.75  # precision and recall that Manku, Jain and Das Sarma (WWW 2007) report at 3 bits of 64
SIZES = (0.0, 0.001, 0.0025, 0.005, 0.01, 0.02, 0.03, 0.05, 0.075, 0.1, 0.2, 0.5, 1.0)


@dataclass(frozen=True)
class Measured:
    pages: int
    shares: NDArray[np.float64]  # edited, of each pair of pages with the same article
    distances: NDArray[np.uint8]  # of the same pairs
    others: NDArray[np.int64]  # pairs with other articles, by their distance

    def score(self, bits: int, near_max: float, different_min: float) -> tuple[float, float]:
        """Precision and recall. Below `different_min` and above `near_max` a pair counts for nothing."""
        found = self.distances <= bits
        near = self.shares <= near_max
        right = int((found & near).sum())
        wrong = int((found & ~near & (self.shares >= different_min)).sum()) + int(self.others[: bits + 1].sum())
        return right / max(1, right + wrong), right / int(near.sum())


def measure(pages: Iterable[Edition], shingle_words: int = 3) -> Measured:
    known: list[Edition] = []
    prints: list[int] = []
    for edition in pages:
        page = html.process(edition.html.encode(), edition.url, "text/html")
        prints.append(simhash(page.main_text, shingle_words=shingle_words))
        known.append(replace(edition, html=""))  # it is large, and of no more use
    all_prints = np.array(prints, np.uint64)
    size = len(EDITS)
    pairs = [(a, b) for start in range(0, len(known), size) for a, b in combinations(range(start, start + size), 2)]
    shares = np.array([edited_share(known[a], known[b]) for a, b in pairs])
    one, other = np.array(pairs).T
    distances = np.bitwise_count(all_prints[one] ^ all_prints[other])
    others = np.zeros(65, np.int64)
    for start in range(0, len(known), size):  # each family against all later ones
        family, later = all_prints[start : start + size, None], all_prints[None, start + size :]
        others += np.bincount(np.bitwise_count(family ^ later).ravel(), minlength=65)
    return Measured(len(known), shares, distances, others)


def tables(measured: Measured) -> list[str]:
    lines = ["| bits | precision | recall |", "|---|---|---|"]
    for bits in range(9):
        precision, recall = measured.score(bits, NEAR_SHARE_MAX, DIFFERENT_SHARE_MIN)
        lines.append(f"| {bits} | {precision:.4f} | {recall:.4f} |")
    lines.append(f"| 3, Manku et al. 2007 | {MANKU} | {MANKU} |")
    lines += ["", f"| words edited | pairs | found at {BITS} bits | mean distance |", "|---|---|---|---|"]
    above = -1.0
    for size in SIZES:
        here = (measured.shares > above) & (measured.shares <= size)
        if here.any():
            found, mean = (measured.distances[here] <= BITS).mean(), measured.distances[here].mean()
            label = "none" if not size else f"up to {100 * size:g} %"
            lines.append(f"| {label} | {here.sum():,} | {found:.3f} | {mean:.1f} |")
        above = size
    pairs, mean = int(measured.others.sum()), float(measured.others @ np.arange(65)) / measured.others.sum()
    nearest = int(measured.others.nonzero()[0][0])
    found_others = int(measured.others[: BITS + 1].sum())
    lines.append(f"| other articles | {pairs:,} | {found_others} pairs | {mean:.1f}, least {nearest} |")
    lines += ["", f"| near, different | precision at {BITS} bits | recall |", "|---|---|---|"]
    for near_max, different_min in ((0.01, 0.1), (0.01, 0.05), (0.01, 0.01), (0.02, 0.1), (0.005, 0.05)):
        precision, recall = measured.score(BITS, near_max, different_min)
        lines.append(f"| up to {near_max:.1%}, {different_min:.0%} and more | {precision:.3f} | {recall:.3f} |")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure how well near copies are told.")
    parser.add_argument("--families", type=int, default=1700)
    parser.add_argument("--seed", type=int, default=2)
    parser.add_argument("--shingle-words", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    started = time.process_time()
    measured = measure(editions(arguments.seed, arguments.families), arguments.shingle_words)
    precision, recall = measured.score(BITS, NEAR_SHARE_MAX, DIFFERENT_SHARE_MIN)
    if arguments.json:
        print(json.dumps({"pages": measured.pages, "bits": BITS, "precision": precision, "recall": recall}))
        return
    print(f"{measured.pages:,} pages, {arguments.shingle_words} words a shingle, seed {arguments.seed}; ", end="")
    print(f"{time.process_time() - started:.0f} s\n\n" + "\n".join(tables(measured)))


if __name__ == "__main__":
    main()
