"""Sketches tell how much two texts have in common, numbers included, whatever their length and language."""

from __future__ import annotations

import gzip
import random
from hashlib import sha256
from itertools import combinations

import pytest

from gossamer.process.fingerprints.shingles import words_in
from gossamer.process.fingerprints.sketch import sketch_of
from gossamer.resemblance import NEAR, are_near, resemblance
from tests import cases

WORDS = [
    f"{a}{b}{c}" for a in ("ba", "ke", "li", "mo") for b in ("ban", "dor", "fil", "gam") for c in ("", "s", "ed")
]


def sketch(text: str) -> bytes:
    return sketch_of(words_in(text))


def jaccard(one: str, other: str) -> float:
    """By the definition, for texts of plain words."""
    a, b = (set(zip(words, words[1:], words[2:], strict=False)) for words in (one.split(), other.split()))
    return len(a & b) / len(a | b)


def edited(words: list[str], edits: int, chance: random.Random) -> list[str]:
    changed = list(words)
    for place in chance.sample(range(len(words)), edits):
        changed[place] = chance.choice(("otherwise", "elsewhere", "whatever", "1234", "5:17"))
    return changed


@pytest.mark.parametrize("count", [60, 300, 2_000, 12_000])
def test_the_share_of_common_shingles_is_estimated_to_a_few_hundredths(count: int) -> None:
    chance = random.Random(count)
    vocabulary = [f"{first}{second}" for first in WORDS for second in WORDS]
    errors = []
    for share in (0.0, 0.003, 0.01, 0.02, 0.03, 0.05) * 3:
        words = chance.choices(vocabulary, k=count)
        other = edited(words, round(share * count), chance)[: round(count * chance.uniform(0.95, 1))]
        one, two = " ".join(words), " ".join(other)
        told, true = resemblance(sketch(one), sketch(two)), jaccard(one, two)
        assert true >= 0.85 or told < 0.88
        errors += [abs(told - true)] if true >= 0.85 else []
    assert len(errors) >= 9
    assert max(errors) < 0.05
    assert sum(errors) / len(errors) < 0.015


def test_other_texts_are_far_away() -> None:
    texts = [sketch(" ".join(random.Random(seed).choices(WORDS, k=1000))) for seed in range(20)]
    assert all(resemblance(one, one) == 1.0 for one in texts)
    assert max(resemblance(one, other) for one, other in combinations(texts, 2)) < 0.8


def test_numbers_count_and_case_and_punctuation_do_not() -> None:
    rows = [f"station {number} measured {number * 37 % 90}.{number % 7} degrees" for number in range(40)]
    others = [f"station {number} measured {number * 41 % 90}.{number % 5} degrees" for number in range(40)]
    one = sketch("\n".join(rows))
    assert resemblance(one, sketch("; ".join(rows).upper())) == 1.0
    assert resemblance(one, sketch("\n".join(others))) < 0.6


@pytest.mark.parametrize("name", ["articles_100", "articles_1000"])
def test_the_copied_articles_have_nine_tenths_in_common_and_no_others(name: str) -> None:
    lines = gzip.decompress(cases.content(f"neardup/{name}.train.gz")).decode().splitlines()
    sketches = {number: sketch(article) for number, _, article in (line.partition(" ") for line in lines)}
    copied = {frozenset(line.split()) for line in cases.content(f"neardup/{name}.truth").decode().splitlines()}
    assert all(are_near(*(sketches[one] for one in pair)) for pair in copied)
    some = combinations(list(sketches)[::3], 2)
    assert not any(are_near(sketches[a], sketches[b]) for a, b in some if frozenset((a, b)) not in copied)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("It is 12:30:05 and all is well", "It is 9:05:59 and all is well"),
        ("You are visitor 1,234 of this page. Welcome", "You are visitor 98,765 of this page. Welcome"),
        ("Made 2026-11-16 12:30 by the server", "Made 2026-11-17 04:01 by the server"),
        ("Nothing is here but 7", "Nothing is here but 7"),
        ("日期 ２０２４ 没有变化 的 文字", "日期 ２０２５ 没有变化 的 文字"),
    ],
)
def test_short_texts_that_differ_in_a_time_or_a_counter_are_near(one: str, other: str) -> None:
    assert are_near(sketch(one), sketch(other))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The temperature was 12 degrees and the wind 30", "The temperature was 14 degrees and the wind 28"),
        ("Rain in mm: 12 14 17 9 0", "Rain in mm: 11 15 13 9 2"),
        ("It is 12:30 and all is well", "It is 12:30 and all is lost"),
        ("A chair for 30", "For 30 a chair"),
        ("One two three 4", "One two three"),
        ("", ""),
        ("?", "!"),
    ],
)
def test_short_texts_that_differ_in_more_are_not(one: str, other: str) -> None:
    assert not are_near(sketch(one), sketch(other))


def test_a_clock_makes_no_text_another_one_however_long_it_is() -> None:
    for count in (3, 10, 39, 40, 60, 76, 79, 80, 81, 90, 120, 500):
        words = random.Random(count).choices(WORDS, k=count)
        middle = count // 2
        at = [[*words[:middle], "16.11.2026", clock, *words[middle:]] for clock in ("12:30:01", "12:31:59")]
        one, other = (sketch(" ".join(each)) for each in at)
        assert are_near(one, other), count
        assert resemblance(one, other) < 1.0


def test_a_sketch_is_the_same_on_every_machine_and_in_every_version() -> None:
    # Sketches on disk are compared with those made later: other values need another form of the index.
    fox = sketch("The quick brown fox jumps over the lazy dog at 12:30")
    assert fox[:4] == (9).to_bytes(4)
    assert NEAR == 0.9
    assert sha256(fox).hexdigest()[:16] == "3c89a65276c30226"
