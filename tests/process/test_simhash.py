"""SimHashes: near for near texts and far for others, whatever the language; and the public near copies."""

from __future__ import annotations

import gzip
import random
from itertools import combinations

import pytest

from gossamer.process.fingerprints.shingles import CHARS_MAX, PIECE_CHARS, words_in
from gossamer.process.simhash import simhash, simhash_of
from tests import cases

WORDS = [
    f"{first}{second}" for first in ("ba", "ke", "li", "mo", "nu", "ra") for second in ("ban", "dor", "fil", "gam")
]
CHINESE = "".join(chr(0x4E00 + number * 37 % 2000) for number in range(900))
THAI = "".join(chr(0xE01 + number * 17 % 46) for number in range(600))


def text(seed: int, words: int = 300) -> list[str]:
    return random.Random(seed).choices(WORDS, k=words)


def fingerprint(written: str) -> tuple[int, int]:
    words = words_in(written).plain
    return simhash_of(words), len(words)


def distance(one: str, other: str) -> int:
    return (simhash(one) ^ simhash(other)).bit_count()


@pytest.mark.parametrize("name", ["articles_100", "articles_1000"])
def test_the_copied_articles_and_no_others_are_near(name: str) -> None:
    lines = gzip.decompress(cases.content(f"neardup/{name}.train.gz")).decode().splitlines()
    prints = {number: simhash(article) for number, _, article in (line.partition(" ") for line in lines)}
    copied = {frozenset(line.split()) for line in cases.content(f"neardup/{name}.truth").decode().splitlines()}
    near = {
        frozenset(pair) for pair in combinations(prints, 2) if (prints[pair[0]] ^ prints[pair[1]]).bit_count() <= 3
    }
    assert near == copied


def test_it_is_the_same_on_every_machine_and_in_every_version() -> None:
    # Fingerprints on disk are compared with those made later: changing these values needs a new form of the index.
    assert simhash("The quick brown fox jumps over the lazy dog") == 0x8010000000000000
    assert simhash(CHINESE) == 0xBF7C988D5DF9F7C5


def test_case_punctuation_and_white_space_do_not_count() -> None:
    assert simhash("One two, three; four.") == simhash("ONE\n\ttwo three (Four)!") == simhash("one two three four")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Visitor 1234 of today", "Visitor 99 of today"),
        ("It is 12:30 on 2024-03-01 and nothing happened", "It is 9:05 on 2025-11-30 and nothing happened"),
        ("session a9f83b27 is yours alone", "session 77c0de11 is yours alone"),
        ("日期 ２０２４ 没有变化 的 文字", "日期 ２０２５ 没有变化 的 文字"),
    ],
)
def test_numbers_dates_and_session_ids_do_not_count(one: str, other: str) -> None:
    assert simhash(one) == simhash(other)


def test_what_is_repeated_a_thousand_times_has_a_say_in_few_bits() -> None:
    article = " ".join(text(1))
    assert distance(article, article + " sold out today" * 1000) <= 6


def test_a_changed_word_moves_few_bits_and_another_text_about_half() -> None:
    chance = random.Random(1)
    moved = []
    for seed in range(200):
        words = text(seed)
        changed = list(words)
        changed[chance.randrange(len(words))] = "otherwise"
        moved.append(distance(" ".join(words), " ".join(changed)))
    assert sum(bits <= 3 for bits in moved) >= 199
    assert min(distance(" ".join(text(seed)), " ".join(text(seed + 1))) for seed in range(200)) > 10


@pytest.mark.parametrize("written", [CHINESE, THAI])
def test_languages_without_spaces_are_compared_by_their_characters(written: str) -> None:
    middle = len(written) // 2
    changed = written[:middle] + "字" + written[middle + 1 :]
    assert fingerprint(written)[1] == len(written)
    assert distance(written, changed) <= 3
    assert distance(written, written[::-1]) > 10


def test_letters_of_all_scripts_are_letters() -> None:
    for sentence in ("Où était-il donc passé", "Где он был всё это время", "أين كان طوال الوقت", "वह कहाँ था"):
        assert fingerprint(sentence)[1] == len(sentence.replace("-", " ").split())


@pytest.mark.parametrize(
    ("few", "words"), [("", 0), ("  \n ", 0), ("1 2 3", 0), ("…!?", 0), ("word", 1), ("two words", 2)]
)
def test_hardly_any_text(few: str, words: int) -> None:
    value, counted = fingerprint(few)
    assert counted == words
    assert 0 <= value < 1 << 64
    assert words or value == 0


@pytest.mark.parametrize(
    "strange", ["\ud800 alone", "İ" * CHARS_MAX, "\U0001f600" * 50, "\0" * 1000, "\U000e0001 \U0010ffff"]
)
def test_nothing_that_is_a_text_breaks_it(strange: str) -> None:
    assert 0 <= simhash(strange) < 1 << 64


def test_letters_in_bytes_and_letters_in_code_points_make_the_same_words() -> None:
    for written in (" ".join(text(1)), "".join(map(chr, range(256))), "Où était-il donc PASSÉ, à 12:30? ½ ª µ ß ÿ"):
        assert fingerprint(written) == fingerprint(written + " \u2019")  # a gap that is in no byte


def test_no_word_is_cut_where_a_long_text_is_read_piece_by_piece() -> None:
    long = " ".join(text(1, words=20_000))
    assert len(long) > 3 * PIECE_CHARS
    assert fingerprint(long)[1] == 20_000
    assert fingerprint(long) == fingerprint("?" * 10 + long)  # cut elsewhere


def test_of_megabytes_only_the_beginning_counts() -> None:
    long = " ".join(text(1, words=60_000))
    assert len(long) > CHARS_MAX
    assert fingerprint(long) == fingerprint(long + " and so on" * 1_000_000)
