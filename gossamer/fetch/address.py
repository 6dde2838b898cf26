"""Which addresses are the public internet: the check that keeps the crawler from being sent inside (I6).

The table is our own, so that the answer is the same with every version of Python. It follows IANA's registries of
special-purpose addresses and errs towards refusing: a range that no web server has is refused as a whole, also where
a few of its addresses are reachable. Of IPv6 only what IANA has given out for the internet (2000::/3) is public; that
leaves out ::/96, ::ffff:0:0:0/96, 64:ff9b::/96 and 64:ff9b:1::/48, where an IPv4 address hides in the last bits
and a translator on the way would lead to it, and fec0::/10, fc00::/7, fe80::/10, ff00::/8 and 5f00::/16.
"""

from __future__ import annotations

import ipaddress
from functools import lru_cache

NOT_PUBLIC_4 = tuple(
    map(
        ipaddress.IPv4Network,
        (
            "0.0.0.0/8",  # this network
            "10.0.0.0/8",  # private
            "100.64.0.0/10",  # behind the NAT of a provider
            "127.0.0.0/8",  # loopback
            "169.254.0.0/16",  # link-local, and where clouds keep their metadata
            "172.16.0.0/12",  # private
            "192.0.0.0/24",  # protocols of the IETF
            "192.0.2.0/24",  # documentation
            "192.88.99.0/24",  # relays of 6to4
            "192.168.0.0/16",  # private
            "198.18.0.0/15",  # benchmarks
            "198.51.100.0/24",  # documentation
            "203.0.113.0/24",  # documentation
            "224.0.0.0/4",  # multicast
            "240.0.0.0/4",  # reserved, and broadcast
        ),
    )
)
PUBLIC_6 = ipaddress.IPv6Network("2000::/3")
NOT_PUBLIC_6 = tuple(
    map(
        ipaddress.IPv6Network,
        (
            "2001::/23",  # protocols of the IETF: Teredo, which holds two IPv4 addresses, benchmarks, ORCHID
            "2001:db8::/32",  # documentation
            "2002::/16",  # 6to4, which holds an IPv4 address
            "3fff::/20",  # documentation
        ),
    )
)


@lru_cache(4096)
def is_forbidden(ip: str) -> bool:
    """Not an address of the public internet: private, loopback, link-local, multicast, metadata, reserved."""
    try:
        address = ipaddress.ip_address(ip.partition("%")[0])
    except ValueError:
        return True
    if isinstance(address, ipaddress.IPv6Address):
        if address.ipv4_mapped is None:
            return address not in PUBLIC_6 or any(address in network for network in NOT_PUBLIC_6)
        address = address.ipv4_mapped  # the system connects to it by IPv4
    return any(address in network for network in NOT_PUBLIC_4)


@lru_cache(4096)
def paced_as(ip: str) -> str:
    """One text for one address, however a URL or a name server writes it."""
    try:
        address = ipaddress.ip_address(ip.strip("[]").partition("%")[0])
    except ValueError:
        return ip
    inner = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return str(inner or address)


@lru_cache(4096)
def is_literal(host: str) -> bool:
    try:
        ipaddress.ip_address(host.strip("[]"))
    except ValueError:
        return False
    return True
