"""The main text of a page as Markdown: headings, lists, tables, links, code, quotations and emphasis.

It is made of the bytes of the page when somebody asks for it; a crawl never does. The blocks that are main text are
those of html.py, which a second walk over the tree finds by counting characters (`place.py`). What an element does to
the text is in `writer.py`; lists and quotations in `blocks.py`, tables in `table.py`, marks in a line in `inline.py`.

The guards are those of html.py. Besides, what nesting, tables and URLs add to a page is bounded in their files: a
million links with a long <base> would make a page a thousand times as long. A page takes two to three times as long
as in html.py (benchmarks/quality/markdown.py).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from msgspec.structs import replace
from selectolax.lexbor import LexborNode

from gossamer.process import html
from gossamer.process.links import Links
from gossamer.process.markdown.inline import text_lines
from gossamer.process.markdown.place import Lost, Place
from gossamer.process.markdown.writer import Writer
from gossamer.process.markup.reading import BLOCK, HIDDEN, KINDS, TEXT, tags_of
from gossamer.process.sniffing import HTML, XHTML
from gossamer.process.text import as_utf8
from gossamer.records import Page, Url

(_NOSCRIPT,) = tags_of("noscript")


def process(
    body: bytes,
    url: Url,
    content_type: str | None = None,
    *,
    agent: str = html.AGENT,
    links_from: Collection[str] = (),
) -> Page:
    """As `html.process`, and the main text is Markdown."""
    markup, codec = as_utf8(body, content_type)
    # What is no UTF-8 would be counted differently in parts and as a whole.
    document = html.parsed(markup.decode("utf-8", "replace").encode(), agent, links_from)
    page = html.page_of(document, url, codec)
    return replace(page, main_text=markdown_of(document, Links(url, document.said.base, codec)))


def markdown_of_page(page: Page, body: bytes, content_type: str | None) -> str:
    """Of a page that was read already. Nothing, where that could not be done: then nobody tries it here."""
    is_html = page.media_type in (HTML, XHTML) and not page.fault
    return (process(body, page.url, content_type) if is_html else text_as_markdown(page)).main_text


def text_as_markdown(page: Page) -> Page:
    """A page that is no HTML: its text as it is, and none of it a mark."""
    return replace(page.plain(), main_text=text_lines(page.main_text or page.text))


def markdown_of(document: html.Parsed, links: Links) -> str:
    try:
        return written(document, links)
    except Lost:  # it was never met; the words count more than their form
        chosen = document.chosen or range(len(document.blocks))
        return "\n\n".join([text_lines(document.blocks[number]) for number in chosen])


def written(document: html.Parsed, links: Links) -> str:
    """Raises `Lost`, where the two walks do not agree."""
    writer = Writer(Place(document), links)
    if (root := document.tree.root) is not None:
        _walk(root, writer)
    return str(writer.blocks)


def _walk(root: LexborNode, writer: Writer) -> None:
    children: Iterator[LexborNode] = iter((root,))
    around: list[tuple[Iterator[LexborNode], LexborNode, int]] = []
    while True:
        for node in children:
            tag = node.tag_id
            if tag == TEXT:
                writer.add(node.text_content or "")
            elif tag != _NOSCRIPT:
                writer.begin(node, tag)
                around.append((children, node, tag))
                children = node.iter(include_text=KINDS.get(tag, BLOCK) != HIDDEN)
                break
        else:
            if not around:
                return
            children, node, tag = around.pop()
            writer.end(node, tag)
