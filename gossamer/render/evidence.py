"""Evidence: what a page as its server sent it says about the need for a browser, and what rendering has gained.

    none       no script that could change it                        never rendered
    shell      next to no text, and scripts                          rendered, unless its pattern gained nothing
    mount      an empty element that an application fills            the same
    noscript   little text, and <noscript> asks for JavaScript       the same
    few_links  scripts, and no link to its own host                  the same, but once
    scripts    an ordinary page that has scripts                     where there is credit for a look

The words are those of `why`, of records and of metrics. Pure functions.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from gossamer.records import Page
from gossamer.url.site import host_of, site_of

SHELL_CHARS = 250  # of text: less is a heading, a notice and a spinner
LITTLE_CHARS = 2000
MANY_WORDS = 1000  # are longer than that in any language
LOOKED_AT_BYTES = 256 << 10  # of a body
TEXT_GAIN_CHARS, TEXT_GAIN_SHARE = 80, 0.2  # more text than that is a gain: less is a date, a counter, a greeting

_SCRIPT = re.compile(rb"<script\b([^>]{0,2000})>", re.IGNORECASE)
_DATA_TYPE = re.compile(
    rb"type\s*=\s*[\"']?\s*(application/(ld\+)?json|text/(template|html|x-)|speculationrules|importmap)", re.I
)
_MOUNT = re.compile(
    rb"<(div|main|section|app-root|body)\b[^>]{0,300}?\bid\s*=\s*[\"']?"
    rb"(root|app|__next|__nuxt|___gatsby|svelte|react-root|q-app|main-app|application|app-root|mount)\b[^>]{0,300}>\s*"
    rb"(<!--[^>]{0,100}-->\s*)?</|<app-root\b[^>]{0,300}>\s*</",
    re.IGNORECASE,
)
_NOSCRIPT = re.compile(rb"<noscript\b[^>]{0,200}>(.{0,2000}?)</noscript", re.IGNORECASE | re.DOTALL)
_ASKS = re.compile(rb"java\s?script|enable|activate", re.IGNORECASE)


class Evidence(NamedTuple):
    word: str
    tries: int = 0  # of a pattern that nobody has looked at: so many pages are rendered, whatever the others gained


NONE = Evidence("none")
SCRIPTS = Evidence("scripts")


def evidence_of(body: bytes, page: Page) -> Evidence:
    """`body`: of an HTML page; `page`: what was read of it."""
    head = body[:LOOKED_AT_BYTES]
    if page.has_scripts is False or not any(_DATA_TYPE.search(found[1]) is None for found in _SCRIPT.finditer(head)):
        return NONE
    # A text is made of bytes when it is first asked for: of a page with many words nobody needs it.
    text_chars = len(page.text) if page.words < MANY_WORDS else LITTLE_CHARS
    if text_chars < SHELL_CHARS:
        return Evidence("shell", 2)
    if page.words < MANY_WORDS and _MOUNT.search(head):  # beside so much text it is for a part of the page
        return Evidence("mount", 2)
    if text_chars < LITTLE_CHARS and any(_ASKS.search(found[1]) for found in _NOSCRIPT.finditer(head)):
        return Evidence("noscript", 2)
    return SCRIPTS if has_own_links(page) else Evidence("few_links", 1)


def has_own_links(page: Page) -> bool:
    """To its own host, and not to itself."""
    if page.links_apart is not None:  # as its reader has told them apart
        return any(url != page.url for url in page.links_apart.urls)
    host = host_of(page.url)
    return any(link.url != page.url and host_of(link.url) == host for link in page.links)


def gain_of(plain: Page, rendered: Page, *, of_site: bool = False) -> tuple[int, int]:
    """Characters of text and links that the rendered page has and the plain one has not; 0: as good as none.

    `of_site`: links to other sites do not count. Scripts of ordinary pages add such for sharing and advertising."""
    known = {link.url for link in plain.links}
    links = {link.url for link in rendered.links} - known - {plain.url}
    if of_site and links:
        site = site_of(host_of(plain.url))
        links = {url for url in links if site_of(host_of(url)) == site}
    text = len(rendered.text) - len(plain.text)
    return (text if text > max(TEXT_GAIN_CHARS, TEXT_GAIN_SHARE * len(plain.text)) else 0), len(links)
