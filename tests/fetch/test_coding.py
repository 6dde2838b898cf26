"""Content codings with real packed bytes, made here: whole, cut, damaged, nested, and as bombs.

Longer than 400 lines: one table of packed bodies and all that is done to them.
"""

from __future__ import annotations

import gzip
import random
import struct
import sys
import time
import tracemalloc
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise

import brotli
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from gossamer.fetch.coding import ACCEPT_ENCODING, STREAMS_MAX, Unpacker, names_in

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

MIB = 1024 * 1024
PAGE = b"<!DOCTYPE html>\n<title>A page</title>\n" + b"".join(b"<p>Paragraph %d</p>\n" % n for n in range(3000))
PLAIN = b"<!DOCTYPE html>\n<title>Never packed</title>\n" + b"<p>Hello, world.</p>\n" * 100
PICTURE = b"\x89PNG\r\n\x1a\n\x00\x00\x00\x0dIHDR" + random.Random(2).randbytes(5000)


def raw_deflate(body: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-15)
    return packer.compress(body) + packer.flush()


def fast_brotli(body: bytes) -> bytes:
    return bytes(brotli.compress(body, quality=4))


def zstd_with_checksum(body: bytes) -> bytes:
    packer = zstd.ZstdCompressor(options={zstd.CompressionParameter.checksum_flag: 1})
    return packer.compress(body) + packer.flush()


Pack = Callable[[bytes], bytes]
PACKS: list[tuple[str, Pack]] = [
    ("gzip", gzip.compress),
    ("deflate", zlib.compress),
    ("deflate", raw_deflate),
    ("br", fast_brotli),
    ("zstd", zstd.compress),
    ("zstd", zstd_with_checksum),
]
every_coding = pytest.mark.parametrize(("coding", "pack"), PACKS)


def unpacked(
    codings: str, packed: bytes, *, bytes_max: int = MIB, chunk_bytes: int = 16_384
) -> tuple[bytes, Unpacker]:
    unpacker = Unpacker(codings, bytes_max)
    chunks = (packed[at : at + chunk_bytes] for at in range(0, len(packed), chunk_bytes))
    return b"".join(unpacker.unpack(chunks)), unpacker


def is_clean(unpacker: Unpacker) -> bool:
    return not (unpacker.fault or unpacker.is_raw or unpacker.is_too_large)


# What is packed as it says.


def test_all_that_is_offered_is_understood() -> None:
    assert {name.strip() for name in ACCEPT_ENCODING.split(",")} == {name for name, _ in PACKS}


@every_coding
@pytest.mark.parametrize("chunk_bytes", [1, 7, 1000, MIB])
def test_a_page_is_unpacked_however_it_comes_in(coding: str, pack: Pack, chunk_bytes: int) -> None:
    body, unpacker = unpacked(coding, pack(PAGE), chunk_bytes=chunk_bytes)
    assert body == PAGE
    assert is_clean(unpacker)


@pytest.mark.parametrize("codings", ["GZIP", "x-gzip", " X-Gzip ", "identity, gzip", "gzip,identity", ", gzip,,"])
def test_a_coding_is_known_however_it_is_written(codings: str) -> None:
    body, unpacker = unpacked(codings, gzip.compress(PAGE))
    assert body == PAGE
    assert is_clean(unpacker)


@pytest.mark.parametrize("header", ["", " ", "identity", "Identity, identity", ","])
def test_what_is_not_coded_needs_no_unpacker(header: str) -> None:
    assert names_in(header) == []
    body, unpacker = unpacked(header, PLAIN)
    assert body == PLAIN
    assert is_clean(unpacker)
    assert names_in("identity, br") == ["br"]


@every_coding
def test_no_body_at_all_is_no_fault(coding: str, pack: Pack) -> None:
    assert is_clean(unpacked(coding, b"")[1])
    body, unpacker = unpacked(coding, pack(b""))
    assert body == b""
    assert is_clean(unpacker)


def test_codings_inside_one_another_are_unpacked_in_turn() -> None:
    packed = gzip.compress(zlib.compress(gzip.compress(PAGE)))
    body, unpacker = unpacked("gzip, deflate, gzip", packed, chunk_bytes=5)
    assert body == PAGE
    assert is_clean(unpacker)
    assert unpacked("zstd, br", brotli.compress(zstd.compress(PAGE)))[0] == PAGE


def test_more_than_three_inside_one_another_are_left_alone() -> None:
    packed = PAGE
    for _ in range(4):
        packed = gzip.compress(packed)
    body, unpacker = unpacked("gzip, gzip, gzip, gzip", packed)
    assert body == packed
    assert unpacker.is_raw
    assert unpacker.fault == "4 codings inside one another are too many"


def test_a_packed_file_keeps_the_packing_that_is_its_own() -> None:
    sitemap = gzip.compress(b"<urlset/>")
    body, unpacker = unpacked("gzip", gzip.compress(sitemap))
    assert body == sitemap
    assert is_clean(unpacker)


# What is not.


@pytest.mark.parametrize("coding", ["gzip", "deflate", "br", "zstd"])
@pytest.mark.parametrize("plain", [PLAIN, b"OK", b"x", "Übergröße\n".encode() * 9, PICTURE])
@pytest.mark.parametrize("chunk_bytes", [1, MIB])
def test_a_plain_body_that_says_it_is_packed_is_kept(coding: str, plain: bytes, chunk_bytes: int) -> None:
    body, unpacker = unpacked(coding, plain, chunk_bytes=chunk_bytes)
    assert body == plain
    assert unpacker.is_raw
    assert unpacker.fault == f"says {coding} and is not"


def test_texts_are_not_taken_for_packed_ones() -> None:
    """brotli and raw deflate have no signature, and one text in ten gets through their libraries for a while."""
    chance = random.Random(3)
    words = [*PLAIN.decode().split(), "{", "}", "if", "der", "die", "1999", "(c)", "->", "Ä", "日本", "%", "\n", "\t"]
    for _ in range(500):
        text = " ".join(chance.choices(words, k=chance.randint(1, 300))).encode()
        for coding in ("br", "deflate"):
            assert unpacked(coding, text)[0] == text
    metadata_to_brotli = b', "' + b"x" * 297  # which it skips, and then there is nothing
    assert unpacked("br", metadata_to_brotli)[0] == metadata_to_brotli


def test_packed_once_and_said_twice_is_unpacked_once() -> None:
    body, unpacker = unpacked("gzip, gzip", gzip.compress(PAGE))
    assert body == PAGE
    assert unpacker.is_raw
    assert unpacker.fault == "says gzip and is not"


@pytest.mark.parametrize("codings", ["foo", "gzip, foo", "compress", "utf-8", "gzip;q=1", "\xe4\x00" * 500])
def test_a_coding_that_nobody_knows_is_stored_as_it_came(codings: str) -> None:
    packed = gzip.compress(PAGE)
    body, unpacker = unpacked(codings, packed)
    assert body == packed
    assert unpacker.is_raw
    assert unpacker.fault.endswith(" is not known")
    assert len(unpacker.fault) < 80


# What is broken.


@every_coding
def test_of_a_stream_cut_in_half_the_first_half_is_kept(coding: str, pack: Pack) -> None:
    text = random.Random(7).randbytes(400_000).hex().encode()
    packed = pack(text)
    body, unpacker = unpacked(coding, packed[: len(packed) // 2])
    assert text.startswith(body)
    assert len(body) > len(text) // 4
    assert unpacker.fault == f"{coding} stream is cut"
    assert not unpacker.is_raw


@every_coding
def test_of_a_stream_without_its_last_byte_all_is_kept_that_is_there(coding: str, pack: Pack) -> None:
    noise = random.Random(4).randbytes(50_000)
    body, unpacker = unpacked(coding, pack(noise)[:-1])
    assert noise.startswith(body)
    assert len(body) > 45_000 or coding == "zstd"  # which unpacks nothing before the end of a block
    assert unpacker.fault == f"{coding} stream is cut"


@pytest.mark.parametrize("chunk_bytes", [1, 100, MIB])
@pytest.mark.parametrize(
    ("coding", "pack", "from_the_end"),
    [
        ("gzip", gzip.compress, 8),
        ("gzip", gzip.compress, 4),
        ("deflate", zlib.compress, 4),
        ("zstd", zstd_with_checksum, 4),
    ],
)
def test_with_a_wrong_checksum_the_whole_body_is_kept(
    coding: str, pack: Pack, from_the_end: int, chunk_bytes: int
) -> None:
    packed = bytearray(pack(PAGE))
    packed[-from_the_end] ^= 1
    body, unpacker = unpacked(coding, bytes(packed), chunk_bytes=chunk_bytes)
    assert body == PAGE
    assert unpacker.fault == f"{coding} checksum is wrong"
    assert not unpacker.is_raw


@every_coding
def test_damage_on_the_way_leaves_what_came_before(coding: str, pack: Pack) -> None:
    noise = random.Random(5).randbytes(200_000).hex().encode()
    packed = bytearray(pack(noise))
    middle = len(packed) // 2
    packed[middle : middle + 200] = bytes(200)
    body, unpacker = unpacked(coding, bytes(packed))
    assert body[:130_000] == noise[:130_000]  # a block of zstd has 128 KiB
    assert not unpacker.is_raw
    if pack in (gzip.compress, zlib.compress, zstd_with_checksum):
        assert unpacker.fault.startswith(coding)


def test_an_outer_fault_is_named_as_the_cause() -> None:
    packed = gzip.compress(brotli.compress(PAGE))
    body, unpacker = unpacked("br, gzip", packed[:-20])
    assert PAGE.startswith(body)
    assert unpacker.fault == "gzip stream is cut"


# What comes after the end.


@every_coding
@pytest.mark.parametrize("garbage", [b"\n", b"\0" * 512, b"<!-- served in 3 ms -->", b"\xff" * 40_000])
@pytest.mark.parametrize("chunk_bytes", [1, 997, MIB])
def test_garbage_after_the_end_is_ignored(coding: str, pack: Pack, garbage: bytes, chunk_bytes: int) -> None:
    body, unpacker = unpacked(coding, pack(PAGE) + garbage, chunk_bytes=chunk_bytes)
    assert body == PAGE
    assert is_clean(unpacker)


@every_coding
def test_garbage_after_a_tiny_body_is_ignored(coding: str, pack: Pack) -> None:
    body, unpacker = unpacked(coding, pack(b"hello, hello") + b"\r\n")
    assert body == b"hello, hello"
    assert is_clean(unpacker)


def test_garbage_that_never_ends_is_not_read_for_ever() -> None:
    packed = iter([gzip.compress(PAGE), *[b"\0" * 16_384] * 1000])
    assert b"".join(Unpacker("gzip", MIB).unpack(packed)) == PAGE
    assert len(list(packed)) > 990


@pytest.mark.parametrize("chunk_bytes", [1, 1000, MIB])
@pytest.mark.parametrize(("coding", "pack"), [("gzip", gzip.compress), ("zstd", zstd.compress)])
def test_streams_one_after_the_other_are_one_body(coding: str, pack: Pack, chunk_bytes: int) -> None:
    packed = pack(PAGE[:100]) + pack(b"") + pack(PAGE[100:20_000]) + pack(PAGE[20_000:]) + b"garbage"
    body, unpacker = unpacked(coding, packed, chunk_bytes=chunk_bytes)
    assert body == PAGE
    assert is_clean(unpacker)


def test_zstd_frames_that_are_to_be_skipped_are() -> None:
    note = b"\x5a\x2a\x4d\x18" + struct.pack("<I", 5) + b"note!"
    body, unpacker = unpacked("zstd", note + zstd.compress(PAGE) + note + zstd.compress(PAGE), chunk_bytes=3)
    assert body == PAGE * 2
    assert is_clean(unpacker)


# The cap.


@every_coding
def test_a_body_of_exactly_the_cap_is_not_too_large(coding: str, pack: Pack) -> None:
    body, unpacker = unpacked(coding, pack(PAGE), bytes_max=len(PAGE))
    assert body == PAGE
    assert is_clean(unpacker)


@every_coding
def test_one_byte_more_is_and_the_body_ends_at_the_cap(coding: str, pack: Pack) -> None:
    body, unpacker = unpacked(coding, pack(PAGE), bytes_max=len(PAGE) - 1)
    assert body == PAGE[:-1]
    assert unpacker.is_too_large


def test_the_cap_holds_for_what_is_passed_on_as_it_came() -> None:
    for codings in ("foo", "gzip", ""):
        body, unpacker = unpacked(codings, PLAIN, bytes_max=100)
        assert body == PLAIN[:100]
        assert unpacker.is_too_large


def test_noise_that_packing_makes_longer_still_fits() -> None:
    noise = random.Random(6).randbytes(MIB)
    for coding, pack in PACKS:
        body, unpacker = unpacked(coding, pack(noise), bytes_max=MIB)
        assert body == noise
        assert is_clean(unpacker)


# Bombs. `within` holds them to little time and to little more memory than the body that may come out.


@contextmanager
def within(*, seconds: float, bytes_max: int) -> Iterator[None]:
    tracemalloc.start()
    started = time.process_time()
    try:
        yield
        took = time.process_time() - started
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < bytes_max
    assert took < seconds


def deflate_bomb(window_bits: int) -> bytes:
    """10 GiB of zeros: one block of them, again and again."""
    packer = zlib.compressobj(9, wbits=window_bits)
    head = packer.compress(b"\0" * MIB) + packer.flush(zlib.Z_FULL_FLUSH)
    block = packer.compress(b"\0" * MIB) + packer.flush(zlib.Z_FULL_FLUSH)
    return head + block * 10_239


def brotli_bomb() -> bytes:
    bomb = bytes(brotli.compress(b"\0" * (100 * MIB), quality=4, lgwin=24))
    assert len(bomb) < 200
    return bomb


def zstd_bomb() -> bytes:
    """10 GiB of zeros, by hand: a frame of blocks that say "128 KiB of this byte"."""
    block = struct.pack("<I", 128 * 1024 << 3 | 0b010)[:3] + b"\0"
    return b"\x28\xb5\x2f\xfd\x00\x38" + block * 81_920


BOMBS: dict[str, Callable[[], bytes]] = {
    "gzip": lambda: deflate_bomb(31),
    "deflate": lambda: deflate_bomb(15),
    "br": brotli_bomb,
    "zstd": zstd_bomb,
    "gzip, gzip": lambda: gzip.compress(deflate_bomb(31)),
    "zstd, br": lambda: fast_brotli(zstd_bomb()),
    "deflate, gzip, zstd": lambda: zstd.compress(gzip.compress(deflate_bomb(15))),
}


@pytest.mark.parametrize("codings", BOMBS)
@pytest.mark.parametrize("chunk_bytes", [16_384, MIB])
def test_a_bomb_ends_at_the_cap(codings: str, chunk_bytes: int) -> None:
    bomb = BOMBS[codings]()
    window_bytes = 17 * MIB if "br" in codings else 0  # the most that the format lets a stream ask for
    with within(seconds=5, bytes_max=7 * MIB + window_bytes):
        unpacker = Unpacker(codings, 4 * MIB)
        body = list(unpacker.unpack(bomb[at : at + chunk_bytes] for at in range(0, len(bomb), chunk_bytes)))
    assert unpacker.is_too_large
    assert sum(map(len, body)) == 4 * MIB


def test_a_zstd_frame_that_asks_for_a_huge_window_is_refused() -> None:
    frame = b"\x28\xb5\x2f\xfd\x00\xa8" + b"\x01\x00\x00"  # a window of 2 GiB for an empty block
    with within(seconds=1, bytes_max=MIB):
        body, unpacker = unpacked("zstd", frame)
    assert body == b""
    assert unpacker.fault == "zstd stream asks for too much memory"


NOTHING = {
    "gzip members": ("gzip", b"", gzip.compress(b"")),
    "gzip name": ("gzip", b"\x1f\x8b\x08\x08" + b"\0" * 6, b"a very long name"),
    "deflate blocks": ("deflate", b"", b"\x00\x00\x00\xff\xff"),
    "brotli metadata": ("br", b"\x0c", b"\x06"),
    "zstd frames": ("zstd", b"", zstd.compress(b"")),
    "zstd frames, each a fault unless it comes byte by byte": ("zstd", b"", bytes.fromhex("28b52ffd20b3010000")),
}


@pytest.mark.parametrize("layers", [1, 2])
@pytest.mark.parametrize("kind", NOTHING)
def test_a_stream_of_nothing_is_not_unpacked_for_ever(kind: str, layers: int) -> None:
    coding, start, more = NOTHING[kind]
    nothing = start + more * (8 * MIB // len(more))
    packed = nothing if layers == 1 else gzip.compress(nothing)
    unpacker = Unpacker(", ".join([coding, "gzip"][:layers]), 10 * MIB)
    with within(seconds=5, bytes_max=3 * MIB):
        body = b"".join(unpacker.unpack([packed]))
    assert unpacker.fault
    assert len(body) < MIB


def test_streams_one_after_the_other_are_not_unpacked_for_ever() -> None:
    body, unpacker = unpacked("gzip", gzip.compress(b"some bytes " * 10) * (STREAMS_MAX + 10), bytes_max=100 * MIB)
    assert len(body) == 110 * STREAMS_MAX
    assert unpacker.fault == "gzip streams are too many"


# Whatever comes.


@st.composite
def packed_bodies(draw: st.DrawFn) -> tuple[str, bytes]:
    """A body in up to three codings; perhaps cut, or with a wrong last byte, or with garbage behind it."""
    body = draw(st.binary(max_size=300)) * draw(st.sampled_from([1, 1, 50, 2000]))
    names = []
    for coding, pack in draw(st.lists(st.sampled_from(PACKS), min_size=1, max_size=3)):
        names.append(coding)
        body = pack(body)
    match draw(st.sampled_from(["whole", "cut", "checksum", "garbage"])):
        case "cut":
            body = body[: draw(st.integers(0, len(body)))]
        case "checksum":
            body = body[:-1] + bytes([body[-1] ^ 0x40])
        case "garbage":
            body += draw(st.binary(max_size=50))
    return ", ".join(names), body


def outcome(codings: str, chunks: list[bytes]) -> tuple[bytes, str, bool, bool]:
    unpacker = Unpacker(codings, 200_000)
    body = b"".join(unpacker.unpack(chunks))
    return body, unpacker.fault, unpacker.is_raw, unpacker.is_too_large


def chunks_of(packed: bytes, cuts: list[int]) -> list[bytes]:
    places = sorted({cut % (len(packed) + 1) for cut in cuts} | {0, len(packed)})
    return [packed[start:end] for start, end in pairwise(places)]


@settings(max_examples=150, deadline=None)
@given(packed_bodies(), st.lists(st.integers(0, 1_000_000), max_size=20))
def test_however_it_is_cut_into_chunks_the_result_is_the_same(packed: tuple[str, bytes], cuts: list[int]) -> None:
    codings, body = packed
    in_one = outcome(codings, [body])
    assert outcome(codings, chunks_of(body, cuts)) == in_one
    if len(body) < 2000:
        assert outcome(codings, [body[at : at + 1] for at in range(len(body))]) == in_one


@settings(max_examples=150, deadline=None)
@given(
    st.sampled_from(["gzip", "deflate", "br", "zstd", "gzip, br", "zstd, deflate, gzip"]),
    st.sampled_from([b"", b"\x1f\x8b\x08\x00", b"\x78\x9c", b"\x28\xb5\x2f\xfd", b"\x0b", b"\x1f\x8b\x08\xff"]),
    st.binary(max_size=5000),
    st.lists(st.integers(0, 5000), max_size=5),
)
@example("gzip", b"\x1f\x8b\x08\x2b", b"\xff" * 40, [20])
def test_garbage_is_borne(codings: str, start: bytes, garbage: bytes, cuts: list[int]) -> None:
    body, fault, is_raw, is_too_large = outcome(codings, chunks_of(start + garbage, cuts))
    assert len(body) <= 200_000
    if is_raw and "," not in codings and not is_too_large:
        assert body == start + garbage
        assert fault


@settings(max_examples=150, deadline=None)
@given(
    st.sampled_from(PACKS),
    st.lists(st.tuples(st.integers(0, 100_000), st.integers(0, 255)), min_size=1, max_size=10),
    st.lists(st.integers(0, 100_000), max_size=5),
)
def test_damage_is_borne(pack: tuple[str, Pack], damage: list[tuple[int, int]], cuts: list[int]) -> None:
    packed = bytearray(pack[1](PAGE[:20_000]))
    for at, value in damage:
        packed[at % len(packed)] = value
    body = outcome(pack[0], chunks_of(bytes(packed), cuts))[0]
    assert len(body) <= 200_000
