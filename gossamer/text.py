"""Figures and reasons in words: how the terminal, the reports and later the dashboard write them."""

from __future__ import annotations

import difflib
import re
import sys
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path

from gossamer.records import Reason

# How this very program can be called again: installed, or from a checkout.
COMMAND = "gossamer" if Path(sys.argv[0]).name == "gossamer" else "./run"

# Titles, details and lines of robots.txt come from servers, and a terminal obeys what it is sent: control characters,
# line separators, and those that turn the direction of writing.
_COMMANDS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")

EXPLAINED = {
    Reason.NOT_A_URL: "not a URL that can be crawled (http or https with a host)",
    Reason.SCOPE: "outside the crawl's scope: its host is not a seed's (see --scope)",
    Reason.EXCLUDED: "matches an --exclude pattern",
    Reason.NOT_INCLUDED: "matches none of the --include patterns",
    Reason.MEDIA_TYPE: "its media type is not among crawl.media_types",
    Reason.OWN_FILTER: "a filter of the program that crawls does not want it",
    Reason.NOFOLLOW: "only linked with rel=nofollow",
    Reason.MAX_DEPTH: "farther from a seed than --max-depth",
    Reason.URL_TOO_LONG: "a trap: longer than traps.url_bytes_max",
    Reason.SCHEME: "its scheme is no longer crawled (fetch.schemes); it comes back with the scheme",
    Reason.BAD_PORT: "a port that belongs to mail, printers and the like, which browsers refuse, too",
    Reason.TRAP_PATH_DEPTH: "a trap: its path is deeper than traps.path_depth_max",
    Reason.TRAP_REPEATED_PATH: "a trap: parts of its path repeat",
    Reason.TRAP_PARAMETERS: "a trap: too many query parameters",
    Reason.TRAP_CALENDAR: "a trap: a calendar page far from today",
    Reason.TRAP_PATTERN: "a trap: pages with addresses of this pattern turned out alike (traps.pattern_pages)",
    Reason.TRAP_HOST: "a trap: its host has many pages, and other sites do not link to it (traps.host_pages)",
    Reason.TOO_MANY_REDIRECTS: "more than five redirects in a row",
    Reason.QUEUE_FULL: "the queue of its host or of the crawl is full, and this URL had the lowest priority",
    Reason.BLOCKED: "its host or site is blocked by a policy",
    Reason.HOST_BUDGET: "its host has used up its budget of pages",
    Reason.SITE_BUDGET: "its site has used up its budget of pages",
    Reason.CRAWL_DELAY_TOO_LONG: "robots.txt asks for a Crawl-delay above robots.crawl_delay_s_max",
    Reason.HOST_DOWN: "its host failed too often in a row and rests (frontier.host_failures_max, frontier.rests_s)",
    Reason.ORIGIN_DOWN: "nobody answers at its scheme and port, which rest; the others of its host go on",
    Reason.ROBOTS: "robots.txt disallows it",
    Reason.ROBOTS_UNREACHABLE: "robots.txt could not be fetched, so nothing of its origin may be fetched for now",
    Reason.PRIVATE_ADDRESS: "a private or local address (see --allow-private)",
    Reason.DNS: "its name could not be resolved",
    Reason.CONNECT: "no connection to its server",
    Reason.TLS: "the secure connection failed",
    Reason.TIMEOUT: "no complete answer in time",
    Reason.TOO_SLOW: "the answer came too slowly",
    Reason.TOO_LARGE: "its headers are larger than fetch.header_bytes_max",
    Reason.BROKEN_ANSWER: "the answer was not proper HTTP, or broke off",
    Reason.STALE_CONNECTION: "the server closed a kept connection just when it was used again",
    Reason.GONE: "not there (404 or 410)",
    Reason.CLIENT_ERROR: "the server refuses it (4xx)",
    Reason.SERVER_ERROR: "the server failed (5xx)",
    Reason.OVERLOADED: "the server is overloaded or asks for less (429 or 503)",
    Reason.BAD_REDIRECT: "a redirect that leads nowhere",
    Reason.REDIRECT_LOOP: "its redirects lead back to where they came from",
    Reason.KILLS_WORKER: "its worker died on it again and again",
    Reason.UNREADABLE: "fetched and stored, but its content could not be read",
    Reason.CONFIGURED: "the configured delay",
    Reason.CRAWL_DELAY: "Crawl-delay in robots.txt",
    Reason.LATENCY: "its answers are slow",
    Reason.ASKED_BY_SERVER: "Retry-After",
    Reason.BACK_OFF: "it was overloaded",
    Reason.IP_PACE: "other hosts at its address are being asked",
    Reason.CRAWL_PACE: "the whole crawl has a limit (politeness.requests_per_s, politeness.bytes_per_s)",
    Reason.POLICY: "a policy",
    Reason.NO_ROOM: "our disk had no room for what it sent",
    Reason.NO_RESOURCES: "this machine was out of open files, memory or ports; its server is not to blame",
    Reason.OWNERSHIP: "this node was not sure that the host is still its own",
    Reason.NO_FETCHER: "no fetcher is there that may ask",
    Reason.FETCHER_LOST: "its fetcher was not heard of again; it is asked once more",
    Reason.LOGIN: "a login comes first, or did not succeed",
    Reason.PROXY: "its proxy is away, or does not let us through; its server is not to blame",
    Reason.COOKIE: "the server has set a cookie and wants to be asked once more, with it",
}

_NAMED = r"((?:secret|password|passphrase|access_key|key_id|key\.pem|session_token)\w*[\"']?\s*[=:]\s*)"
_SECRETS = (
    (re.compile(r"(s3a?:/+)\S*@"), r"\1...@"),  # a secret key may have a slash in it; of two, a path keeps one
    (re.compile(r"(\w:/+)[^/\s@]*@"), r"\1...@"),
    (re.compile(_NAMED + r"\"(?:[^\"\\]|\\.)*\""), r'\1"..."'),  # quoted: with all that is between the quotes
    (re.compile(_NAMED + r"([\"']?)[^\s,\"'}]+"), r"\1\2..."),
)

# Something went wrong, here or there. All others are decisions: of robots.txt, a filter, a bound or a person.
TROUBLES = frozenset(
    {
        *(Reason.ROBOTS_UNREACHABLE, Reason.HOST_DOWN, Reason.ORIGIN_DOWN),
        *(Reason.DNS, Reason.CONNECT, Reason.TLS, Reason.TIMEOUT),
        *(Reason.TOO_SLOW, Reason.TOO_LARGE, Reason.BROKEN_ANSWER, Reason.STALE_CONNECTION, Reason.GONE),
        *(Reason.CLIENT_ERROR, Reason.SERVER_ERROR, Reason.OVERLOADED, Reason.BAD_REDIRECT, Reason.REDIRECT_LOOP),
        *(Reason.TOO_MANY_REDIRECTS, Reason.KILLS_WORKER, Reason.UNREADABLE, Reason.NO_ROOM, Reason.NO_RESOURCES),
        Reason.PROXY,
    }
)


def explained(word: str) -> str:
    return EXPLAINED[Reason(word)] if word else "no answer so far"


def size(count: float) -> str:
    for unit in ("B", "kB", "MB", "GB"):
        if count < 1000:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:.1f} TB"


def span(seconds: float) -> str:
    seconds = max(0.0, seconds)
    if seconds < 10:
        return f"{seconds:.1f} s"
    whole = int(seconds)
    if whole < 120:
        return f"{whole} s"
    if whole < 7200:
        return f"{whole // 60} min {whole % 60:02d} s"
    if whole < 2 * 86400:
        return f"{whole // 3600} h {whole % 3600 // 60:02d} min"
    return f"{whole // 86400} days"


def moment(at: float | None) -> str | None:
    """ISO 8601 in UTC, to the millisecond."""
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z") if at else None


def time_of_day(at: float, now: float) -> str:
    """A moment as a clock on the wall tells it: with seconds where it is near, with the day where it is not today."""
    then, today = datetime.fromtimestamp(at), datetime.fromtimestamp(now)
    if abs(at - now) < 600:
        return f"{then:%H:%M:%S}"
    return f"{then:%H:%M}" if then.date() == today.date() else f"{then:%d %b %H:%M}"


def counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}" + ("" if count == 1 else "s")


def printable(text: str) -> str:
    """For a terminal: nothing in it is a command. Lines and tabs stay."""
    return _COMMANDS.sub(lambda found: f"\\x{ord(found[0]):02x}", text)


def without_secrets(text: str) -> str:
    """What was typed, for a message or a log: keys in a URL or an option are left out."""
    for secret, instead in _SECRETS:
        text = secret.sub(instead, text)
    return text


def meant(word: str, known: Iterable[str]) -> str:
    """A question to put into a complaint about a word that nobody knows; empty where nothing is like it."""
    close = difflib.get_close_matches(word, list(known), n=1, cutoff=0.7)
    return f"did you mean {close[0]}? " if close else ""
