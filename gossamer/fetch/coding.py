"""Content codings: what a server packed is unpacked here, piece by piece, and never beyond a cap.

libcurl could do this, and does not do it well enough for a crawler: ours lacks zstd, and it throws a page away when
the last four bytes of its gzip stream are wrong. The web is full of such streams, so the policy here is to keep
what can be kept and to say what was wrong (`fault`):

    says gzip and is not           passed on as it came, `is_raw`
    a coding that nobody knows     the same
    cut, or damaged on the way     what was unpacked up to there
    a wrong checksum at the end    the whole body
    garbage after the end          ignored, and no fault

The result does not depend on how the bytes are cut into chunks, but for some bytes next to real damage.

Codings can lie inside one another. Each is a `Layer`, a generator over the pieces of the one around it, so that a
piece is unpacked only when somebody asks for it: of a bomb each layer holds one piece at a time (`PIECE_BYTES`),
until the cap is reached and nobody asks any more. Between two pieces, empty ones among them, little work is done, so
that whoever asks can do something else in between (unpacking.py). No exception of a library leaves this file.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gossamer.fetch.decoder import CODINGS, ERRORS, HEAD_BYTES, Kind, Packed, words

ACCEPT_ENCODING = "gzip, deflate, br, zstd"

LAYERS_MAX = 3  # one is usual, two happen by mistake
SLICE_BYTES = 16 * 1024  # given to a library at a time
SALVAGE_BYTES = (SLICE_BYTES, 256, 1)  # ever smaller steps towards a fault: 300 calls, and not 16,000 of one byte
STREAMS_MAX = 10_000  # one after the other; each costs up to 20 µs to begin, however little it holds
# A coding makes things smaller. One that eats more than twice what it gives, and this on top, wants our time.
WASTE_BYTES = 256 * 1024
KEPT_BYTES_MAX = 1024 * 1024  # of an inner layer's input, to look for the very byte of a fault


def names_in(codings: str) -> list[str]:
    """In the order in which they were applied: the last one has to be removed first."""
    names = (name.strip().lower() for name in codings.split(","))
    return ["gzip" if name == "x-gzip" else name for name in names if name not in ("", "identity")]


class Unpacker:
    """One body."""

    def __init__(self, codings: str, bytes_max: int) -> None:
        names = names_in(codings)
        unknown = [name for name in names if name not in CODINGS]
        self._refusal = ""
        if unknown:
            self._refusal = f"coding {unknown[0][:40]} is not known"
        elif len(names) > LAYERS_MAX:
            self._refusal = f"{len(names)} codings inside one another are too many"
        self._layers = [] if self._refusal else [Layer(name) for name in reversed(names)]
        if self._layers:
            self._layers[0].kept_bytes_max = None  # what comes in is kept by whoever gives it
        self._room = bytes_max
        self.is_too_large = False

    def __repr__(self) -> str:
        names = ", ".join(layer.name for layer in self._layers)
        return f"Unpacker({names!r}, room={self._room}, is_too_large={self.is_too_large}, fault={self.fault!r})"

    @property
    def fault(self) -> str:
        """What was wrong, in words; empty where nothing was. An outer fault is the cause of those within."""
        return self._refusal or next((layer.fault for layer in self._layers if layer.fault), "")

    @property
    def is_raw(self) -> bool:
        """A coding was left as it is, because nobody knows it or because it was never there."""
        return bool(self._refusal) or any(layer.is_raw for layer in self._layers)

    def unpack(self, packed: Iterable[Packed]) -> Iterator[Packed]:
        """The body, in pieces. Where it `is_too_large` it has ended at exactly the cap."""
        pieces = iter(packed)
        for layer in self._layers:
            pieces = layer.unpack(pieces)
        for piece in pieces:
            if len(piece) > self._room:
                self.is_too_large = True
                yield piece[: self._room]
                return
            self._room -= len(piece)
            yield piece


class Layer:
    """One coding: its streams, one after the other, and what went wrong with them."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.kept_bytes_max: int | None = KEPT_BYTES_MAX
        self.fault = ""
        self.is_raw = False
        self._is_over = False
        self._coding = CODINGS[name]
        self._head = b""  # too short yet to tell what begins here
        self._stream: Stream | None = None
        self._streams = 0
        self._eaten = 0
        self._made = 0

    def unpack(self, pieces: Iterable[Packed]) -> Iterator[Packed]:
        for piece in pieces:
            for packed in slices(piece, SLICE_BYTES):
                yield from self._take(packed)
                if self._is_over:
                    return  # and ask the layer around this one for nothing more
            yield b""  # also where nothing came out of it
        head, self._head = self._head, b""
        yield from self._take(head, is_last=True)
        if self._stream is not None:
            yield from self._stream.cut()
            self._stop(self._stream.fault)

    def _take(self, packed: Packed, is_last: bool = False) -> Iterator[Packed]:
        while packed and not self._is_over:
            if self._stream is None and not self.is_raw:
                if self._head:
                    packed, self._head = self._head + packed, b""
                if len(packed) < self._coding.head_bytes and not is_last:
                    self._head = bytes(packed)
                    return
                self._begin(bytes(packed[:HEAD_BYTES]))
            if self._stream is not None:
                for piece in self._stream.unpack(packed):
                    self._made += len(piece)
                    yield piece
                packed = self._after(self._stream, packed)
            elif self.is_raw:
                yield packed
                return

    def _begin(self, head: bytes) -> None:
        kind = self._coding.kind_of(head)
        self._streams += 1
        if self._streams > STREAMS_MAX:
            self._stop("streams are too many")
        elif kind is not None:
            self._stream = Stream(kind, self.kept_bytes_max)
        elif self._streams == 1:
            self.is_raw = True
            self.fault = f"says {self.name} and is not"
        else:
            self._stop("")  # garbage after the end

    def _after(self, stream: Stream, packed: Packed) -> bytes:
        """What of these bytes is still to be unpacked, because it lies behind the end of the stream."""
        self._eaten += len(packed) - len(stream.rest)
        if stream.is_over:
            self._stream = None
            if stream.fault or not self._coding.has_many_streams:
                self._stop(stream.fault)
        if self._eaten > 2 * self._made + WASTE_BYTES:
            self._stop("stream holds next to nothing")
        return stream.rest

    def _stop(self, fault: str) -> None:
        self.fault = f"{self.name} {fault}" if fault else ""
        self._is_over = True
        self._stream = None


class Stream:
    """From a first byte to an end or a fault.

    A library that meets a fault raises, and what it had unpacked in that call is gone. So the packed bytes are kept
    while the stream lasts, and after a fault all is unpacked once more, by the exact decoder and up to the very byte.
    Where they are more than may be kept, the body ends before the slice with the fault.
    """

    def __init__(self, kind: Kind, kept_bytes_max: int | None) -> None:
        self._kind = kind
        self._decoder = kind.fast()
        self._kept: list[Packed] | None = []
        self._kept_room = kept_bytes_max
        self._made = 0
        self.is_over = False
        self.fault = ""
        self.rest = b""  # what came after the end

    def unpack(self, packed: Packed) -> Iterator[bytes]:
        self._keep(packed)
        try:
            for piece in self._decoder.unpack(packed):
                self._made += len(piece)
                yield piece
        except ERRORS as error:
            if self._kept is None:
                self.is_over, self.fault = True, words(error)
            else:
                yield from self._salvage(self._kept)
            return
        if self._decoder.is_ended:
            self.is_over = True
            self.rest = self._decoder.rest

    def cut(self) -> Iterator[bytes]:
        """Nothing more comes."""
        if self._kept is not None:
            yield from self._salvage(self._kept)
        if not self.is_over:
            self.is_over = True
            self.fault = "stream is cut"

    def _keep(self, packed: Packed) -> None:
        if self._kept is None:
            return
        self._kept.append(packed)
        if self._kept_room is not None:
            self._kept_room -= len(packed)
            if self._kept_room < 0:
                self._kept = None

    def _salvage(self, kept: list[Packed]) -> Iterator[bytes]:
        """All once more, in ever finer steps where it breaks, until the very byte; only what is new is passed on.

        The fault is noted when it is reached, not before: by then a layer within may have had enough."""
        steps = kept
        at = len(steps) - 1
        for step_bytes in SALVAGE_BYTES:
            steps = [*steps[:at], *slices(steps[at], step_bytes)]
            decoder = self._kind.exact()
            known = self._made
            try:
                for at, packed in enumerate(steps):
                    for piece in decoder.unpack(packed):
                        fresh = piece[known:]
                        known = max(0, known - len(piece))
                        self._made += len(fresh)
                        yield fresh
                    if decoder.is_ended:
                        # What broke it was garbage after the end: brotli makes no difference between the two.
                        self.is_over = True
                        self.rest = decoder.rest + b"".join(steps[at + 1 :])
                        return
            except ERRORS as error:
                fault = words(error)
            else:
                self._decoder = decoder  # which finds nothing wrong, and knows better
                return
        self.is_over = True
        self.fault = fault


def slices(packed: Packed, size: int) -> Iterable[Packed]:
    if len(packed) <= size:
        return (packed,)
    return (packed[start : start + size] for start in range(0, len(packed), size))
