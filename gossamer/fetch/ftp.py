"""FTP: a file is a page, a folder is a page of links to what it lists. Anonymous and passive, one transfer a turn.

It is also the example of a protocol that is one file, and one line in protocols.py. A folder's listing becomes HTML,
so that processing needs to know nothing of FTP. There is no redirect, no header and no media type: what the content
is, its own bytes tell.
"""

from __future__ import annotations

from html import escape
from urllib.parse import quote

import msgspec

from gossamer.fetch.http import exchange_of
from gossamer.fetch.transfer import Received, Transfers
from gossamer.headers import ExtraHeaders
from gossamer.records import Answer, Failed, Fetched, Reason, Url, Validators
from gossamer.url.media_types import MediaTypes

# Statuses are HTTP's everywhere else, so they are here.
STATUSES = {None: 200, Reason.GONE: 404, Reason.CLIENT_ERROR: 403}


class Ftp:
    """The module for `ftp`."""

    def __init__(self, transfers: Transfers) -> None:
        self._transfers = transfers

    async def fetch(
        self,
        url: Url,
        validators: Validators | None = None,
        *,
        body_bytes_max: int | None = None,
        wanted: MediaTypes | None = None,
        extra: ExtraHeaders | None = None,
    ) -> Answer:
        received = await self._transfers.perform(url, body_bytes_max=body_bytes_max)
        if not isinstance(received, Received):
            return received
        status = STATUSES.get(received.reason)
        if status is None:
            return Failed(received.reason or Reason.BROKEN_ANSWER, None, received.detail, received.ended_at)
        exchange = exchange_of(msgspec.structs.replace(received, status=status), b"")
        if received.reason is not None:
            return Failed(received.reason, exchange, received.detail, received.ended_at)
        body = page_of(received.body[:]) if url.endswith("/") else received.body
        return Fetched(exchange, body)


def page_of(listing: bytes) -> bytes:
    """A folder as HTML. A line is `drwxr-xr-x 2 owner group 4096 Jan 1 12:00 name`, as servers of Unix give it."""
    items = []
    for line in listing.decode("utf-8", "replace").splitlines():
        fields = line.split(maxsplit=8)
        if len(fields) < 9 or fields[8] in (".", ".."):
            continue
        name = fields[8].partition(" -> ")[0] if line.startswith("l") else fields[8]
        href = quote(name) + ("/" if line.startswith("d") else "")
        items.append(f'<li><a href="./{href}">{escape(name)}</a>')
    return f"<!doctype html><title>Folder</title><ul>{''.join(items)}</ul>".encode()
