"""How well are near copies told? Precision and recall on a labelled set, and what a page costs.

    python -m benchmarks.duplicates [--families 600] [--sites 8] [--pages 60] [--seed 2] [--json]

The set has three parts, all of them whole HTML pages that go through `process.html` like any page:

    articles    `synthetic_web.editions`: each family is one article in a dozen editions with scattered edits
    templates   `synthetic_web.templates`: products with 5 to 40 own words in 130 to 150 shared ones, listings
    figures     the same: measurements, which have all words in common, and short notes with a clock or a counter

Two pages are near if they have at least nine tenths of their shingles in common: of all runs of three words, numbers
included, that one of them has, nine tenths are in both (the Jaccard index). Texts of fewer than 80 words are near,
too, if they are the same but for one number, or a date with its time. What the generators intended does not count:
the labels are counted here, exactly, from the texts, with regular expressions and sets of words.

There are two measures. *Pairs*: every page against every other one, candidate by its SimHash and near by its sketch.
*Verdicts*: the pages one after the other, in a random order, through `Duplicates` as in a crawl, with its buckets
that keep their newest and its bounded comparisons. A verdict is right if the page is near to the original that it
names, and a page is missed if it is called an original although it is near to an original before it.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np

from gossamer.frontier.disk.store import RocksStore
from gossamer.process import html
from gossamer.process.fingerprints.duplicates import TABLES, Duplicates
from gossamer.process.fingerprints.shingles import words_in
from gossamer.process.fingerprints.sketch import sketch_of
from gossamer.process.simhash import simhash_of
from gossamer.records import Claim
from gossamer.resemblance import are_near
from gossamer.synthetic_web.habits.editions import editions
from gossamer.synthetic_web.templates import templates

NEAR_BITS = 3  # the default of process.near_bits
SHARE_MIN = 0.9  # of all shingles of two pages that are near
SHORT_WORDS = 80
LISTED_MIN = 0.5  # pairs with less in common are not listed: they are not near, and none was ever called so
BANDS = (0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.92, 0.94, 0.96, 0.98, 1.0)
_WORD = re.compile(r"[^\W_]+(?:(?<=\d)[.,:/'-](?=\d)[^\W_]+)*")
_DIGIT = re.compile(r"\d")


class Labelled(NamedTuple):
    kind: str
    url: str
    text: str  # the main text


def labelled(seed: int, families: int, sites: int, pages: int) -> list[Labelled]:
    made = [("articles", each.url, each.html) for each in editions(seed, families)]
    made += templates(seed, sites, pages)
    found = []
    for kind, url, written in made:
        page = html.process(written.encode(), url, "text/html")
        found.append(Labelled(kind, url, page.main_text or page.text))
    random.Random(seed).shuffle(found)
    return found


# ---- the truth -------------------------------------------------------------------------------------------


class Truth:
    """What pages have in common, by the definition."""

    def __init__(self, texts: list[str]) -> None:
        self.words = [_WORD.findall(text.lower()) for text in texts]
        numbers: dict[tuple[str, ...], int] = {}
        self.shingles = [
            {numbers.setdefault(shingle, len(numbers)) for shingle in _shingles(words)} for words in self.words
        ]
        self._pages: defaultdict[int, list[int]] = defaultdict(list)  # that have a shingle
        for page, shingles in enumerate(self.shingles):
            for shingle in shingles:
                self._pages[shingle].append(page)

    def pairs(self) -> Iterator[tuple[int, int, float, bool]]:
        """Each pair that has a good deal in common, or is near: its share, and whether it is near."""
        sizes = np.array([len(shingles) for shingles in self.shingles])
        pages = {shingle: np.array(pages) for shingle, pages in self._pages.items()}
        for page, shingles in enumerate(self.shingles):
            if not shingles:
                continue
            common = np.bincount(np.concatenate([pages[each] for each in shingles]), minlength=len(sizes))[:page]
            share = common / (sizes[page] + sizes[:page] - common)
            for other in (common > 0).nonzero()[0].tolist():
                is_near = share[other] >= SHARE_MIN or self._differ_in_one_number(page, other)
                if is_near or share[other] >= LISTED_MIN:
                    yield page, other, float(share[other]), is_near

    def _differ_in_one_number(self, page: int, other: int) -> bool:
        one, two = self.words[page], self.words[other]
        if len(one) != len(two) or len(one) >= SHORT_WORDS:
            return False
        places = [place for place, words in enumerate(zip(one, two, strict=True)) if words[0] != words[1]]
        are_numbers = all(_DIGIT.search(one[place]) and _DIGIT.search(two[place]) for place in places)
        return are_numbers and (len(places) <= 1 or (len(places) == 2 and places[1] == places[0] + 1))


def _shingles(words: list[str]) -> Iterator[tuple[str, ...]]:
    return (
        zip(words, words[1:], words[2:], strict=False) if len(words) >= 3 else iter([tuple(words)] if words else [])
    )


# ---- the measure -----------------------------------------------------------------------------------------


@dataclass
class Score:
    right: int = 0
    wrong: int = 0
    missed: int = 0

    @property
    def precision(self) -> float:
        return self.right / max(1, self.right + self.wrong)

    @property
    def recall(self) -> float:
        return self.right / max(1, self.right + self.missed)

    def count(self, *, found: bool, near: bool) -> None:
        self.right += found and near
        self.wrong += found and not near
        self.missed += near and not found


@dataclass
class Measured:
    pages: int
    pairs: Score = field(default_factory=Score)
    verdicts: Score = field(default_factory=Score)
    pairs_of: dict[str, Score] = field(default_factory=lambda: defaultdict(Score))  # by the kind of the pages
    verdicts_of: dict[str, Score] = field(default_factory=lambda: defaultdict(Score))
    bands: dict[float, list[int]] = field(default_factory=lambda: {band: [0, 0, 0] for band in BANDS})
    candidates_missed: int = 0  # near pairs whose SimHashes differ too much
    worst: float = 1.0  # what the least similar pair that was called near has in common
    took_us: dict[str, float] = field(default_factory=dict)


def measure(pages: list[Labelled], near_bits: int) -> Measured:
    measured = Measured(len(pages))
    started = time.process_time()
    words = [words_in(page.text) for page in pages]
    read = time.process_time()
    prints = [simhash_of(each.plain) for each in words]
    hashed = time.process_time()
    sketches = [sketch_of(each) for each in words]
    done = time.process_time()
    for name, took_s in (("words", read - started), ("simhash", hashed - read), ("sketch", done - hashed)):
        measured.took_us[name] = took_s / len(pages) * 1e6
    near_to: defaultdict[int, set[int]] = defaultdict(set)
    for one, other, share, is_near in Truth([page.text for page in pages]).pairs():
        is_candidate = (prints[one] ^ prints[other]).bit_count() <= near_bits
        found = is_candidate and are_near(sketches[one], sketches[other])
        if is_near:
            near_to[one].add(other)
            near_to[other].add(one)
            measured.candidates_missed += not is_candidate
        for score in (measured.pairs, measured.pairs_of[pages[one].kind]):
            score.count(found=found, near=is_near)
        if found and (share < measured.worst) and not is_near:
            measured.worst = share
        band = measured.bands[max(each for each in BANDS if each <= share)] if share >= BANDS[0] else [0, 0, 0]
        band[0] += 1
        band[1] += is_candidate
        band[2] += found
    _through_duplicates(measured, pages, prints, sketches, near_to, near_bits)
    return measured


def _through_duplicates(
    measured: Measured,
    pages: list[Labelled],
    prints: list[int],
    sketches: list[bytes],
    near_to: dict[int, set[int]],
    near_bits: int,
) -> None:
    """One page after the other, each settled before the next."""
    number = {page.url: at for at, page in enumerate(pages)}
    originals: set[int] = set()
    spent_s = 0.0
    with (
        tempfile.TemporaryDirectory(prefix="gossamer-duplicates-") as folder,
        closing(RocksStore(Path(folder) / "fingerprints", TABLES)) as store,
        closing(Duplicates(store, store.folder, near_bits)) as duplicates,
    ):
        for at, page in enumerate(pages):
            claim = Claim(f"{at:064x}", page.url, 0.0, prints[at] if sketches[at] else None, sketches[at])
            started = time.process_time()
            (verdict,) = duplicates.judge([claim])
            assert verdict is not None
            if verdict.is_original:
                duplicates.settle([claim])
            spent_s += time.process_time() - started
            could_be = near_to[at] & originals
            if verdict.is_original:
                originals.add(at)
            is_right = not verdict.is_original and number[verdict.of or ""] in near_to[at]
            for score in (measured.verdicts, measured.verdicts_of[page.kind]):
                score.right += is_right
                score.wrong += not verdict.is_original and not is_right
                score.missed += verdict.is_original and bool(could_be)
    measured.took_us["judge and settle, one at a time"] = spent_s / len(pages) * 1e6


# ---- what is printed -------------------------------------------------------------------------------------


def tables(measured: Measured) -> list[str]:
    lines = ["| pages | near pairs | precision, pairs | recall, pairs | precision, verdicts | recall, verdicts |"]
    lines.append("|---|---|---|---|---|---|")
    kinds = sorted(measured.pairs_of, key=lambda kind: (kind.split(",")[0], len(kind), kind))
    rows = [(kind, measured.pairs_of[kind], measured.verdicts_of[kind]) for kind in kinds]
    for kind, pairs, verdicts in [*rows, ("**all**", measured.pairs, measured.verdicts)]:
        scores = (pairs.precision, pairs.recall, verdicts.precision, verdicts.recall)
        figures = " | ".join(f"{score:.4f}" for score in scores)
        lines.append(f"| {kind} | {pairs.right + pairs.missed:,} | {figures} |")
    lines += ["", "| shingles in common | pairs | candidates | called near |", "|---|---|---|---|"]
    for band, (pairs_in, candidates, called) in measured.bands.items():
        shares = f"{candidates / max(1, pairs_in):.3f} | {called / max(1, pairs_in):.3f}"
        lines.append(f"| from {band:g} | {pairs_in:,} | {shares} |")
    lines += ["", f"The least that a wrong pair has in common: {measured.worst:.3f}", ""]
    lines += ["| work on a page | µs of CPU time, mean |", "|---|---|"]
    lines += [f"| {name} | {took:.0f} |" for name, took in measured.took_us.items()]
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure how well near copies are told.")
    parser.add_argument("--families", type=int, default=600, help="articles, in a dozen editions each")
    parser.add_argument("--sites", type=int, default=8, help="of each kind of template")
    parser.add_argument("--pages", type=int, default=60, help="of each of those, without their copies")
    parser.add_argument("--seed", type=int, default=2)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    started = time.process_time()
    pages = labelled(arguments.seed, arguments.families, arguments.sites, arguments.pages)
    measured = measure(pages, NEAR_BITS)
    if arguments.json:
        facts = {
            f"{name}_of_{what}": round(getattr(score, name), 4)
            for what, score in (("pairs", measured.pairs), ("verdicts", measured.verdicts))
            for name in ("precision", "recall")
        }
        print(json.dumps({"pages": measured.pages, **facts, **measured.took_us}))
        return
    print(f"{measured.pages:,} pages, seed {arguments.seed}; {time.process_time() - started:.0f} s\n")
    print("\n".join(tables(measured)))


if __name__ == "__main__":
    main()
