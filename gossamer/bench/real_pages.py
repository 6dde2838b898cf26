"""Pages as different as those of the web: sizes by a published distribution, and ordinary markup of several kinds.

Sizes are those of the Web Almanac 2024 (HTTP Archive, chapter Markup, "Distribution of the transfer size of HTML
document", mobile pages): a tenth of all pages below 6 KB, half below 32 KB, a tenth above 147 KB. The Almanac counts
bytes as they are transferred, and nine pages in ten are transferred packed. Here they are the sizes of the *unpacked*
page: so pages of the web are larger than these, and what a page costs here is rather too little than too much.
The two ends are not published and ours. Every mix has the same share of every size, however few pages it has.

A host is a site of one kind (news, shop, documentation, forum), and its pages have the same frame: metadata, style,
navigation, footer. What is between is drawn from paragraphs, lists, tables, cards, comments, forms, code and data for
scripts. Everything follows from the seed.
"""

from __future__ import annotations

import math
import random
from bisect import bisect_right
from collections.abc import Callable, Iterator
from html import escape

from gossamer.synthetic_web.text import Text, text

# Share of the pages, and bytes.
QUANTILES = (
    (0.0, 3_000),
    (0.10, 6_000),
    (0.25, 13_000),
    (0.50, 32_000),
    (0.75, 71_000),
    (0.90, 147_000),
    (1.0, 480_000),
)
KINDS = ("news", "shop", "docs", "forum")
CHILDREN = 4  # of a page in the tree of its host, by which every page is reached
CLASSES = ("row", "col", "grid", "item", "meta", "lead", "wide", "badge", "inner", "title", "media", "entry", "panel")
PIXEL = "data:image/gif;base64,R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7"


def size_at(share: float) -> float:
    """So many bytes has a page that is larger than this share of all; between the quantiles by powers."""
    place = min(max(bisect_right(QUANTILES, (share, math.inf)), 1), len(QUANTILES) - 1)
    (low, small), (high, large) = QUANTILES[place - 1], QUANTILES[place]
    return small * math.exp(math.log(large / small) * (share - low) / (high - low))


def sizes(pages: int, seed: int) -> list[int]:
    """Of every page: evenly over the whole distribution, in an order that is nobody's."""
    drawn = [round(size_at((number + 0.5) / pages)) for number in range(pages)]
    random.Random(seed).shuffle(drawn)
    return drawn


class Host:
    """A site: what all of its pages have in common."""

    def __init__(self, number: int, urls: list[str], pages: int, seed: int) -> None:
        """`urls`: those of the root pages of all hosts, without the slash."""
        self.number, self.urls, self.pages, self.seed = number, urls, pages, seed
        chance = random.Random(f"{seed}/host/{number}")
        self.words: Text = text(seed)
        self.kind = KINDS[number % len(KINDS)]
        self.name = self.words.title(chance, 2)
        self.style = "".join(
            f".{chance.choice(CLASSES)}-{chance.randrange(99)}{{margin:{chance.randrange(40)}px;"
            f"color:#{chance.randrange(16**6):06x};display:{chance.choice(('flex', 'block', 'grid'))}}}\n"
            for _ in range(24)
        )
        self.footer = " ".join(chance.choices(self.words.pool, k=2))

    def page(self, number: int, size: int) -> bytes:
        chance = random.Random(f"{self.seed}/page/{self.number}/{number}")
        page = Page(self, number, chance)
        pieces, end = [page.head(with_style=size > 8_000).encode()], page.foot().encode()
        left = size - len(pieces[0]) - len(end)
        for piece in map(str.encode, page.body()):
            if len(piece) > 2 * left:  # further from the size with it than without it
                break
            pieces.append(piece)
            left -= len(piece)
        return b"".join([*pieces, end])


class Page:
    def __init__(self, host: Host, number: int, chance: random.Random) -> None:
        self.host, self.number, self.chance, self.words = host, number, chance, host.words
        self.title = self.words.title(chance, chance.randint(3, 7))

    # The frame.

    def head(self, *, with_style: bool) -> str:
        host, url = self.host, self.host.urls[self.host.number] + path_of(self.number)
        about = escape(" ".join(self.sentences(1)))
        style = f"<style>\n{host.style}</style>\n" if with_style else ""
        data = f'{{"@context":"https://schema.org","@type":"WebPage","name":"{self.title}","url":"{url}"}}'
        menu = "".join(f"<li {self.name()}>{self.link(page)}</li>\n" for page in self.menu())
        return (
            f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
            f"<title>{self.title} | {host.name}</title>\n"
            f'<meta name="viewport" content="width=device-width, initial-scale=1">\n'
            f'<meta name="description" content="{about}">\n<link rel="canonical" href="{url}">\n'
            f'<meta property="og:title" content="{self.title}">\n<meta property="og:type" content="article">\n{style}'
            f'<script type="application/ld+json">{data}</script>\n</head>\n<body class="{host.kind}">\n'
            f'<header><div class="brand"><a href="/">{host.name}</a></div>\n'
            f"<nav>\n<ul>\n{menu}</ul>\n</nav></header>\n"
            f'<!-- content -->\n<main>\n<article class="{host.kind}">\n<h1>{self.title}</h1>\n'
        )

    def foot(self) -> str:
        away = "".join(f"<li>{self.away()}</li>\n" for _ in range(3))
        return (
            f"</article>\n</main>\n<footer>\n<ul>\n{away}</ul>\n"
            f"<p>&copy; {self.host.name} &middot; {self.host.footer}</p>\n"
            f"</footer>\n<script>window.page={{id:{self.number},kind:'{self.host.kind}'}};</script>\n</body>\n</html>\n"
        )

    def menu(self) -> list[int]:
        """The first pages of the site, and those below this one: so that every page is found."""
        below = range(self.number * CHILDREN + 1, self.number * CHILDREN + CHILDREN + 1)
        return [page for page in (*range(1, 7), *below) if page < self.host.pages]

    # What is between.

    def body(self) -> Iterator[str]:
        table: dict[str, tuple[Callable[[], str], ...]] = {
            "news": (self.text, self.text, self.text, self.heading, self.items, self.cards, self.data, self.form),
            "shop": (self.cards, self.cards, self.table, self.form, self.items, self.text, self.data, self.data),
            "docs": (self.heading, self.text, self.code, self.table, self.items, self.items, self.text, self.code),
            "forum": (
                self.comment,
                self.comment,
                self.comment,
                self.text,
                self.form,
                self.items,
                self.data,
                self.cards,
            ),
        }
        yield self.text()
        while True:
            yield self.chance.choice(table[self.host.kind])()

    def text(self) -> str:
        sentences = self.sentences(self.chance.randint(2, 5))
        sentences[0] = f"<em>{sentences[0]}</em>" if self.chance.random() < 0.3 else sentences[0]
        return (
            f'<p>{" ".join(sentences)} <a href="{path_of(self.any_page())}">{self.phrase()}</a>&nbsp;&rsaquo;</p>\n'
        )

    def heading(self) -> str:
        level = self.chance.choice((2, 2, 3))
        return f'<h{level} id="s{self.chance.randrange(10**6)}">{self.phrase()} &amp; {self.phrase()}</h{level}>\n'

    def items(self) -> str:
        kind = self.chance.choice(("ul", "ul", "ol"))
        rows = "".join(
            f"<li><strong>{self.phrase()}</strong> {self.sentences(1)[0]}</li>\n"
            if self.chance.random() < 0.6
            else f"<li>{self.link(self.any_page())} <span {self.name()}>{self.chance.randrange(999)}</span></li>\n"
            for _ in range(self.chance.randint(3, 9))
        )
        return f"<{kind} {self.name()}>\n{rows}</{kind}>\n"

    def table(self) -> str:
        columns = self.chance.randint(3, 6)
        head = "".join(f"<th>{self.chance.choice(self.words.words)}</th>" for _ in range(columns))
        rows = "".join(
            f"<tr><td>{self.phrase()}</td>"
            + "".join(f"<td>{self.chance.randrange(10**5) / 100:.2f}</td>" for _ in range(columns - 1))
            + "</tr>\n"
            for _ in range(self.chance.randint(4, 14))
        )
        return f"<table {self.name()}>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{rows}</tbody>\n</table>\n"

    def cards(self) -> str:
        def card() -> str:
            target, title = path_of(self.any_page()), self.phrase()
            return (
                f'<div class="card"><div {self.name()}><a href="{target}">'
                f'<img src="{PIXEL}" alt="{title}" width="320" height="180" loading="lazy"></a></div>\n'
                f'<h3><a href="{target}">{title}</a></h3>\n<p {self.name()}>{self.sentences(1)[0]}</p>\n'
                f"<div {self.name()}><span>{self.chance.randrange(500)},99</span>"
                f"<span {self.name()}>&#8364;</span></div></div>\n"
            )

        return f"<section {self.name()}>\n{''.join(card() for _ in range(self.chance.randint(2, 5)))}</section>\n"

    def comment(self) -> str:
        quoted = f"<blockquote><p>{self.sentences(1)[0]}</p></blockquote>\n" if self.chance.random() < 0.4 else ""
        day = f"2024-{self.chance.randint(1, 12):02}-{self.chance.randint(1, 28):02}"
        return (
            f'<div class="post" id="c{self.chance.randrange(10**7)}"><div {self.name()}><b>{self.phrase()}</b> '
            f'<time datetime="{day}">{day}</time></div>\n<div {self.name()}><div>{quoted}'
            f"<p>{' '.join(self.sentences(self.chance.randint(1, 4)))}</p></div></div>\n"
            f'<div {self.name()}><a href="{path_of(self.any_page())}#reply">'
            f"{self.chance.randrange(40)} replies</a></div></div>\n"
        )

    def form(self) -> str:
        names = self.chance.choices(self.words.words, k=self.chance.randint(3, 10))
        options = "".join(f'<option value="{name}">{name.title()}</option>' for name in names)
        return (
            f'<form action="/" method="post"><label>{self.phrase()} <input type="text" name="{names[0]}"></label>\n'
            f'<select name="{names[1]}">{options}</select><button type="submit">{names[2]}</button></form>\n'
        )

    def code(self) -> str:
        lines = "".join(
            f"{' ' * 4 * self.chance.randrange(3)}{' '.join(self.chance.choices(self.words.words, k=3))} &lt;= "
            f"{self.chance.randrange(999)};\n"
            for _ in range(self.chance.randint(3, 12))
        )
        return f"<pre><code>{lines}</code></pre>\n"

    def data(self) -> str:
        rows = ",".join(
            f'{{"id":{self.chance.randrange(10**7)},"name":"{self.phrase()}","tags":["{self.chance.choice(CLASSES)}"]}}'
            for _ in range(self.chance.randint(3, 12))
        )
        return f'<script type="application/json">[{rows}]</script>\n'

    # Small parts.

    def sentences(self, count: int) -> list[str]:
        return self.chance.choices(self.words.pool, k=count)

    def phrase(self) -> str:
        return self.words.title(self.chance, self.chance.randint(1, 4))

    def name(self) -> str:
        return f'class="{self.chance.choice(CLASSES)} {self.chance.choice(CLASSES)}-{self.chance.randrange(99)}"'

    def any_page(self) -> int:
        return self.chance.randrange(self.host.pages)

    def link(self, page: int) -> str:
        return f'<a href="{path_of(page)}" title="{self.phrase()}"><span>{self.phrase()}</span></a>'

    def away(self) -> str:
        url = self.chance.choice(self.host.urls) + path_of(self.any_page())
        return f'<a href="{url}" rel="noopener">{self.phrase()}</a>'


def path_of(page: int) -> str:
    return f"/p/{page}" if page else "/"
