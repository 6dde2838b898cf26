"""Which encoding a body is in that declares none and is not UTF-8, and which one a label means.

Such pages are few, old, and mostly in an encoding of their country. chardet tells it from a sample, with a choice of
the encodings that browsers know and that still occur (docs/decisions/0036). With less than a few words to go by, it
is windows-1252, which is what browsers take. Cost: about 1 ms, and only here; the first such page of a process loads
chardet's tables, 95 ms and 35 MB.

The labels are those of the Encoding standard, as webencodings has them, and three that pages write all the same.
"""

from __future__ import annotations

import re

import webencodings
from webencodings.labels import LABELS

JUDGED_BYTES = 16_384
HIGH_BYTES_MIN = 6  # with fewer there is nothing to judge by
DEFAULT = "cp1252"
ENCODINGS = (
    *("cp1250", "cp1251", "cp1252", "cp1253", "cp1254", "cp1255", "cp1256", "cp1257", "cp866", "cp874"),
    *("iso8859-2", "iso8859-5", "iso8859-7", "koi8-u", "cp932", "euc-jp", "cp949", "gb18030", "big5hkscs"),
)

_HIGH = re.compile(rb"[\x80-\xff]")
_TAG = re.compile(rb"<[^<>]*>")
JAPANESE_IN_ASCII = "iso2022_jp"
_ESCAPES_OF_JAPANESE = (b"\x1b$B", b"\x1b$@", b"\x1b(J")


def is_japanese_in_ascii(body: bytes) -> bool:
    """ISO-2022-JP writes Japanese in bytes that are ASCII, after an escape that nothing else has."""
    return body.isascii() and any(escape in body for escape in _ESCAPES_OF_JAPANESE)


def detect(body: bytes) -> str:
    """The codec of a body that is not UTF-8."""
    sample = _sample(body)
    if len(_HIGH.findall(sample)) < HIGH_BYTES_MIN:
        return DEFAULT
    import chardet  # noqa: PLC0415 - 95 ms, and few crawls meet such a page

    return chardet.detect(sample, include_encodings=ENCODINGS, compat_names=False)["encoding"] or DEFAULT


def _sample(body: bytes) -> bytes:
    """From where the first byte outside of ASCII is; without tags, whose ASCII says nothing."""
    first = _HIGH.search(body)
    start = max(0, first.start() - 100) if first else 0
    return _TAG.sub(b" ", body[start : start + JUDGED_BYTES])


def _codec(name: str) -> str:
    if name == "gbk":
        return "gb18030"  # as the standard decodes it, and Python's gbk does not
    codec = webencodings.lookup(name)
    assert codec is not None
    return str(codec.codec_info.name)


_MEANING_NOTHING = {"replacement", "x-user-defined"}
_CODECS = {name: _codec(name) for name in {*LABELS.values()} - _MEANING_NOTHING}
# Python's codec for each label. "cp1252" for iso-8859-1 and its friends is the standard's choice.
CODEC_OF_LABEL = {label: _CODECS[name] for label, name in LABELS.items() if name not in _MEANING_NOTHING}
CODEC_OF_LABEL |= {"latin-1": "cp1252", "latin-9": "iso8859-15", "latin9": "iso8859-15"}
