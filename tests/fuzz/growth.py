"""Does anything cost more than in proportion to its input? Inputs that grow, and what reading them costs.

    python -m tests.fuzz.growth --minutes 5 [--only html,robots] [--seed N]

An input is a head, a unit that is repeated, and a tail, each put together by chance of the pieces of its language; a
`#` in the unit becomes a running number, because names that differ cost parsers more than names that repeat. It is
read at one size and at eight times that size. What is linear then costs eight times as much, what is quadratic
sixty-four times; what costs more than `RATIO_MAX` times as much is measured again at eight times the sizes, where
whatever has a bound has met it, before it is a finding. Costs are those of the processor, which other programs on the
machine hardly change.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections.abc import Callable
from typing import NamedTuple

from gossamer.fetch.robots import Robots
from gossamer.process import feed, html, image, sitemap
from gossamer.process.markup.language import language_of
from gossamer.process.markup.srcset import candidates
from gossamer.process.processor import header_words
from gossamer.process.sniffing import media_type_of
from gossamer.process.text import decode, fold
from gossamer.records import Exchange, Link
from gossamer.url.canonical import canonicalize
from gossamer.url.patterns import pattern_of, wider
from tests.fuzz.targets import DOOR, READERS, URL

SMALL, TIMES = 4096, 8
RATIO_MAX = 24.0  # between 8 (linear) and 64 (quadratic), and nearer to the first: 8^1.5
HARMLESS_S = 0.02  # whatever the ratio: too short to be measured


class Grown(NamedTuple):
    """An input of any size."""

    head: str
    unit: str
    tail: str

    def of_size(self, size: int) -> bytes:
        count = max(1, (size - len(self.head) - len(self.tail)) // (len(self.unit) + 3 * ("#" in self.unit)))
        if "#" in self.unit:
            body = "".join([self.unit.replace("#", f"{number:x}") for number in range(count)])
        else:
            body = self.unit * count
        return (self.head + body + self.tail).encode("latin-1", "replace")


class Growing(NamedTuple):
    read: Callable[[bytes], object]
    heads: list[str]
    pieces: list[str]


def pieces_of(text: str) -> list[str]:
    return [piece.replace("_", " ").replace("~", "\n") for piece in text.split()]


_MARKUP = pieces_of(
    "< > </ /> = \" ' & ; _ ~ # x x# a=# a='# a=\"# , ( ) <!-- --> <! <? ]]> <![CDATA[ &amp; &# &#x & &nGt; 9 . / : "
    "? é \x00 http://a.test/# /#"
)
_ELEMENTS = pieces_of(
    "a b p i div span table tr td th tbody caption ul li ol dl dt dd select option optgroup form button input font "
    "nobr svg math mi mtext foreignObject template script style textarea title iframe noscript frameset frame html "
    "body head base meta link h1 h2 article main nav footer header img picture source video ruby rt plaintext col "
    "colgroup pre center marquee object applet details hr br wbr image isindex em strong"
)
_HTML = [
    *_MARKUP,
    *(f"<{name}>" for name in _ELEMENTS),
    *(f"</{name}>" for name in _ELEMENTS),
    *(f"<{name}_x#='y'>".replace("_", " ") for name in _ELEMENTS[:12]),
    *pieces_of(
        "<a_href=#> <a_href=x#>y</a> <p_class='nav_#'> <img_alt='# <img_srcset='# srcset='x_1x, <li><a_href=#>x</a> "
        "<meta_charset= <meta_name=robots_content=' <base_href=# <svg><desc> <math><annotation-xml> <link_rel='# "
        "<b><p> <a><div> <table><a> <font_size=#> <td_id=# style='display: role='# lang=#"
    ),
    # What looks like tags and is none, and the other way round.
    *pieces_of(
        "a#='>' _b#='</div>' c#=\"<\" ='>' '> \"> <div_x='</div>'> <b_x#=\"</b>\"> <li_</> </p_x='> <dt><li> <br/> "
        "<g/> </script_x='> <script/> <title/> <!--> --!> <div><table></div></table>"
    ),
]
_XML = [
    *_MARKUP,
    *pieces_of(
        "<url> </url> <loc> </loc> <x:loc> <lastmod> <urlset> <sitemapindex> <item> </item> <entry> </entry> <title> "
        "</title> <link> </link> <link_href='# <guid> <description> <content> <image> </image> <rss> <feed> "
        "<rdf:RDF> <title>&#9 <a:b:c <link_x#='y'_ &#xx; <title><title> xmlns:x#='y'"
    ),
]
_ROBOTS = pieces_of(
    "user-agent:_ *~ ~ gossamer~ x#~ disallow:_ allow:_ / * *a a* $ % %2 %2F # \ufeff crawl-delay:_ 9 sitemap:_ "
    "http://a.test/# _ \r ? = /* /a*b"
)
_URLS = pieces_of(
    "http:// a . / // /../ /./ % %2 %2e %2F # ? & = x#=y ; @ : [ ] é xn-- x# x#. utm_source=# sid=# + , - _ 1 2024/ "
    "2024-01- page/ .html ~ \\ 0 0x 1."
)
_HEADERS = pieces_of(
    "retry-after:_ refresh:_ content-type:_ x-robots-tag:_ etag:_ last-modified:_ link:_ location:_ \r~ ~ , ; : _ 0 "
    "9 url= ' \" noindex none gossamer: charset= Mon, 16_Nov_2026_ 10:00:00 GMT +0000 ( ) = text/html é x#"
)
_SRCSET = pieces_of("x# , _ 1x 2w 3h ( ) ~ 1. e - + .")


def read_html(body: bytes) -> None:
    READERS.read("text/html", body, URL, "text/html")


def read_text(body: bytes) -> None:
    text, _ = decode(body)
    fold(text)
    language_of(text)
    media_type_of(None, body[:1024])


def read_robots(body: bytes) -> None:
    robots = Robots.parse(body)
    for url in (URL, "http://h.test/a/" + "a" * 200, "http://h.test/" + "ab/" * 80):
        robots.explain(url, "gossamer")
    robots.crawl_delay("gossamer")


def read_url(body: bytes) -> None:
    text = body.decode("latin-1")
    for url in (canonicalize(text), canonicalize(text, URL), canonicalize("http://a.test/" + text)):
        if url is not None:
            DOOR(Link(url, source=URL, depth=1))
            wider(pattern_of(url))


def read_head(head: bytes) -> None:
    exchange = Exchange(b"", b"HTTP/1.1 503 No\r\n" + head, 503, "192.0.2.1", 0.0, 1.0, 0.5)
    exchange.retry_after_s  # noqa: B018 - it is worked out when it is asked for
    header_words(exchange.head, "gossamer")
    for name in ("Refresh", "Content-Type", "ETag"):
        said = exchange.header(name) or head.decode("latin-1")
        html.refresh(said)
        media_type_of(said, head[:1024])
        decode(b"<p>", said)


def read_srcset(body: bytes) -> None:
    list(candidates(body.decode("latin-1")))


def targets() -> dict[str, Growing]:
    return {
        "html": Growing(read_html, ["", "", "", "<table>", "<svg>", "<select>", "<p ", "<a href='", "<!--"], _HTML),
        "sitemap": Growing(
            lambda body: sitemap.process(body, URL), ["<urlset>", "<", "", "<urlset><url><loc>"], _XML
        ),
        "feed": Growing(lambda body: feed.process(body, URL), ["<rss><item>", "<feed><entry><title>", "<rss>"], _XML),
        "svg": Growing(lambda body: image.process(body, URL), ["<svg ", "<svg>", ""], _XML),
        "text": Growing(read_text, ["", "<meta charset='"], [*_MARKUP, "\xe4\xf6", "\x1b$B", "\xff", "a "]),
        "robots": Growing(read_robots, ["user-agent: *\ndisallow: ", "user-agent: *\n", ""], _ROBOTS),
        "url": Growing(read_url, ["http://a.test/", "http://", "", "http://a.test/?"], _URLS),
        "head": Growing(read_head, ["retry-after: ", "x-robots-tag: ", "refresh: ", "content-type: ", ""], _HEADERS),
        "srcset": Growing(read_srcset, ["", "x 1x,"], _SRCSET),
    }


def grown(target: Growing, seed: int) -> Grown:
    chance = random.Random(seed)

    def some(most: int) -> str:
        return "".join(chance.choices(target.pieces, k=chance.randint(0, most)))

    return Grown(chance.choice(target.heads) + some(2), some(3) + chance.choice(target.pieces), some(2))


def cost_s(target: Growing, body: bytes, rounds: int = 1) -> float:
    best = float("inf")
    for _ in range(rounds):
        started = time.thread_time()
        target.read(body)
        best = min(best, time.thread_time() - started)
    return best


def excess(target: Growing, input_: Grown) -> tuple[float, float] | None:
    """How much more the larger input costs, and how much that is; None: in proportion."""
    for small, rounds in ((SMALL, 1), (TIMES * SMALL, 2)):
        large_s = cost_s(target, input_.of_size(small * TIMES), rounds)
        if large_s < HARMLESS_S:
            return None
        ratio = large_s / max(cost_s(target, input_.of_size(small), rounds), 1e-5)
        if ratio < RATIO_MAX:
            return None
    return ratio, large_s


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=5.0)
    parser.add_argument("--seed", type=int, default=0, help="the first; they are counted up")
    parser.add_argument("--only", default="", help="targets, with commas between them")
    arguments = parser.parse_args()
    only = arguments.only.split(",") if arguments.only else None
    chosen = {name: each for name, each in targets().items() if only is None or name in only}
    seed, findings, ends_at = arguments.seed, 0, time.monotonic() + 60 * arguments.minutes
    while time.monotonic() < ends_at:
        for name, target in chosen.items():
            input_ = grown(target, seed)
            found = excess(target, input_)
            if found is not None:
                findings += 1
                print(f"{name}, seed {seed}: {found[0]:.0f} times, {found[1]:.2f} s: {input_}", flush=True)
        seed += 1
    print(f"{seed - arguments.seed} inputs of each of {', '.join(chosen)}; {findings} findings")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
