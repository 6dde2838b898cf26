"""Template pages: products, listings, measurements and notes that share most of their words, and yet are others.

A set for whoever claims to tell near copies, beside the articles of editions.py. A shop prints the same 130 to 150
words of terms below every product, a weather service the same words around other figures. Of each page there are
copies as the web has them, too: under another address, with another time, counter or price in them.

Which pages are near copies is not said here: that is a question of what they have in common, whatever was intended.
Everything is a function of the seed.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import NamedTuple

from gossamer.synthetic_web.chance import hash64
from gossamer.synthetic_web.habits.editions import MONTHS, Language, language_of

OWN_WORDS = (5, 10, 15, 20, 30, 40)  # of a product, beside the terms of its shop
LISTED = 20  # products on a page of a listing
COPIES = (0, 0, 0, 1, 1, 2, 3)  # of a page, besides itself


class Templated(NamedTuple):
    kind: str
    url: str
    html: str


def templates(seed: int, sites: int, pages: int) -> Iterator[Templated]:
    """Of each kind some sites, and of each site some pages."""
    language = language_of(seed)
    for site in range(sites):
        for own_words in OWN_WORDS:
            yield from _shop(language, random.Random(hash64(f"shop/{seed}/{site}/{own_words}")), own_words, pages)
        for kind, make in (("listings", _listing), ("measurements", _measurements), ("notes", _notes)):
            chance = random.Random(hash64(f"{kind}/{seed}/{site}"))
            yield from _with_copies(kind, make(language, chance, pages), chance)


def _with_copies(kind: str, pages: Iterator[list[str]], chance: random.Random) -> Iterator[Templated]:
    """Each page, and the same with a counter, a time, or one of its figures changed."""
    host = f"{chance.randrange(10**9)}.test"
    for number, page in enumerate(pages):
        for copy in range(chance.choice(COPIES) + 1):
            words = list(page)
            if copy:
                figures = [place for place, word in enumerate(words) if word[:1].isdigit()]
                for place in chance.sample(figures, min(len(figures), chance.randint(0, 2))):
                    words[place] = str(chance.randrange(10**5))
            body = " ".join(words).replace(" | ", "</p>\n<p>")
            html = f"<!doctype html><title>{kind} {number}</title><main><p>{body}</p></main>"
            yield Templated(kind, f"http://{host}/{number}?session={copy}", html)


def _shop(language: Language, chance: random.Random, own_words: int, pages: int) -> Iterator[Templated]:
    terms = language.words(chance, chance.randint(130, 150))

    def products() -> Iterator[list[str]]:
        for _ in range(pages):
            price = f"{chance.randrange(500)}.{chance.randrange(100):02}"
            own = language.words(chance, own_words)
            facts = ["price", price, "weight", f"{chance.randrange(5000)} g", "item", str(chance.randrange(10**6))]
            yield [*own, "|", *facts, "|", *terms]

    yield from _with_copies(f"products, {own_words} own words", products(), chance)


def _listing(language: Language, chance: random.Random, pages: int) -> Iterator[list[str]]:
    names = [" ".join(language.words(chance, 4)) for _ in range(LISTED * pages // 2)]
    prices = [f"{chance.randrange(300)}.{chance.randrange(100):02}" for _ in names]
    about = language.words(chance, 40)
    for page in range(pages):
        # The same products stand on several pages, in another order.
        items = (
            range(page * LISTED, (page + 1) * LISTED)
            if page < pages // 2
            else chance.sample(range(len(names)), LISTED)
        )
        shown = [word for item in items for word in (names[item % len(names)], prices[item % len(names)], "|")]
        yield [*about, "|", "page", str(page), "of", str(pages), "|", *shown]


def _measurements(language: Language, chance: random.Random, pages: int) -> Iterator[list[str]]:
    """The same words on every page, and other figures."""
    names = [language.words(chance, 2) for _ in range(chance.randint(8, 40))]
    unit, about = language.words(chance, 1), language.words(chance, 30)
    for _ in range(pages):
        date = f"{chance.randint(1, 28)} {chance.choice(MONTHS)} {chance.randint(1999, 2026)}"
        rows = [
            [*name, f"{chance.uniform(-20, 40):.1f}", *unit, str(chance.randrange(100)), "%", "|"] for name in names
        ]
        yield [*about, date, "|", *(word for row in rows for word in row)]


def _notes(language: Language, chance: random.Random, pages: int) -> Iterator[list[str]]:
    """Of fewer than forty words: a state, a clock, a counter. Some have one number, others several."""
    for page in range(pages):
        if page % 10 == 0:
            said, other = language.words(chance, chance.randint(6, 20)), language.words(chance, chance.randint(4, 12))
        clock = f"{chance.randrange(24)}:{chance.randrange(60):02}:{chance.randrange(60):02}"
        figures = [str(chance.randrange(1000)) for _ in range(page % 3)] if page % 2 else []
        yield [*said, clock, *other, *(word for figure in figures for word in (figure, other[0]))]
