"""Rows 60 to 71: content codings that explode, lie, break or pile up."""

from __future__ import annotations

import gzip
import random
import zlib
from collections.abc import Iterator

import brotli

from tests.hostile.behaviours.rows import Row, fetched, play, played, proven
from tests.hostile.limits import BODY_BYTES_MAX
from tests.hostile.server import answer, blurts, chunked, pours, says

MIB = 1024 * 1024
GIB = 1024 * MIB
PAGE = b"<p>" + b" ".join(b"word%d" % number for number in range(2000))
PACKED = gzip.compress(PAGE, mtime=0)
CUT = fetched(b"\0" * BODY_BYTES_MAX, "length")
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Encoding: %b\r\nTransfer-Encoding: chunked\r\n\r\n"


def words(size_bytes: int, seed: int = 0) -> bytes:
    """Text that a packer makes a third of."""
    chance = random.Random(seed)
    return b" ".join(b"%x" % chance.getrandbits(48) for _ in range(size_bytes // 13))


def coded(body: bytes, coding: str) -> bytes:
    return answer(body, "Content-Type: text/html", f"Content-Encoding: {coding}")


def raw_deflate(body: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-15)
    return packer.compress(body) + packer.flush()


def gzip_bomb(size_bytes: int) -> Iterator[bytes]:
    """Zeros, packed a thousand to one, in the chunks of an answer: one block of them, again and again."""
    packer = zlib.compressobj(9, wbits=31)
    yield chunked(packer.compress(bytes(MIB)) + packer.flush(zlib.Z_FULL_FLUSH), end=b"")
    block = chunked((packer.compress(bytes(MIB)) + packer.flush(zlib.Z_FULL_FLUSH)) * 16, end=b"")
    for _ in range(size_bytes // MIB // 16):
        yield block
    yield chunked(packer.flush())


def zstd_bomb(size_bytes: int) -> bytes:
    """A frame whose blocks each say: this byte, 131,072 times (RFC 8878, 3.1.1.2)."""
    frame_head = b"\x28\xb5\x2f\xfd\x00\x38"  # magic number, no options, a window of 128 KiB
    block = ((131_072 << 3) | 0b010).to_bytes(3, "little") + b"\0"
    last = ((131_072 << 3) | 0b011).to_bytes(3, "little") + b"\0"
    return frame_head + block * (size_bytes // 131_072 - 1) + last


ZEROS_PACKED = zlib.compress(bytes(27 * MIB), 1)


ROWS: list[Row] = [
    played(
        60,
        "a gzip bomb",
        small=play(pours(HEAD % b"gzip", lambda: gzip_bomb(27 * MIB)), CUT),
        ten_gigabytes=play(pours(HEAD % b"gzip", lambda: gzip_bomb(10 * GIB)), CUT),
        in_a_bomb=play(blurts(coded(gzip.compress(ZEROS_PACKED), "deflate, gzip")), CUT),
    ),
    played(61, "a brotli bomb", brotli=play(blurts(coded(brotli.compress(bytes(64 * MIB), quality=5), "br")), CUT)),
    played(
        62,
        "deflate and zstd bombs",
        deflate=play(blurts(coded(ZEROS_PACKED, "deflate")), CUT),
        zstd=play(blurts(coded(zstd_bomb(GIB), "zstd")), CUT),
    ),
    played(
        63,
        "codings upon codings",
        three=play(
            says(coded(gzip.compress(zlib.compress(PACKED)), "gzip, deflate, gzip")),
            fetched(PAGE),
        ),
        a_hundred=play(says(coded(PACKED, ", ".join(["gzip"] * 100))), fetched(PACKED, None)),
    ),
    # Kept as it came: nothing was lost, so there is nothing to mark.
    played(64, "says gzip and is plain", plain=play(says(coded(PAGE, "gzip")), fetched(PAGE))),
    played(
        65,
        "gzip cut in half",
        cut=play(says(coded(gzip.compress(PAGE, mtime=0)[: len(PACKED) // 2], "gzip")), fetched(None, "decoding")),
    ),
    played(
        66,
        "gzip with a bad checksum",
        checksum=play(says(coded(PACKED[:-8] + bytes(8), "gzip")), fetched(PAGE, "decoding")),
        no_footer=play(says(coded(PACKED[:-8], "gzip")), fetched(PAGE, "decoding")),
    ),
    played(67, "deflate without its zlib header", raw=play(says(coded(raw_deflate(PAGE), "deflate")), fetched(PAGE))),
    played(
        68,
        "garbage behind the packed body",
        deflate=play(says(coded(zlib.compress(PAGE) + b"garbage", "deflate")), fetched(PAGE)),
        raw_deflate=play(says(coded(raw_deflate(PAGE) + b"garbage", "deflate")), fetched(PAGE)),
        gzip=play(says(coded(PACKED + b"garbage", "gzip")), fetched(PAGE)),
    ),
    played(
        69,
        "a coding that nobody asked for",
        brotli=play(says(coded(brotli.compress(PAGE), "br")), fetched(PAGE)),
        unknown=play(says(coded(b"\x00\x01\x02", "x-secret")), fetched(b"\x00\x01\x02", None)),
        broken_brotli=play(says(coded(b"\xff" * 100, "br")), fetched(None, None)),
    ),
    played(
        70,
        "unpacked, exactly as large as is allowed",
        edge=play(says(coded(gzip.compress(b"x" * BODY_BYTES_MAX), "gzip")), fetched(b"x" * BODY_BYTES_MAX)),
        one_more=play(
            says(coded(gzip.compress(b"x" * (BODY_BYTES_MAX + 1)), "gzip")), fetched(b"x" * BODY_BYTES_MAX, "length")
        ),
    ),
    proven(
        71,
        "a gzip file that is sent gzipped",
        "test_pages.py::test_a_gzipped_sitemap_that_is_sent_gzipped_is_unwrapped_twice",
    ),
]
