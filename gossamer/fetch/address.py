"""Which addresses are the public internet: the check that keeps the crawler from being sent inside (I6)."""

from __future__ import annotations

import ipaddress
from functools import lru_cache


@lru_cache(4096)
def is_forbidden(ip: str) -> bool:
    """Not an address of the public internet: private, loopback, link-local, multicast, metadata, reserved."""
    try:
        address = ipaddress.ip_address(ip.partition("%")[0])
    except ValueError:
        return True
    if isinstance(address, ipaddress.IPv6Address):
        inner = address.ipv4_mapped or address.sixtofour or (address.teredo[1] if address.teredo else None)
        if inner is not None:
            address = inner
    return not address.is_global or address.is_multicast


@lru_cache(4096)
def is_literal(host: str) -> bool:
    try:
        ipaddress.ip_address(host.strip("[]"))
    except ValueError:
        return False
    return True
