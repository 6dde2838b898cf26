"""Which country an address is in, by a file that the operator gives.

A line has a network and a country (`1.0.0.0/24,AU`), or the first and the last address of a range and a country
(`1.0.0.0,1.0.0.255,AU`), as the usual lists have them. Quotes and further columns are passed over, and so are lines
that begin with no address. Held as two sorted arrays of numbers: 16 bytes a range of IPv4, and one look-up is a
bisection.
"""

from __future__ import annotations

import ipaddress
from bisect import bisect_right
from collections.abc import Iterable
from pathlib import Path

from gossamer.config import UsageError


class Countries:
    def __init__(self, lines: Iterable[str]) -> None:
        ranges: dict[int, list[tuple[int, int, str]]] = {4: [], 6: []}
        for line in lines:
            found = range_in(line)
            if found is not None:
                ranges[found[0]].append(found[1:])
        self._starts: dict[int, list[int]] = {}
        self._rest: dict[int, list[tuple[int, str]]] = {}
        for version, each in ranges.items():
            each.sort()
            self._starts[version] = [start for start, _, _ in each]
            self._rest[version] = [(end, country) for _, end, country in each]

    @classmethod
    def read(cls, path: Path) -> Countries:
        try:
            with path.open(encoding="utf-8", errors="replace") as lines:
                countries = cls(lines)
        except OSError as fault:
            raise UsageError(f"fetchers.country_file: {path} cannot be read: {fault.strerror}") from None
        if not any(countries._starts.values()):
            raise UsageError(f"fetchers.country_file: {path} has no line of NETWORK,COUNTRY or FIRST,LAST,COUNTRY")
        return countries

    def of(self, ip: str) -> str:
        """Empty: the file does not know it."""
        try:
            address = ipaddress.ip_address(ip.strip("[]").partition("%")[0])
        except ValueError:
            return ""
        place = bisect_right(self._starts[address.version], int(address)) - 1
        if place < 0:
            return ""
        end, country = self._rest[address.version][place]
        return country if int(address) <= end else ""


def range_in(line: str) -> tuple[int, int, int, str] | None:
    """Version, first and last address as numbers, country; None: a line that tells nothing."""
    words = [word.strip().strip('"') for word in line.split(",")]
    try:
        if "/" in words[0]:
            network = ipaddress.ip_network(words[0], strict=False)
            return network.version, int(network[0]), int(network[-1]), words[1].upper()
        first, last = ipaddress.ip_address(words[0]), ipaddress.ip_address(words[1])
        return first.version, int(first), int(last), words[2].upper()
    except (ValueError, IndexError):
        return None
