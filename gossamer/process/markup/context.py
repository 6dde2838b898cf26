"""What a link is worth by where it stands, what it says, what its rel says, and where it leads: one number in [0, 1].

The frontier draws links of a page in the order of this number (with more beside it, frontier/rules/priority.py). It
is the weighted mean of four parts, each in [0, 1]; docs/urls.md shows them all. It is stored with the URL, so the
weights hold for good. A link in the main text whose words say what it leads to is one that an author chose. What
stands in the navigation is the same on every page of its site, and what stands in a footer is hardly ever what one
came for.

A pure function, asked for every link of every page: about 0.6 µs.
"""

from __future__ import annotations

from functools import lru_cache

OF_POSITION, OF_ANCHOR, OF_RELATION, OF_SITE = 0.4, 0.3, 0.2, 0.1  # together 1

POSITIONS = {"main": 1.0, "": 0.6, "navigation": 0.4, "footer": 0.1}

SAYS_SOMETHING, GENERIC, NUMBER, EMPTY = 1.0, 0.4, 0.3, 0.2  # what an anchor text can be

# Of several words of one rel the least worth counts; words that are not here, such as noopener, say nothing.
RELATIONS = {
    "canonical": 1.0,
    "frame": 1.0,
    "next": 1.0,
    "refresh": 1.0,
    "sitemap": 1.0,
    "alternate": 0.7,
    "amphtml": 0.2,
    "author": 0.5,
    "help": 0.3,
    "license": 0.1,
    "nofollow": 0.0,
    "privacy-policy": 0.1,
    "search": 0.3,
    "shortlink": 0.2,
    "sponsored": 0.1,
    "tag": 0.5,
    "terms-of-service": 0.1,
    "ugc": 0.3,
}
LEAVES, STAYS = 1.0, 0.5  # to another site it is a recommendation

# What a link says that says nothing about where it leads, in the languages that most pages are written in.
_GENERIC_TEXT = """
    back, click, click here, continue, continue reading, details, download, first, full story, go, here, home, last,
    learn more, link, more, more info, newer, next, next page, older, page, permalink, prev, previous, previous page,
    read, read more, see more, show more, source, start, this, this page, top, up, view, view all, view more, website,
    ältere, alle, anzeigen, erste, hier, hier klicken, letzte, mehr, mehr dazu, mehr erfahren, mehr lesen, nach oben,
    neuere, nächste, nächste seite, seite, startseite, vorherige, vorherige seite, weiter, weiterlesen, zurück,
    accueil, cliquez ici, en savoir plus, ici, lire, lire la suite, page suivante, plus, précédent, retour, suite,
    suivant, voir plus, aquí, anterior, haga clic aquí, inicio, leer más, más, página siguiente, saber más, siguiente,
    ver más, volver, avanti, clicca qui, continua, indietro, leggi, leggi tutto, precedente, qui, scopri di più,
    successivo, aqui, clique aqui, leia mais, mais, próxima, saiba mais, seguinte, voltar, hier klikken, lees meer,
    meer, terug, verder, volgende, vorige, dalej, więcej, wstecz, läs mer, mer, nästa, далее, ещё, здесь, назад,
    подробнее, читать далее, 前へ, 次へ, 続きを読む, 더보기, 下一页, 上一页, 更多"""
GENERIC_WORDS = frozenset(" ".join(phrase.split()) for phrase in _GENERIC_TEXT.split(","))
_WORDS_CHARS_MAX = max(map(len, GENERIC_WORDS))
_GENERIC_CHARS_MAX = 30  # of the longest phrase, with a sign or a number at its end: "next page (12) »"
NO_LETTERS = " 0123456789.,:;!?#&*+-/|=_~'\"()[]{}<>«»‹›“”„‘’•·…–—←→↑↓▲▼▶◀►◄\xa0"


def context(position: str, anchor: str, rel: str, *, leaves_site: bool) -> float:
    """`position` is main, navigation, footer or empty (not known); `anchor` is folded, `rel` in small letters."""
    whatever_it_says, by_anchor = place_worth(position, rel, leaves_site)
    return whatever_it_says + by_anchor * anchor_worth(anchor)


def place_worth(position: str, rel: str, leaves_site: bool) -> tuple[float, float]:
    """What a link in this place is worth whatever it says, and by how much more for what it says. The links of a page
    stand in a few places, so that this is asked a few times a page."""
    parts = (
        OF_POSITION * POSITIONS[position]
        + OF_RELATION * _relation_worth(rel)
        + OF_SITE * (LEAVES if leaves_site else STAYS)
    )
    return min(parts, 1.0 - OF_ANCHOR), OF_ANCHOR  # by rounding they could come to more than 1


def anchor_worth(anchor: str) -> float:
    chars = len(anchor)
    if chars > _WORDS_CHARS_MAX and (chars > _GENERIC_CHARS_MAX or (anchor[0].isalpha() and anchor[-1].isalpha())):
        return SAYS_SOMETHING  # as what follows would find, in a third of the time
    if not anchor:
        return EMPTY
    words = anchor.strip(NO_LETTERS)
    if not words:
        return NUMBER
    return GENERIC if words.lower() in GENERIC_WORDS else SAYS_SOMETHING


@lru_cache(1024)  # a web has a few dozen; a hostile page may have any number
def _relation_worth(rel: str) -> float:
    return min((RELATIONS[word] for word in rel.split() if word in RELATIONS), default=1.0)
