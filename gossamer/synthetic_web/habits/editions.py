"""Editions: articles that appear again with edits of known size, among others from the same templates.

A labelled set for whoever claims to tell near copies. Each family is one article in a dozen editions, every one a
whole HTML page: around the article stand the navigation, side column and footer of one of a few sites, with dates,
counters and headlines that are never the same twice. Half of the editions are on the site of the first one, the
others on any. So pages with the same article can look different, and pages of one site alike.

The label is exact by construction: an edition knows which words of the first one it has replaced or left out and how
many it has put in, one at a time or as runs of up to eight words. What surrounds the article is no edit.

The language is made up, and closer to a real one than that of text.py: words are drawn by Zipf's law, and a part of
them from a few dozen that belong to the article's subject, so that unrelated articles share their most frequent
words and an article repeats itself. Everything is a function of the seed and the number of the family.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate

from gossamer.synthetic_web.chance import hash64
from gossamer.synthetic_web.text import CODAS, ONSETS, VOWELS

# Shares of the words that are edited; the first edition is the article as it was written.
EDITS = (0.0, 0.0, 0.0, 0.001, 0.0025, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5)
RUNS = (1, 1, 1, 2, 4, 8)  # words that an edit changes
SITES = 40
WORDS = 30_000
SUBJECT_WORDS = 60
SUBJECT_SHARE = 0.2
ARTICLE_WORDS_MEDIAN, ARTICLE_WORDS_MIN, ARTICLE_WORDS_MAX = 450, 120, 2_500
MONTHS = ("January", "March", "April", "June", "August", "October", "November", "December")


@dataclass(frozen=True)
class Edition:
    url: str
    html: str
    family: int
    words: int  # of the first edition's article
    edits: frozenset[int]  # its words that are others here or missing; below 0: words that were put in


def edited_share(one: Edition, other: Edition) -> float:
    """The share of the article's words by which two editions of it differ, at most; 1: they are other articles."""
    return len(one.edits | other.edits) / one.words if one.family == other.family else 1.0


def editions(seed: int, families: int) -> Iterator[Edition]:
    for family in range(families):
        yield from family_of(seed, family)


def family_of(seed: int, family: int) -> Iterator[Edition]:
    chance = random.Random(hash64(f"editions/{seed}/{family}"))
    language = language_of(seed)
    length = chance.lognormvariate(0, 0.7) * ARTICLE_WORDS_MEDIAN
    article = language.article(chance, round(min(max(length, ARTICLE_WORDS_MIN), ARTICLE_WORDS_MAX)))
    title, home = " ".join(chance.choices(article, k=6)).replace(".", "").replace("\n", ""), chance.randrange(SITES)
    for number, share in enumerate(EDITS):
        words, edits = _edited(article, share, number, language, chance)
        site = home if chance.random() < 0.5 else chance.randrange(SITES)
        html = language.sites[site].page(title, words, language, chance)
        yield Edition(f"http://s{site}.test/{family}/{number}", html, family, len(article), edits)


def _edited(
    article: list[str], share: float, number: int, language: Language, chance: random.Random
) -> tuple[list[str], frozenset[int]]:
    """A share of the words replaced, left out or put in, in runs that do not overlap."""
    left = max(1, round(share * len(article))) if share else 0
    edits: set[int] = set()
    changes: dict[int, tuple[int, list[str]]] = {}  # at which word, how many are taken out, what is put in
    inserted = 0
    while left:
        run = min(chance.choice(RUNS), left)
        place = chance.randrange(len(article) - run)
        if any(index in edits or index in changes for index in range(place, place + run)):
            continue
        left -= run
        how = chance.choice(("replace", "insert", "delete"))
        changes[place] = (0 if how == "insert" else run, [] if how == "delete" else language.words(chance, run))
        if how == "insert":
            edits.update(-(number << 16) - inserted - index - 1 for index in range(run))
            inserted += run
        else:
            edits.update(range(place, place + run))
    words: list[str] = []
    done = 0
    for place, (removed, added) in sorted(changes.items()):
        words += article[done:place] + added
        done = place + removed
    return words + article[done:], frozenset(edits)


class _Site:
    """What is around the articles of one site."""

    def __init__(self, number: int, language: Language, chance: random.Random) -> None:
        self.name = language.title(chance, 2)
        self.layout = LAYOUTS[number % len(LAYOUTS)]
        self.menu = [language.title(chance, chance.randint(1, 2)) for _ in range(chance.randint(8, 24))]
        self.about = " ".join(language.words(chance, 40))
        self.notice = " ".join(language.words(chance, 30))

    def page(self, title: str, words: list[str], language: Language, chance: random.Random) -> str:
        def number(below: int) -> str:
            return f"{chance.randrange(below):,}"

        date = f"{chance.randint(1, 28)} {chance.choice(MONTHS)} {chance.randint(1999, 2026)}"
        headlines = [f'<a href="/{number(10**6)}">{language.title(chance, 6)}</a>' for _ in range(8)]
        paragraphs = [f"<p>{paragraph.strip()}.</p>" for paragraph in " ".join(words).split(".\n")]
        return self.layout.format(
            title=title,
            site=self.name,
            menu="".join(f'<li><a href="/{name.lower()}">{name}</a></li>' for name in self.menu),
            headlines="".join(f"<li>{headline} {number(600)} minutes ago</li>" for headline in headlines),
            byline=f"Published {date} at {number(24)}:{number(60)}. Read {number(10**5)} times",
            text="\n".join(paragraphs),
            comments=f"{number(400)} comments",
            about=self.about,
            footer=f"{self.notice}. Copyright {date[-4:]} {self.name}. Made on {date} for visitor {number(10**7)}.",
        )


class Language:
    def __init__(self, seed: int) -> None:
        chance = random.Random(hash64(f"editions/{seed}"))
        words: dict[str, None] = {}
        while len(words) < WORDS:
            syllables = chance.choice((1, 2, 2, 3, 3, 4))
            word = "".join(
                chance.choice(ONSETS) + chance.choice(VOWELS) + chance.choice(CODAS) for _ in range(syllables)
            )
            words[word] = None
        self.vocabulary = list(words)
        # Zipf's law as Mandelbrot has it: the most frequent word is one in fifteen or so.
        self.weights = list(accumulate(1 / (rank + 2.7) ** 1.05 for rank in range(WORDS)))
        self.sites = [_Site(number, self, chance) for number in range(SITES)]

    def words(self, chance: random.Random, count: int) -> list[str]:
        return chance.choices(self.vocabulary, cum_weights=self.weights, k=count)

    def title(self, chance: random.Random, count: int) -> str:
        return " ".join(chance.choices(self.vocabulary, k=count)).title()

    def article(self, chance: random.Random, count: int) -> list[str]:
        """Words, of which some end a sentence with a full stop and some a paragraph with a line end, too."""
        subject = chance.choices(self.vocabulary, k=SUBJECT_WORDS)
        words = [
            chance.choice(subject) if chance.random() < SUBJECT_SHARE else word for word in self.words(chance, count)
        ]
        place, sentences = 0, 0
        while (place := place + chance.randint(6, 24)) < count - 1:
            sentences += 1
            words[place] += ".\n" if sentences % 5 == 0 else "."
        return words


@lru_cache(maxsize=4)
def language_of(seed: int) -> Language:
    return Language(seed)


_HEAD = "<!doctype html><html lang=en><head><meta charset=utf-8><title>{title} | {site}</title></head><body>\n"
LAYOUTS = (
    _HEAD + "<header><a href=/>{site}</a><nav><ul>{menu}</ul></nav></header>\n"
    "<main><article><h1>{title}</h1><p class=byline>{byline}</p>\n{text}\n</article><p>{comments}</p></main>\n"
    "<aside><h2>Latest</h2><ul>{headlines}</ul><p>{about}</p></aside>\n"
    "<footer><p>{footer}</p></footer></body></html>",
    _HEAD + "<div id=header><a href=/>{site}</a></div><div id=nav class=menu><ul>{menu}</ul></div>\n"
    "<div id=sidebar class=sidebar><h3>Latest</h3><ul>{headlines}</ul><p>{about}</p></div>\n"
    "<div id=content><h1>{title}</h1><div class=meta>{byline}</div>\n{text}\n<p>{comments}</p></div>\n"
    "<div id=footer>{footer}</div></body></html>",
    _HEAD + '<nav class="navbar"><a href=/>{site}</a><ul>{menu}</ul></nav><div class=container>\n'
    "<article class=post><h2>{title}</h2><time>{byline}</time>\n{text}\n</article>\n"
    '<section class="related"><h3>Latest</h3><ul>{headlines}</ul></section></div>\n'
    '<footer class="site-footer"><p>{about}</p><p>{comments}</p><p>{footer}</p></footer></body></html>',
)
