"""The limits that the hostile servers meet: short, so that each of them is over soon."""

from __future__ import annotations

from msgspec.structs import replace

from gossamer.settings import FetchSettings
from gossamer.settings.kinds import KIB

BODY_BYTES_MAX = 64 * KIB

LIMITS = FetchSettings(
    connect_timeout_s=0.5,
    first_byte_timeout_s=1.0,
    timeout_s=3.0,
    slow_bytes_per_s=100,
    slow_s=1.0,
    body_bytes_max=BODY_BYTES_MAX,
    header_bytes_max=64 * KIB,
)
# For many at once, server and client in one process: what is slow then is not the server's doing.
PATIENT = replace(LIMITS, connect_timeout_s=1.5, first_byte_timeout_s=2.5, timeout_s=5.0)
# A whole transfer takes at most timeout_s; the rest is for a machine that has other things to do.
PATIENCE_S = LIMITS.timeout_s + 2.0
