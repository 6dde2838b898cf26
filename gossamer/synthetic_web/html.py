"""HTML as an ordinary site would write it: head, navigation, headings, paragraphs with links in them, footer."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from gossamer.synthetic_web.answer import Anchor, Answer, Delivery
from gossamer.synthetic_web.atlas import Atlas
from gossamer.synthetic_web.text import text

HTML = "text/html; charset=utf-8"
PARAGRAPH_SENTENCES = 5
NAVIGATION_LINKS = 8
FRAME_BYTES = 420  # what a page weighs besides its sentences and links
LINK_BYTES = 45


def render(title: str, sentences: Sequence[str], anchors: Sequence[Anchor], head: str = "", footer: str = "") -> str:
    """The first links go into the navigation, the others end a paragraph each, the rest is a list."""
    links = [_link(anchor) for anchor in anchors]
    navigation, inline = links[:NAVIGATION_LINKS], iter(links[NAVIGATION_LINKS:])
    pieces = [
        f'<!DOCTYPE html>\n<html lang="en">\n<head>\n<title>{title}</title>\n{head}</head>\n<body>\n<nav>\n<ul>\n',
        *(f"<li>{link}</li>\n" for link in navigation),
        f"</ul>\n</nav>\n<main>\n<h1>{title}</h1>\n",
    ]
    for start in range(0, len(sentences), PARAGRAPH_SENTENCES):
        if start % (4 * PARAGRAPH_SENTENCES) == 2 * PARAGRAPH_SENTENCES:
            pieces.append(f"<h2>{sentences[start].split(' ', 1)[0]}</h2>\n")
        link = next(inline, "")
        more = f" See also {link}." if link else ""
        pieces.append(f"<p>{' '.join(sentences[start : start + PARAGRAPH_SENTENCES])}{more}</p>\n")
    rest = "".join(f"<li>{link}</li>\n" for link in inline)
    if rest:
        pieces.append(f"<h2>More</h2>\n<ul>\n{rest}</ul>\n")
    pieces.append(
        f"</main>\n<footer><p>{footer or 'All words on this page are made up.'}</p></footer>\n</body>\n</html>\n"
    )
    return "".join(pieces)


def leaf(
    atlas: Atlas,
    kind: str,
    name: str,
    anchors: Sequence[Anchor] = (),
    *,
    head: str = "",
    footer: str = "",
    base: str | None = None,
    nofollow: bool = False,
    near_group: str = "",
    delivery: Delivery = Delivery.WHOLE,
    wait_s: float = 0.0,
    takes_s: float = 0.0,
    home: str = "/",
    text_bytes: int = 0,
) -> Answer:
    """A page that is not one of the tree: text of its own (by `name`), a way home, and the given links."""
    chance = atlas.chance(f"leaf/{name}")
    words = text(atlas.options.seed)
    title = words.title(chance)
    sentences = words.sentences(chance, text_bytes or max(500, atlas.options.page_bytes // 2))
    linked = (Anchor(home, "home"), *anchors)
    return Answer(
        kind,
        headers=(("Content-Type", HTML),),
        body=render(title, sentences, linked, head, footer).encode(),
        delivery=delivery,
        wait_s=wait_s,
        takes_s=takes_s,
        anchors=linked,
        base=base,
        nofollow=nofollow,
        near_group=near_group,
    )


def plain_answer(kind: str, status: int, *headers: tuple[str, str]) -> Answer:
    """An answer that is not about its body."""
    return Answer(kind, status, (("Content-Type", "text/plain"), *headers), f"{status} {kind}\n".encode())


def _link(anchor: Anchor) -> str:
    href = escape(anchor.href) if "&" in anchor.href else anchor.href
    rel = f' rel="{anchor.rel}"' if anchor.rel else ""
    return f'<a href="{href}"{rel}>{anchor.text or anchor.href}</a>'
