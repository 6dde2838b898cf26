"""What somebody names, in the crawl's own words: a URL, a host, a moment. What is none of these is None, or a 400."""

from __future__ import annotations

from datetime import datetime

from gossamer.api.route import NoAnswer
from gossamer.records import Reason, Url
from gossamer.text import EXPLAINED
from gossamer.url.canonical import canonicalize
from gossamer.url.site import host_of, is_address
from gossamer.url.typed import PRIORITIES, NotASeed, url_in

VALUE_CHARACTERS = 1000  # of what was given, in an answer that says what was wrong with it


def canonical(text: str, entry: str = "url", status: int = 404) -> Url:
    """Under a text that is no URL nothing can be found."""
    try:
        return url_in(text)
    except NotASeed:
        detail = f"{entry}: {EXPLAINED[Reason.NOT_A_URL]}"
        raise NoAnswer(status, Reason.NOT_A_URL, detail, entry=entry, value=text[:VALUE_CHARACTERS]) from None


def host_named(name: str) -> str | None:
    """As it stands in records: in small letters and ASCII, an address without brackets. None: no host is named so."""
    bare = name.removeprefix("[").removesuffix("]")
    url = None
    if ":" in name:
        url = canonicalize(f"http://[{bare}]/") if is_address(bare) else None  # a name with a port is no host
    elif name.isprintable() and not set(name) & set("/?#@\\[] "):
        url = canonicalize(f"http://{name}/")
    return host_of(url) if url is not None else None


def must_be_host(name: str) -> str:
    host = host_named(name)
    if host is None:
        raise NoAnswer(404, Reason.NOT_A_URL, "not the name of a host", value=name[:VALUE_CHARACTERS])
    return host


def priority_of(given: float | str | None) -> float | None:
    return PRIORITIES[given] if isinstance(given, str) else given


def moment_named(text: str | None, entry: str) -> float | None:
    """Seconds since the epoch."""
    if text is None:
        return None
    try:
        moment = datetime.fromisoformat(text.upper())  # RFC 3339 has small letters too
        if moment.tzinfo is None:
            raise ValueError("it has no time zone")
        return moment.timestamp()
    except (ValueError, OverflowError) as fault:
        raise NoAnswer(400, "bad_request", f"{entry}: not a moment: {fault}", entry=entry, value=text) from None
