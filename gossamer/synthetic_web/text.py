"""Pseudo-text: words, titles and sentences of a language that does not exist, the same for the same seed.

Words are drawn evenly from a large vocabulary and not by Zipf's law: pages that only share frequent words
must not look alike to a near-duplicate test that is doing its work. Some words have accents, all of them in
Latin-1, so that a wrong guess at a charset shows.

Sentences are made once, in a pool, and a page is a draw from the pool: drawing single words would cost a millisecond
for a page of 21 KB, drawing sentences costs a twentieth of that.
"""

from __future__ import annotations

import random
from functools import lru_cache

WORDS = 8_000
SENTENCES = 4_096
ONSETS = [*"bcdfghjklmnprstvwz", *"bdlmnprst", "br", "fl", "gr", "kl", "pr", "st", "tr", "sh"]
VOWELS = [*"aeiou", *"aeiou", *"aeiou", "ai", "ea", "ou", "é", "ü"]
CODAS = [*[""] * 6, *"nrslmt"]


class Text:
    def __init__(self, seed: int) -> None:
        chance = random.Random(seed)
        words: set[str] = set()
        while len(words) < WORDS:
            syllables = chance.choice((1, 2, 2, 2, 3, 3))
            words.add(
                "".join(
                    chance.choice(ONSETS) + chance.choice(VOWELS) + chance.choice(CODAS) for _ in range(syllables)
                )
            )
        self.words = sorted(words)
        self.pool = [
            " ".join(chance.choices(self.words, k=chance.randint(8, 16))).capitalize() + "." for _ in range(SENTENCES)
        ]
        self.sentence_bytes = sum(len(sentence) for sentence in self.pool) / SENTENCES + 1

    def title(self, chance: random.Random, words: int = 3) -> str:
        return " ".join(chance.choices(self.words, k=words)).title()

    def sentences(self, chance: random.Random, body_bytes: int) -> list[str]:
        """About so many bytes of text, and always some."""
        return chance.choices(self.pool, k=max(3, round(body_bytes / self.sentence_bytes)))


@lru_cache(maxsize=8)
def text(seed: int) -> Text:
    return Text(seed)
