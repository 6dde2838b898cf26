"""The native reader of pages beside the reference: what they make of the same bytes, field by field."""

from __future__ import annotations

from collections.abc import Collection
from itertools import zip_longest

from gossamer.archive.warc import outlinks
from gossamer.process import html, native
from gossamer.process.fingerprints.shingles import PIECE_CHARS, words_in
from gossamer.process.fingerprints.sketch import sketch_of
from gossamer.process.simhash import simhash_of
from gossamer.process.text import fold
from gossamer.records import Page
from tests.property.pages_apart import PageApart

FINGERPRINT = ("simhash", "words", "sketch")


def reference(body: bytes, url: str, content_type: str | None, links_from: Collection[str]) -> dict[str, object]:
    page = html.process(body, url, content_type, links_from=links_from)
    fields: dict[str, object] = {name: getattr(page, name) for name in Page.__struct_fields__}
    if text := page.main_text or page.text:  # as the processor does it
        words = words_in(text if len(text) <= PIECE_CHARS else fold(text))
        fields |= zip(FINGERPRINT, (simhash_of(words.plain), len(words.plain), sketch_of(words)), strict=True)
    return fields


def differences(
    reader: native.Reader,
    body: bytes,
    url: str,
    content_type: str | None = None,
    links_from: Collection[str] = (),
) -> list[str]:
    page = reader.read(body, url, content_type, links_from=links_from)
    expected = reference(body, url, content_type, links_from)
    is_native = isinstance(page, native.ReadPage)
    if is_native:
        expected["written_links"] = outlinks(page.links)
        expected["links_apart"] = PageApart(url, links=page.links).links_apart
        expected["link_count"] = len(page.links)
    names = [name for name in expected if is_native or name not in FINGERPRINT]  # what it refuses has none yet
    return [
        f"{name}: {first_difference(getattr(page, name), expected[name])}"
        for name in names
        if getattr(page, name) != expected[name]
    ]


def first_difference(one: object, other: object) -> str:
    if not isinstance(one, str | list) or not isinstance(other, str | list):
        return f"{one!r}, and should be {other!r}"
    pairs = enumerate(zip_longest(one, other))
    at = next((place for place, (mine, theirs) in pairs if mine != theirs), 0)
    context = 40 if isinstance(one, str) else 1
    return f"at {at}: {one[at : at + context]!r}, and should be {other[at : at + context]!r}"
