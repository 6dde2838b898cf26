"""What does a page cost, from its bytes to the verdict about it?

    python -m benchmarks.process [--fingerprints 1_000_000 10_000_000] [--lookups 5000] [--dir D] [--json]

First the stages of one page of 21 KB with 50 links, ten of them with a query of two parameters. Each is the best of
many rounds, in microseconds of CPU time; so is the fixed piece of work beside them (reference.py), which tells how
fast the machine was.
Parsing is lexbor alone. What links cost is what the page costs more than the same page without its links; what is
left of `html.process` is text: reading, choosing the main text, telling the language. So the figures hold whatever
html.py does inside.

Then the index of near copies, at each size that is asked for: it is built in bulk from SimHashes and sketches drawn
by chance, and asked for fingerprints that nobody has (as nearly all pages are), for ones that are three bits away,
and told new ones as a crawl does it, fifty at a time. A look-up is done once for each fingerprint and never repeated,
so that no cache knows the answer. The 10 million take some minutes to build and 3 GB of disk, in a folder that is
removed.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from hashlib import blake2b, sha256
from pathlib import Path
from random import Random

import numpy as np
from numpy.typing import NDArray
from rocksdict import SstFileWriter
from selectolax.lexbor import LexborHTMLParser

from benchmarks.reference import took_once_ms
from gossamer.frontier.disk.memory import FINGERPRINTS
from gossamer.frontier.disk.store import RocksStore, _options
from gossamer.process import html
from gossamer.process.fingerprints.duplicates import TABLES, Duplicates
from gossamer.process.fingerprints.near import BLOCK_BITS, ENTRY_BYTES, NearIndex, Owner, _encode, _entry
from gossamer.process.fingerprints.shingles import words_in
from gossamer.process.fingerprints.sketch import sketch_of
from gossamer.process.simhash import simhash
from gossamer.records import Claim
from gossamer.resemblance import BITS
from gossamer.runtime.memory import steady_memory
from gossamer.synthetic_web.answer import Anchor
from gossamer.synthetic_web.html import render
from gossamer.synthetic_web.text import text
from gossamer.url.canonical import canonicalize

URL = "http://h1.test/p/1"
PAGE_BYTES, PAGE_LINKS = 21_000, 50
NEAR_BITS = 3
AT_ONCE = 50  # claims in a commit
TARGET_PAGE_US, TARGET_LOOKUP_US = 500, 100


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure the processing of pages.")
    parser.add_argument("--fingerprints", type=int, nargs="*", default=[1_000_000, 10_000_000])
    parser.add_argument("--lookups", type=int, default=5000)
    parser.add_argument("--dir", type=Path)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    steady_memory()  # as a worker does
    facts = page_facts()
    folder = Path(tempfile.mkdtemp(prefix="gossamer-process-", dir=arguments.dir))
    try:
        for count in arguments.fingerprints:
            facts |= index_facts(folder / str(count), count, arguments.lookups)
            shutil.rmtree(folder / str(count))
    finally:
        shutil.rmtree(folder)
    print(json.dumps(facts) if arguments.json else "\n".join(f"{name:<44} {value}" for name, value in facts.items()))


# --- One page ---


def page_facts() -> dict[str, float]:
    body, bare = a_page(linked=True), a_page(linked=False)
    document, page = body.decode(), html.process(body, URL, "text/html; charset=utf-8")
    words, hrefs = words_in(page.main_text), [link.url for link in page.links]
    whole_us, bare_us, parse_us, simhash_us, sketch_us, digest_us, links_us, reference_us = fastest_us(
        lambda: html.process(body, URL, "text/html; charset=utf-8"),
        lambda: html.process(bare, URL, "text/html; charset=utf-8"),
        lambda: LexborHTMLParser(document),
        lambda: simhash(page.main_text),
        lambda: sketch_of(words),
        lambda: sha256(body).hexdigest(),
        lambda: [canonicalize(href, URL) for href in hrefs],
        took_once_ms,
    )
    return {
        "page_bytes": len(body),
        "page_links": len(hrefs),
        "page_words": len(words.hashes),
        "parse_us": parse_us,
        "links_us": round(whole_us - bare_us, 1),
        "text_us": round(bare_us - parse_us, 1),
        "simhash_us": simhash_us,
        "sketch_us": sketch_us,
        "digest_us": digest_us,
        f"page_us (target: under {TARGET_PAGE_US})": round(whole_us + simhash_us + sketch_us + digest_us, 1),
        "canonicalisation_of_a_link_us": round(links_us / len(hrefs), 2),
        "reference_ms": round(reference_us / 1000, 2),
    }


def a_page(*, linked: bool) -> bytes:
    chance, words = Random(1), text(1)
    paths = [f"/p/{number}?b=2&a=1" if number % 5 == 0 else f"/p/{number}.html" for number in range(PAGE_LINKS)]
    anchors = [Anchor(path, words.title(chance)) for path in paths]
    made = render(words.title(chance), words.sentences(chance, PAGE_BYTES - 80 * PAGE_LINKS), anchors).encode()
    return made if linked else made.replace(b"<a href=", b"<b title=").replace(b"</a>", b"</b>")


def fastest_us(*works: Callable[[], object], rounds: int = 200, times: int = 5) -> list[float]:
    """In turns, so that a noisy moment is nobody's alone."""
    best = [float("inf")] * len(works)
    for _ in range(rounds):
        for number, work in enumerate(works):
            started = time.process_time_ns()
            for _ in range(times):
                work()
            best[number] = min(best[number], (time.process_time_ns() - started) / times / 1000)
    return [round(value, 1) for value in best]


# --- The index of SimHashes ---


def index_facts(folder: Path, count: int, lookups: int) -> dict[str, float]:
    chance = np.random.default_rng(count)
    prints = np.unique(chance.integers(0, 1 << 64, count, np.uint64))
    started = time.perf_counter()
    build(folder, prints)
    built_s = time.perf_counter() - started
    print(f"{count:,} fingerprints built in {built_s:.0f} s", file=sys.stderr, flush=True)
    store = RocksStore(folder, TABLES, memory=FINGERPRINTS)
    duplicates = Duplicates(store, folder, NEAR_BITS)
    facts: dict[str, float] = {
        "disk_bytes_a_fingerprint": round(sum(file.stat().st_blocks * 512 for file in folder.rglob("*")) / count, 1)
    }
    unknown = chance.integers(0, 1 << 64, 2 * lookups, np.uint64).tolist()
    known = chance.choice(prints, lookups).tolist()
    moved = [
        near ^ 1 << int(bits[0]) ^ 1 << int(bits[1]) ^ 1 << int(bits[2])
        for near, bits in zip(known, chance.random((lookups, 64)).argsort(1), strict=True)
    ]
    index = duplicates._near
    assert index is not None
    first, second = batched(unknown[:lookups], unknown[:lookups]), batched(unknown[lookups:], unknown[lookups:])
    three_away = batched(moved, known)
    assert not any(index.nearest(first[0]))
    assert all(index.nearest(three_away[0]))
    for some in first[: len(first) // 5]:  # a crawl has been at it for a while
        index.nearest(some)
    facts |= timed("lookup_of_a_new_one", index.nearest, first)
    facts |= timed("lookup_three_bits_away", index.nearest, three_away)
    facts |= timed("judge_of_a_new_one", duplicates.judge, second)
    facts |= timed("settle_of_one", duplicates.settle, second)
    duplicates.close()
    store.close()
    return {f"{name}_at_{count}": value for name, value in facts.items()}


def batched(simhashes: list[int], texts: list[int]) -> list[list[Claim]]:
    """As a worker asks: for the pages of a commit together."""
    claims = [
        Claim(sha256(str(each).encode()).hexdigest(), a_url(each), 0.0, each, a_sketch(text))
        for each, text in zip(simhashes, texts, strict=True)
    ]
    return [claims[start : start + AT_ONCE] for start in range(0, len(claims), AT_ONCE)]


def timed(name: str, work: Callable[[list[Claim]], object], given: list[list[Claim]]) -> dict[str, float]:
    cpu, wall = time.process_time(), time.perf_counter()
    for one in given:
        work(one)
    cpu_us, wall_us = (
        round((now - then) * 1e6 / len(given) / AT_ONCE, 1)
        for now, then in ((time.process_time(), cpu), (time.perf_counter(), wall))
    )
    return {f"{name}_cpu_us": cpu_us, f"{name}_wall_us": wall_us}


def build(folder: Path, prints: NDArray[np.uint64]) -> None:
    """The rows that `NearIndex.add` would write, in the order of their keys, and its list of buckets."""
    store = RocksStore(folder, TABLES)
    NearIndex(store, folder, NEAR_BITS).close()
    filled = []
    written = b"".join(_entry(Claim("", "", 0.0, each, a_sketch(each))) for each in prints.tolist())
    owners = (
        (written[at * ENTRY_BYTES : (at + 1) * ENTRY_BYTES], _encode(Owner(a_url(at), 0.0, a_sketch(each))))
        for at, each in enumerate(prints.tolist())
    )
    ingest(store, "owners", owners)
    entries = np.frombuffer(written, np.uint8).reshape(-1, ENTRY_BYTES)
    low = np.uint64((1 << BLOCK_BITS) - 1)
    for buckets in (prints & low, (prints >> np.uint64(64 - BLOCK_BITS)) + np.uint64(1 << BLOCK_BITS)):
        order = buckets.argsort(kind="stable")
        filled.append(np.unique(buckets).astype("<u4"))
        ingest(store, "near", rows(buckets[order], entries[order]))
    (folder / "near.filled").write_bytes(np.concatenate(filled).tobytes())
    store.close()


def rows(buckets: NDArray[np.uint64], entries: NDArray[np.uint8]) -> Iterator[tuple[bytes, bytes]]:
    starts = np.flatnonzero(np.append(True, buckets[1:] != buckets[:-1]))
    keys, values = buckets[starts].astype(">u4").tobytes(), entries.tobytes()
    ends = np.append(starts[1:], len(entries)).tolist()
    for number, (start, end) in enumerate(zip(starts.tolist(), ends, strict=True)):
        yield keys[4 * number : 4 * number + 4], values[ENTRY_BYTES * start : ENTRY_BYTES * end]


def ingest(store: RocksStore, table: str, wanted: Iterator[tuple[bytes, bytes]]) -> None:
    path = str(store.folder.with_suffix(".sst"))
    writer = SstFileWriter(options=_options("near", FINGERPRINTS))
    writer.open(path)
    for key, value in wanted:
        writer[key] = value
    writer.finish()
    store._tables[table].ingest_external_file([path])
    Path(path).unlink(missing_ok=True)


def a_sketch(number: int) -> bytes:
    """As long as that of a text of 2,300 words, and as little like others."""
    parts = [blake2b(number.to_bytes(8), salt=bytes([part])).digest() for part in range(BITS // 512)]
    return (2300).to_bytes(4) + b"".join(parts)


def a_url(number: int) -> str:
    return f"http://www.site-{number % 10_007}.example/articles/{number}.html"


if __name__ == "__main__":
    main()
