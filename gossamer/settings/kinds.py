"""Kinds of values: how each is written in the environment, in a flag or in a file, and what it may be."""

from __future__ import annotations

import ipaddress
import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

from msgspec import Meta

KIB, MIB, GIB = 1024, 1024**2, 1024**3
MINUTE_S, HOUR_S, DAY_S = 60.0, 3600.0, 86_400.0


# --- What a text means, in the environment, in a flag, or as a string in a file ---


def _measured(text: str, units: Mapping[str, float], examples: str) -> float:
    found = re.fullmatch(r"(\d+(?:\.\d+)?) ?([a-z]*)", text.strip().lower(), re.ASCII)
    if found is None or found[2] not in units or math.isinf(float(found[1])):
        raise ValueError(f"{text!r} is not like {examples}")
    return float(found[1]) * units[found[2]]


def seconds(text: str) -> float:
    units = {"": 1.0, "ms": 0.001, "s": 1.0, "m": MINUTE_S, "h": HOUR_S, "d": DAY_S}
    return _measured(text, units, "30, 500ms, 10m, 1.5h or 2d")


def size(text: str) -> int:
    units = {"": 1, "b": 1, "kib": KIB, "mib": MIB, "gib": GIB}
    return int(_measured(text, units, "1000, 512KiB, 10MiB or 1GiB"))


def _pattern(text: str) -> str:
    try:
        re.compile(text)
    except re.error as error:
        raise ValueError(f"{text!r} is not a regular expression: {error}") from None
    return text


def _address(text: str) -> str:
    return str(ipaddress.ip_address(text))


def _ca_file(text: str) -> str:
    """Found out at the start: later it would look as if no server could be trusted."""
    try:
        if text and "-----BEGIN CERTIFICATE-----" not in Path(text).read_text(encoding="ascii", errors="replace"):
            raise ValueError(f"{text} holds no certificate")
    except OSError as fault:
        raise ValueError(f"{text} cannot be read: {fault.strerror}") from None
    return text


def _webhook(text: str) -> str:
    """An address, or a file that holds one: whoever knows the address can write there."""
    try:
        address = text if not text or "://" in text else Path(text).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as fault:
        raise ValueError(f"{text} is no http(s) address, and no file that holds one ({fault})") from None
    if address and not re.match(r"https?://[^/\s]+", address):
        raise ValueError("not an http(s) address" if address == text else f"{text} holds no http(s) address")
    return text


def _server(text: str) -> str:
    with_port = re.fullmatch(r"\[(.+)\]:\d{1,5}|([^:]+):\d{1,5}", text, re.ASCII)
    _address((with_port[1] or with_port[2]) if with_port else text)
    return text


# --- The tree ---

Seconds = Annotated[float, Meta(extra={"read": seconds})]
Bytes = Annotated[int, Meta(extra={"read": size})]
Pattern = Annotated[str, Meta(extra={"read": _pattern, "wanted": "a regular expression"})]
Address = Annotated[str, Meta(extra={"read": _address, "wanted": "an IP address"})]
Server = Annotated[str, Meta(extra={"read": _server, "wanted": "an IP address, a.b.c.d:port or [v6]:port"})]
Webhook = Annotated[str, Meta(extra={"read": _webhook, "wanted": "an http(s) address, or a file that holds one"})]
CaFile = Annotated[str, Meta(extra={"read": _ca_file, "wanted": "a PEM file with certificates"})]
# What stands in a header can hold no line break; the contact stands between brackets there.
Header = Annotated[str, Meta(pattern=r"\A[ -~]*\Z", extra={"wanted": "printable ASCII"})]
_CONTACT = r"\A([!-'*-~]+@[!-'*-~]+|https?://[!-'*-~]+)?\Z"
Contact = Annotated[str, Meta(pattern=_CONTACT, extra={"wanted": "a mail address or an http(s) URL"})]
_MEDIA_TYPE = r"\A[a-z0-9.+-]+/(\*|[a-z0-9.+-]+)\Z"
MediaType = Annotated[str, Meta(pattern=_MEDIA_TYPE, extra={"wanted": "a media type such as text/html or text/*"})]
Scheme = Annotated[str, Meta(pattern=r"\A[a-z][a-z0-9+.-]*\Z", extra={"wanted": "a URL scheme in small letters"})]
# RFC 9309, section 2.2.1: the names that a robots.txt can address.
Product = Annotated[str, Meta(pattern=r"\A[A-Za-z_-]+\Z", extra={"wanted": "letters, - and _ only"})]

# The settings are written down in the crawl's folder, where secrets have no place: they come from the environment.
StoreOptions = Annotated[
    Mapping[Annotated[str, Meta(pattern=r"\A(?!.*(secret|token|password|key_id))[a-z0-9_]+\Z")], str],
    Meta(
        extra={"wanted": "a table of options in small letters; keys and secrets come from the environment (AWS_...)"}
    ),
]

StoreUrl = Annotated[
    str,
    Meta(
        pattern=r"\A(s3a?://[^@:/]+(/[^@]*)?)?\Z",
        extra={"wanted": "s3://bucket/prefix; keys and secrets come from the environment (AWS_...)"},
    ),
]

Servers = Annotated[
    str, Meta(pattern=r"\A([^\s,:@/]+:\d{1,5}(,[^\s,:@/]+:\d{1,5})*)?\Z", extra={"wanted": "host:port,host:port"})
]
ClusterName = Annotated[
    str, Meta(pattern=r"\A[a-z0-9][a-z0-9-]{0,60}\Z|\A\Z", extra={"wanted": "small letters, digits and -"})
]
ClientOptions = Annotated[
    Mapping[
        Annotated[str, Meta(pattern=r"\A(?!.*(secret|token|password|passphrase|username|key\.pem))[a-z0-9._]+\Z")],
        str,
    ],
    Meta(extra={"wanted": "a table of librdkafka's options; user and password come from the environment"}),
]
RedisUrl = Annotated[
    str,
    Meta(
        pattern=r"\A(rediss?://[^@:/]+(:\d{1,5})?(/\d+)?)?\Z",
        extra={"wanted": "redis://host:port/0 or rediss://...; the password comes from GOSSAMER_REDIS_PASSWORD"},
    ),
]
PostgresUrl = Annotated[
    str,
    Meta(
        pattern=r"\A(?!.*[?&](ssl)?password=)(postgres(ql)?://([^@:/]+@)?[^@:/]+(:\d{1,5})?/[^@:]+)?\Z",
        extra={"wanted": "postgresql://user@host:port/name; the password comes from GOSSAMER_POSTGRES_PASSWORD"},
    ),
]

Listen = Annotated[
    str, Meta(pattern=r"\A([^\s,@/]+:\d{1,5})?\Z", extra={"wanted": "host:port, such as 127.0.0.1:7400"})
]
Region = Annotated[
    str, Meta(pattern=r"\A[a-z0-9][a-z0-9-]{0,30}\Z|\A\Z", extra={"wanted": "small letters, digits and -"})
]

# One with a password stands in the environment or in a file, as all secrets do.
_PROXY = r"(https?|socks5h?)://[^\s,@/]+:\d{1,5}/?|environment|env:\w+|file:[^\s,]+"
Proxy = Annotated[
    str,
    Meta(
        pattern=rf"\A({_PROXY})\Z",
        extra={
            "wanted": "http://host:port, https://, socks5:// or socks5h://; with a password env:NAME or file:PATH, "
            "where all of it stands; or environment"
        },
    ),
]
PolicyProxy = Annotated[str, Meta(pattern=rf"\A({_PROXY}|direct)\Z", extra={"wanted": "the same, or direct"})]

Rate = Annotated[float, Meta(ge=0.001, le=10**6)]
ByteRate = Annotated[Bytes, Meta(ge=KIB, le=1024 * GIB)]
Wait = Annotated[Seconds, Meta(ge=0, le=30 * DAY_S)]
Rest = Annotated[Seconds, Meta(ge=0.1, le=365 * DAY_S)]
TimeLimit = Annotated[Seconds, Meta(ge=0.001, le=DAY_S)]
CrawlTime = Annotated[Seconds, Meta(ge=0.001, le=3650 * DAY_S)]
Count = Annotated[int, Meta(ge=1, le=10**15)]
Age = Annotated[Seconds, Meta(ge=0, le=36_500 * DAY_S)]
Depth = Annotated[int, Meta(ge=0, le=10**6)]


def about(meaning: str, *, ge: float | None = None, le: float | None = None) -> Meta:
    """A setting's one-line meaning, and the smallest and the largest value that make sense."""
    return Meta(description=meaning, ge=ge, le=le)
