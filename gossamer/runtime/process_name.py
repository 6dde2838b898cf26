"""What a process is called in `ps` and `top`, which would show all of ours as python."""

from __future__ import annotations

import ctypes
from contextlib import suppress

NAME_BYTES_MAX = 15
PR_SET_NAME = 15  # <linux/prctl.h>


def name_process(name: str) -> None:
    """On Linux; elsewhere it keeps its name."""
    with suppress(AttributeError, OSError):
        ctypes.CDLL(None).prctl(PR_SET_NAME, name.encode()[:NAME_BYTES_MAX], 0, 0, 0)
