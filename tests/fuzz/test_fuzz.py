"""A short run of the fuzzer with every change; `python -m tests.fuzz.run --minutes 5` is the long one."""

from __future__ import annotations

import random
from functools import cache
from pathlib import Path

import pytest

from gossamer.process.processor import Processor
from tests.fuzz import corpus
from tests.fuzz.run import feed, inputs, mutated, resident_bytes
from tests.fuzz.targets import URL, Target, targets
from tests.process.documents import fetched

INPUTS = 300  # of each kind
GROWTH_BYTES_MAX = 24 << 20  # of the second half: caches fill up, and the allocator is not exact

all_targets = cache(targets)


@pytest.mark.parametrize("name", list(targets()))
def test_no_input_breaks_its_reader_or_makes_memory_grow(name: str, folder: Path) -> None:
    target = all_targets()[name]
    start = len(target.seeds)
    for seed in range(start, start + INPUTS // 2):
        feed(name, target, inputs(target, seed), seed, folder)
    halfway = resident_bytes()
    for seed in range(start + INPUTS // 2, start + INPUTS):
        feed(name, target, inputs(target, seed), seed, folder)
    assert resident_bytes() - halfway < GROWTH_BYTES_MAX


@pytest.mark.parametrize(
    ("name", "body"),
    [
        ("head", b"HTTP/1.1 503 No\r\nRetry-After: Mon, 16 Nov 20000000000000000000026 01:00:00 GMT\r\n\r\n"),
        ("head", b"HTTP/1.1 200 OK\r\nRefresh: " + b"0" * 100_000 + b"\r\n\r\n"),
        ("sitemap", b"<urlset><" + b"x" * 100_000),
        ("feed", b"<rss><" + b"x" * 100_000),
        ("feed", b"<rss><item><title>&amp;#" + b"9" * 5000 + b";</title></item></rss>"),
        ("image", b"<svg " + b"x" * 100_000 + b">"),
        ("html", b"<p title='" + b"x" * 16_379 + b"&nGt;'>" + b"&nLt;" * 20_000),  # lexbor wrote behind its buffer
    ],
)
def test_what_was_found_once_stays_mended(name: str, body: bytes, folder: Path) -> None:
    feed(name, all_targets()[name], body, 0, folder)


async def test_a_broken_pdf_costs_its_page_at_most() -> None:
    target, chance = Target(lambda body: None, corpus.PDFS, corpus.PDF_WORDS), random.Random(1)
    processor = Processor()
    try:
        for _ in range(40):
            body = mutated(corpus.PDFS[0], target, chance)
            page = await processor.process(URL, fetched(b"%PDF-1.7\n" + body, "Content-Type: application/pdf"))
            assert page.url == URL
            assert len(page.text) <= 100 * len(body)
    finally:
        await processor.close()
