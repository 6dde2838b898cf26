"""Headers: one of an answer, whether its value can be sent back, and those that only some requests have."""

from __future__ import annotations

import re
from functools import lru_cache

import msgspec


@lru_cache(256)  # a user's program asks for any
def _line_of(name: str) -> bytes:
    return b"\n" + name.lower().encode("ascii") + b":"


def header_in(head: bytes, name: str) -> str | None:
    wanted = _line_of(name)
    start = head.lower().rfind(wanted)
    if start < 0:
        return None
    end = head.find(b"\n", start + 1)
    return head[start + len(wanted) : end if end >= 0 else None].strip().decode("latin-1")


# RFC 9110 5.5: no control character goes back to a server; and many refuse headers of more than 4 to 8 KB.
_SENDABLE = re.compile(r"[\t\x20-\x7e\x80-\xff]{1,1000}")


def is_sendable(value: str) -> bool:
    """Whether a header's value can be sent back in a later request."""
    return _SENDABLE.fullmatch(value) is not None


class ExtraHeaders(msgspec.Struct, frozen=True, gc=False):
    """Lines of a request that only some have. What the hidden ones say is sent, and written down nowhere."""

    shown: tuple[bytes, ...] = ()
    hidden: tuple[bytes, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.shown or self.hidden)

    def __repr__(self) -> str:
        return f"ExtraHeaders({self.shown!r}, {len(self.hidden)} hidden)"
