from __future__ import annotations

from struct import pack

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.process.image import HEAD_BYTES, process
from gossamer.process.processor import Processor
from tests.process.documents import fetched

URL = "http://a.test/p"

PNG = b"\x89PNG\r\n\x1a\n" + pack(">I4sII", 13, b"IHDR", 640, 480)
GIF = b"GIF89a" + pack("<HH", 640, 480)
BMP = b"BM" + pack("<IHHII", 0, 0, 0, 54, 40) + pack("<ii", 640, -480)
OLD_BMP = b"BM" + pack("<IHHII", 0, 0, 0, 26, 12) + pack("<HH", 640, 480)
SOF = b"\xff\xc2" + pack(">HBHH", 17, 8, 480, 640)
JPEG = b"\xff\xd8\xff\xe0" + pack(">H", 16) + bytes(14) + b"\xff\xc4" + pack(">H", 4) + b"\xff\xc0" + b"\xff" + SOF
PHOTO = b"\xff\xd8" + (b"\xff\xe2" + pack(">H", 65_535) + bytes(65_533)) * 3 + SOF
WEBP = b"RIFF" + bytes(4) + b"WEBP"
LOSSY = WEBP + b"VP8 " + bytes(10) + pack("<HH", 640 | 1 << 14, 480)
LOSSLESS = WEBP + b"VP8L" + bytes(4) + b"\x2f" + pack("<I", 639 | 479 << 14)
EXTENDED = WEBP + b"VP8X" + bytes(8) + (639).to_bytes(3, "little") + (479).to_bytes(3, "little")


@pytest.mark.parametrize(
    ("body", "media_type"),
    [
        (PNG, "image/png"),
        (GIF, "image/gif"),
        (BMP, "image/bmp"),
        (OLD_BMP, "image/bmp"),
        (JPEG, "image/jpeg"),
        (PHOTO, "image/jpeg"),
        (LOSSY, "image/webp"),
        (LOSSLESS, "image/webp"),
        (EXTENDED, "image/webp"),
        (b'<svg width="640" height="480px"><circle/>', "image/svg+xml"),
        (b"<?xml?><!-- <svg> --><!DOCTYPE svg><s:svg viewBox='0,0 640 480' width='100%'/>", "image/svg+xml"),
    ],
)
async def test_format_and_size_are_in_the_header(body: bytes, media_type: str) -> None:
    page = await Processor().process(URL, fetched(body, "Content-Type: application/octet-stream"))
    assert (page.media_type, page.width, page.height, page.fault) == (media_type, 640, 480, "")


@pytest.mark.parametrize(
    "body",
    [
        PNG[:20],
        PNG[:16] + bytes(8),
        GIF[:8],
        JPEG[:30],
        b"\xff\xd8" + b"\xff\xe2\0\0" * (HEAD_BYTES // 4) + SOF,  # beyond the head
        WEBP + b"????" + bytes(20),
        b'<svg width="100%"/>',
        b'<svg width="1e999" viewBox="0 0 nan inf"/>',
        b"no picture",
    ],
)
def test_a_picture_that_does_not_say_its_size_has_a_fault(body: bytes) -> None:
    page = process(body, URL)
    assert (page.width, page.height) == (0, 0)
    assert page.fault == "the picture does not say how large it is"


@given(st.sampled_from([*(b"\x89PNG\r\n\x1a\n", b"GIF89a", b"\xff\xd8\xff", WEBP, b"BM"), b"<svg "]), st.binary())
def test_any_bytes_make_a_page(signature: bytes, rest: bytes) -> None:
    assert process(signature + rest, URL).url == URL
