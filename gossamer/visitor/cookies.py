"""Cookies: what a site gave us to bring back, and to which of its URLs. Pure functions; RFC 6265 and its revision.

A jar is all cookies of one site (registrable domain by the public suffix list), because only there can they go: a
cookie is for the host that set it, or with Domain for that host's site or a part of it, and never for a public
suffix. What a server says wrongly is left out, as browsers do: Secure from http, Domain elsewhere, names that promise
what does not hold (`__Host-`, `__Secure-`), what cannot stand in a header.

A jar is bounded in number and bytes, whatever a server sends: the oldest go first. A cookie without an end is kept
for as long as the crawl is, and no cookie for more than 400 days.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, datetime

import msgspec

from gossamer.records import Url
from gossamer.url.site import clock_name, host_of, is_address, site_of

COOKIE_BYTES_MAX = 4096  # of a name and a value
COOKIES_MAX = 50  # of a host
JAR_COOKIES_MAX = 150  # of a site
JAR_BYTES_MAX = 32 << 10
SENT_BYTES_MAX = 8 << 10  # in one request: servers take no more of all headers
AGE_S_MAX = 400 * 86_400.0

_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_VALUE = re.compile(r"[ !#-+\--:<-\[\]-~\"]*")  # no control characters, `;`, `,` or backslash; nothing but ASCII
_TIME = re.compile(r"(\d{1,2}):(\d{1,2}):(\d{1,2})")
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")


class Cookie(msgspec.Struct, frozen=True, array_like=True, gc=False):
    name: str
    value: str
    host: str  # whose it is; with `is_for_below` also that of all names below
    path: str
    is_for_below: bool = False
    is_secure: bool = False  # for https only
    set_at: float = 0.0
    ends_at: float | None = None  # None: with the crawl

    @property
    def bytes(self) -> int:
        return len(self.name) + len(self.value)

    def goes_to(self, url: Url, host: str, path: str, now: float) -> bool:
        return (
            (self.ends_at is None or self.ends_at > now)
            and (host == self.host or (self.is_for_below and is_below(host, self.host)))
            and (not self.is_secure or url.startswith("https:"))
            and (path == self.path or path.startswith(self.path if self.path.endswith("/") else f"{self.path}/"))
        )


Jar = tuple[Cookie, ...]  # the oldest first


def is_below(host: str, domain: str) -> bool:
    return host.endswith(f".{domain}") and not is_address(host)


def jar_name(url: Url) -> str:
    """Whose jar a URL's cookies are in."""
    return site_of(clock_name(host_of(url)))


def sent_to(jar: Jar, url: Url, now: float) -> str:
    """What stands in the header Cookie; empty: nothing goes there. Longer paths first, then the oldest."""
    host, path = clock_name(host_of(url)), path_of(url)
    chosen = sorted(
        (cookie for cookie in jar if cookie.goes_to(url, host, path, now)), key=lambda cookie: -len(cookie.path)
    )
    pairs, room = [], SENT_BYTES_MAX
    for cookie in chosen:
        room -= cookie.bytes + 3
        if room >= 0:
            pairs.append(f"{cookie.name}={cookie.value}" if cookie.name else cookie.value)
    return "; ".join(pairs)


def with_answer(jar: Jar, head: bytes, url: Url, now: float) -> Jar:
    """The jar after an answer. The very same object where it changes nothing that matters."""
    lines = [line for line in head.split(b"\n") if line[:11].lower() == b"set-cookie:"]
    if not lines:
        return jar
    kept = {(cookie.name, cookie.host, cookie.path): cookie for cookie in jar}
    has_changed = False
    for line in lines:
        found = cookie_in(line[11:].decode("latin-1").strip(), url, now)
        if found is None:
            continue
        key = (found.name, found.host, found.path)
        before = kept.get(key)
        if found.ends_at is not None and found.ends_at <= now:
            has_changed |= kept.pop(key, None) is not None
        elif before is None or is_news(before, found, now):
            kept[key] = found if before is None else msgspec.structs.replace(found, set_at=before.set_at)
            has_changed = True
    return bounded(kept.values(), now) if has_changed else jar


def is_news(before: Cookie, cookie: Cookie, now: float) -> bool:
    """Else it is the same for a little longer, as many servers say with every page."""
    if (before.value, before.is_for_below, before.is_secure) != (cookie.value, cookie.is_for_below, cookie.is_secure):
        return True
    if before.ends_at is None or cookie.ends_at is None:
        return before.ends_at != cookie.ends_at
    return abs(cookie.ends_at - before.ends_at) > 0.25 * (before.ends_at - now)


def bounded(cookies: Iterable[Cookie], now: float) -> Jar:
    """What is over goes first, then the oldest of a host that has too many, then the oldest of all."""
    alive = [cookie for cookie in cookies if cookie.ends_at is None or cookie.ends_at > now]
    oldest_first = sorted(alive, key=lambda cookie: cookie.set_at)
    kept: list[Cookie] = []
    of_host: dict[str, int] = {}
    room = JAR_BYTES_MAX
    for cookie in reversed(oldest_first):
        of_host[cookie.host] = of_host.get(cookie.host, 0) + 1
        room -= cookie.bytes
        if of_host[cookie.host] <= COOKIES_MAX and room >= 0 and len(kept) < JAR_COOKIES_MAX:
            kept.append(cookie)
    return tuple(reversed(kept))


def cookie_in(text: str, url: Url, now: float) -> Cookie | None:
    """One value of Set-Cookie, where it may be kept."""
    pair, *attributes = text.split(";")
    name, equals, value = pair.partition("=")
    name, value = (name.strip(), value.strip()) if equals else ("", name.strip())
    said = {key.strip().lower(): value.strip() for key, _, value in (each.partition("=") for each in attributes)}
    host, is_https = clock_name(host_of(url)), url.startswith("https:")
    domain = said.get("domain", "").lower().removeprefix(".")
    path = said.get("path", "")
    if (
        len(name) + len(value) > COOKIE_BYTES_MAX
        or not (name or value)
        or not (_VALUE.fullmatch(value) and (_NAME.fullmatch(name) or not name))
        or ("secure" in said and not is_https)
        or (domain and not may_set(host, domain))
        or (name.lower().startswith("__secure-") and "secure" not in said)
        or (name.lower().startswith("__host-") and ("secure" not in said or domain or path != "/"))
    ):
        return None
    return Cookie(
        name,
        value,
        host=domain or host,
        path=path if path.startswith("/") else path_of(url).rpartition("/")[0] or "/",
        is_for_below=bool(domain) and not is_address(host),
        is_secure="secure" in said,
        set_at=now,
        ends_at=end_of(said, now),
    )


def may_set(host: str, domain: str) -> bool:
    """A host sets cookies for itself and for what it lies in, up to its site."""
    if host == domain:
        return True
    return is_below(host, domain) and site_of(domain) == site_of(host)


def end_of(said: dict[str, str], now: float) -> float | None:
    """Max-Age goes before Expires; what cannot be read is as if it had not been said."""
    if re.fullmatch(r"-?\d{1,15}", said.get("max-age", "")):
        return now + min(float(said["max-age"]), AGE_S_MAX)
    if "expires" in said and (at := date_in(said["expires"])) is not None:
        return min(at, now + AGE_S_MAX)
    return None


def date_in(text: str) -> float | None:
    """A date as servers write them, in the order that RFC 6265 5.1.1 gives: the first word that can be a part is."""
    day = month = year = None
    time = _TIME.search(text)
    for word in re.findall(r"[A-Za-z]+|\d+", text.replace(time[0], " ") if time else text):
        if month is None and word[:3].lower() in _MONTHS:
            month = _MONTHS.index(word[:3].lower()) + 1
        elif day is None and word.isdecimal() and len(word) <= 2:
            day = int(word)
        elif year is None and word.isdecimal() and len(word) in (2, 4):
            year = int(word)
    if not time or day is None or month is None or year is None:
        return None
    if year < 100:
        year += 1900 if year >= 70 else 2000
    try:
        hour, minute, second = map(int, time.groups())
        return datetime(year, month, day, hour, minute, second, tzinfo=UTC).timestamp()
    except ValueError:
        return None


def path_of(url: Url) -> str:
    return f"/{url.split('/', 3)[3].partition('?')[0]}"
