"""Ports that no web server has and where a request does harm: a mail server reads its lines as commands.

The list is that of browsers (WHATWG Fetch, "bad port"). A page can hold a link to any port of anybody, so a crawler
that follows it would talk HTTP to mail servers, printers and name servers in the name of whoever wrote the page.
"""

from __future__ import annotations

from gossamer.records import Url

# fmt: off
BAD_PORTS = frozenset({
    0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102, 103,
    104, 109, 110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 465, 512, 513, 514,
    515, 526, 530, 531, 532, 540, 548, 554, 556, 563, 587, 601, 636, 989, 990, 993, 995, 1719, 1720, 1723,
    2049, 3659, 4045, 4190, 5060, 5061, 6000, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080,
})
# fmt: on


def has_bad_port(url: Url) -> bool:
    """Of a canonical URL, or of an origin. The scheme's own port is not written in them: ftp may use 21."""
    port = url.split("/", 3)[2].rpartition("]")[2].partition(":")[2]
    return bool(port) and int(port) in BAD_PORTS
