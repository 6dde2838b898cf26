"""Decoders: one stream of packed bytes in the hands of its library, piece by piece; and what such bytes look like.

Each library is asked for a bounded piece until it has no more to give, which they tell in three different ways. isal
unpacks gzip and deflate in 40 % of zlib's time, and is less exact about the last bytes before a cut or a fault, where
what it gives depends on how the bytes came in. So it does the work, and zlib has the last word where something is
wrong: a `Kind` has a fast decoder and an exact one.

gzip and zstd have a signature, and zlib's header is as good as one. brotli and raw deflate begin with just any
bytes, so that it takes a trial to tell them from a page that was never packed.
"""

from __future__ import annotations

import re
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from types import ModuleType
from typing import NamedTuple, Protocol

import brotli
from isal import isal_zlib

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

PIECE_BYTES = 64 * 1024  # unpacked at a time
HEAD_BYTES = 1024  # for a trial; what is not packed breaks long before

GZIP = b"\x1f\x8b\x08"
ZSTD = re.compile(rb"\x28\xb5\x2f\xfd|[\x50-\x5f]\x2a\x4d\x18")  # RFC 8878 3.1: a frame, or one to be skipped
ZSTD_OPTIONS: dict[int, int] = {zstd.DecompressionParameter.window_log_max: 23}  # RFC 9659: 8 MiB and no more
NOT_TEXT = re.compile(rb"[\x00-\x08\x0b\x0e-\x1a\x1c-\x1f]")  # the "binary data bytes" of mimesniff.spec.whatwg.org

ISAL_ERROR: type[Exception] = isal_zlib.error  # type: ignore[assignment]  # its stub has the class as an instance
ERRORS = (ISAL_ERROR, zlib.error, brotli.error, zstd.ZstdError)
WRONG_CHECKSUM = re.compile("checksum|data check|length check")  # in the words of the libraries


Packed = bytes | memoryview


class Decoder(Protocol):
    def unpack(self, packed: Packed) -> Iterator[bytes]:
        """Raises one of `ERRORS`."""
        ...

    @property
    def is_ended(self) -> bool: ...
    @property
    def rest(self) -> bytes:
        """What came after the end."""
        ...


class Inflate:
    """gzip, zlib and raw deflate, told apart by the window bits as zlib has them, with isal or with zlib itself."""

    def __init__(self, library: ModuleType, window_bits: int) -> None:
        self._stream = library.decompressobj(window_bits)

    def unpack(self, packed: Packed) -> Iterator[bytes]:
        stream = self._stream
        while True:
            # Not while there is an unconsumed tail: isal reads ahead, and can have more to give without one.
            piece = stream.decompress(packed, PIECE_BYTES)
            yield piece
            if stream.eof or len(piece) < PIECE_BYTES:
                return
            packed = stream.unconsumed_tail

    @property
    def is_ended(self) -> bool:
        return bool(self._stream.eof)

    @property
    def rest(self) -> bytes:
        return bytes(self._stream.unused_data)


class Brotli:
    rest = b""  # anything after the end is a fault to brotli

    def __init__(self) -> None:
        self._stream = brotli.Decompressor()

    def unpack(self, packed: Packed) -> Iterator[bytes]:
        # Only whole blocks count for this limit, and each is twice the one before: 1 stops at the first, of 32 KiB.
        # can_accept_more_data() is no help here: it tells of the input, and may be true while there is more output.
        piece = self._stream.process(packed, output_buffer_limit=1)
        while piece:
            yield piece
            piece = self._stream.process(b"", output_buffer_limit=1)

    @property
    def is_ended(self) -> bool:
        return bool(self._stream.is_finished())


class Zstd:
    def __init__(self) -> None:
        self._stream = zstd.ZstdDecompressor(options=ZSTD_OPTIONS)

    def unpack(self, packed: Packed) -> Iterator[bytes]:
        stream = self._stream
        while True:
            yield stream.decompress(packed, PIECE_BYTES)
            if stream.eof or stream.needs_input:
                return
            packed = b""

    @property
    def is_ended(self) -> bool:
        return self._stream.eof

    @property
    def rest(self) -> bytes:
        return self._stream.unused_data


class Kind(NamedTuple):
    """What a stream turned out to be."""

    fast: Callable[[], Decoder]
    exact: Callable[[], Decoder]


class Coding(NamedTuple):
    """What a server says that it sends."""

    kind_of: Callable[[bytes], Kind | None]  # by its first bytes; None: it is not what it says
    head_bytes: int  # how many of them it takes
    has_many_streams: bool = False


def inflate(window_bits: int) -> Kind:
    return Kind(partial(Inflate, isal_zlib, window_bits), partial(Inflate, zlib, window_bits))


KIND_GZIP, KIND_ZLIB, KIND_RAW_DEFLATE = inflate(31), inflate(15), inflate(-15)
KIND_BROTLI, KIND_ZSTD = Kind(Brotli, Brotli), Kind(Zstd, Zstd)


def gzip_kind(head: bytes) -> Kind | None:
    return KIND_GZIP if head.startswith(GZIP) else None


def deflate_kind(head: bytes) -> Kind | None:
    """With the zlib header that RFC 9110 8.4.1.2 asks for, or without, as many servers send it."""
    if has_zlib_header(head):
        return KIND_ZLIB
    return KIND_RAW_DEFLATE if is_packed(head, KIND_RAW_DEFLATE) else None


def brotli_kind(head: bytes) -> Kind | None:
    return KIND_BROTLI if is_packed(head, KIND_BROTLI) else None


def zstd_kind(head: bytes) -> Kind | None:
    return KIND_ZSTD if ZSTD.match(head) else None


CODINGS = {
    "gzip": Coding(gzip_kind, head_bytes=3, has_many_streams=True),
    "deflate": Coding(deflate_kind, HEAD_BYTES),
    "br": Coding(brotli_kind, HEAD_BYTES),
    "zstd": Coding(zstd_kind, head_bytes=4, has_many_streams=True),
}


def has_zlib_header(head: bytes) -> bool:
    """RFC 1950 2.2: deflate, a window of at most 32 KiB, no dictionary, and a check over these bits."""
    if len(head) < 2:
        return False
    method, flags = head[0], head[1]
    return method & 0x0F == 8 and method >> 4 <= 7 and not flags & 0x20 and (method << 8 | flags) % 31 == 0


def is_packed(head: bytes, kind: Kind) -> bool:
    head = head[:HEAD_BYTES]
    # In one go, which is fast. If that fails, byte by byte: a short stream may have ended before the fault.
    return unpacks(head, kind.fast(), (head[:-1], head[-1:])) or unpacks(head, kind.exact(), single_bytes(head))


def unpacks(head: bytes, decoder: Decoder, steps: Iterable[bytes]) -> bool:
    """Nearly all that is not packed breaks within a few bytes; one text in ten does not. There it counts that packed
    bytes do not read as text, except in streams so short that they are whole."""
    is_text = NOT_TEXT.search(head) is None
    made = 0
    try:
        for step in steps:
            if decoder.is_ended:
                break
            for piece in decoder.unpack(step):
                made += len(piece)
                if made > PIECE_BYTES:
                    return True
        else:
            if decoder.is_ended:  # with its very last byte
                return made > 0 or not is_text or len(head) == 1  # b";" is how brotli packs nothing
    except ERRORS:
        return False
    return not is_text and (made > 0 or len(head) == HEAD_BYTES)


def single_bytes(packed: bytes) -> Iterator[bytes]:
    return (packed[at : at + 1] for at in range(len(packed)))


def words(error: Exception) -> str:
    """What a library says, as the end of a sentence that begins with the name of the coding."""
    text = str(error).lower()
    if WRONG_CHECKSUM.search(text):
        return "checksum is wrong"
    if "too much memory" in text:
        return "stream asks for too much memory"
    return "stream is damaged"
