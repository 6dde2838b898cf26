"""New sockets, and what the system would not give to libcurl (`gossamer/shortage.py`).

The number of a new descriptor is the lowest that is free, so it tells how many are in use: sockets leave the last
eighth alone, which is there for the stores, the archive, large bodies and the name servers. Those cannot wait for
better times as a request can.

A request that was written is the system's, and where the network is away the system sends it again and again, for a
quarter of an hour, also after we have given it up: the server would get it when the network is back, beside whatever
is asked then, perhaps by another node. So whatever we give up is taken back from it (`take_back`), and where we are
gone or frozen ourselves it gives up what nobody has acknowledged for `unheard_s`.
"""

from __future__ import annotations

import errno
import fcntl
import os
import socket
import struct
import sys
import termios
from contextlib import suppress

import pycurl

from gossamer.shortage import WORDS, files_max, no_memory

LINUX = sys.platform == "linux"
NOTHING_LEFT = struct.pack("ii", 1, 0)  # struct linger
NO_BYTES = bytes(4)  # that are not acknowledged


def open_socket(family: int, kind: int, protocol: int, unheard_s: float) -> socket.socket:
    """Raises OSError where too many files are open, or nearly."""
    opened = socket.socket(family, kind, protocol)
    if opened.type == socket.SOCK_STREAM and hasattr(socket, "TCP_USER_TIMEOUT"):  # `kind` has flags, too
        opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, round(unheard_s * 1e3))
    if opened.fileno() >= files_max() * 7 // 8:
        opened.close()
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
    return opened


def take_back(descriptor: int) -> None:
    """Nobody waits for this connection any more. What the server has not got yet it does not get: with bytes that
    were not acknowledged, closing the connection resets it."""
    with suppress(OSError):  # it is closed already
        if LINUX and fcntl.ioctl(descriptor, termios.TIOCOUTQ, NO_BYTES) != NO_BYTES:
            with socket.socket(fileno=os.dup(descriptor)) as opened:
                opened.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, NOTHING_LEFT)


def fault_of(curl: pycurl.Curl, fault: pycurl.error, address: str, *, is_cut_by_us: bool) -> OSError | None:
    """What the system would not give to libcurl; None: it failed for another reason."""
    code = fault.args[0]
    # pycurl had no memory for what it hands to us: any other end of that kind has a reason of ours.
    if code == pycurl.E_OUT_OF_MEMORY or (code == pycurl.E_WRITE_ERROR and not is_cut_by_us):
        return no_memory()
    if code == pycurl.E_SSL_CACERT_BADFILE:  # it could be read when we started
        return OSError(errno.EMFILE, os.strerror(errno.EMFILE))
    number = curl.getinfo(pycurl.OS_ERRNO) if code == pycurl.E_COULDNT_CONNECT else 0
    if number == errno.EADDRNOTAVAIL and ":" in address:
        return None  # this machine has no address of IPv6 that leads there
    return OSError(number, os.strerror(number)) if number in WORDS else None
