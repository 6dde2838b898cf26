"""Configuration: one frozen, typed tree, and where each of its values came from.

The tree reads as the documentation: every setting has its type, bounds, default and meaning in one place, and
one name everywhere: `body_bytes_max` under `[fetch]` in a file, `GOSSAMER_FETCH_BODY_BYTES_MAX` in the
environment, `fetch.body_bytes_max` in messages and in `gossamer config`. It is filled in layers, the later
one winning:

    built-in defaults < the crawl folder's gossamer.toml < the file of --config < environment < flags

Nothing else in the package reads a configuration file or the environment. Each part of the program is handed
its own section when it is built (`Fetcher(..., tree.fetch)`), so no value changes under a running crawl. An
unknown key or a bad value stops the start with a message that says which, where, and what would be right: a
misspelt limit that is silently ignored is found out by somebody else's server.

The crawl's folder keeps the whole tree that was in force, so that a resumed crawl goes on as it began even
when a later version has other defaults.
"""

from __future__ import annotations

import difflib
import ipaddress
import itertools
import json
import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Literal, NamedTuple

import msgspec
from msgspec import Meta, Struct, inspect

FILE_NAME = "gossamer.toml"
KIB, MIB, GIB = 1024, 1024**2, 1024**3
MINUTE_S, HOUR_S, DAY_S = 60.0, 3600.0, 86_400.0


class ConfigError(Exception):
    """The start stops here. The text is for the person who wrote the setting, and needs no traceback."""


# --- What a text means, in the environment, in a flag, or as a string in a file ---


def _measured(text: str, units: Mapping[str, float], examples: str) -> float:
    found = re.fullmatch(r"(\d+(?:\.\d+)?) ?([a-z]*)", text.strip().lower(), re.ASCII)
    if found is None or found[2] not in units:
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
# What stands in a header can hold no line break; the contact stands between brackets there.
Header = Annotated[str, Meta(pattern=r"\A[ -~]*\Z", extra={"wanted": "printable ASCII"})]
Contact = Annotated[
    str,
    Meta(
        pattern=r"\A([!-'*-~]+@[!-'*-~]+|https?://[!-'*-~]+)?\Z",
        extra={"wanted": "a mail address or an http(s) URL"},
    ),
]
# RFC 9309, section 2.2.1: the names that a robots.txt can address.
Product = Annotated[str, Meta(pattern=r"\A[A-Za-z_-]+\Z", extra={"wanted": "letters, - and _ only"})]

# Every limit has an upper bound: infinity is a number too, and nobody means it.
Wait = Annotated[Seconds, Meta(ge=0, le=30 * DAY_S)]
TimeLimit = Annotated[Seconds, Meta(ge=0.001, le=DAY_S)]
CrawlTime = Annotated[Seconds, Meta(ge=0.001, le=3650 * DAY_S)]
Count = Annotated[int, Meta(ge=1, le=10**15)]
Depth = Annotated[int, Meta(ge=0, le=10**6)]

RETRIES_S = (10 * MINUTE_S, 30 * MINUTE_S, 2 * HOUR_S)


def about(meaning: str, *, ge: float | None = None, le: float | None = None) -> Meta:
    """A setting's one-line meaning, and the smallest and the largest value that make sense."""
    return Meta(description=meaning, ge=ge, le=le)


class CrawlSettings(Struct, frozen=True, kw_only=True):
    """What belongs to this crawl, and when it ends."""

    partitions: Annotated[int, about("parts of its state; fixed once it is created", ge=1, le=4096)] = 8
    scope: Annotated[Literal["host", "site", "any"], about("how far from the seeds links lead")] = "host"
    include: Annotated[tuple[Pattern, ...], about("only URLs where one of these is found; []: all")] = ()
    exclude: Annotated[tuple[Pattern, ...], about("no URLs where one of these is found")] = ()
    max_pages: Annotated[Count | None, about("the crawl ends after so many pages")] = None
    max_depth: Annotated[Depth | None, about("most links away from a seed")] = None
    max_time_s: Annotated[CrawlTime | None, about("the crawl ends after so long")] = None
    contact: Annotated[Contact, about("whom to write to about this crawl; sent as User-Agent")] = ""
    user_agent_token: Annotated[Product, about("our name, in User-Agent and robots.txt")] = "gossamer"
    allow_private: Annotated[bool, about("also go to loopback, private and link-local addresses")] = False
    commit_s: Annotated[Seconds, about("pages are gathered so long, then stored", ge=0.01, le=10)] = 0.2
    workers: Annotated[int, about("worker processes; 0: one a core", ge=0, le=1024)] = 0
    disk_free_bytes_min: Annotated[Bytes, about("with less room the crawl pauses", ge=0, le=1024 * GIB)] = GIB


class PolitenessSettings(Struct, frozen=True, kw_only=True):
    """How long a host is left alone after an answer ended."""

    delay_s: Annotated[Wait, about("shortest delay")] = 1.0
    delay_s_max: Annotated[Wait, about("longest delay for a host that answers slowly")] = 300.0
    latency_factor: Annotated[float, about("delay for each second of response time", ge=0, le=1000)] = 2.0
    back_off_s_max: Annotated[Wait, about("longest delay for a host that is overloaded")] = HOUR_S
    ip_requests_per_s: Annotated[float, about("to one address, all its hosts together", ge=0.001, le=10**6)] = 10.0
    ip_burst: Annotated[int, about("requests to a rested address before that holds", ge=1, le=10**6)] = 20


class FetchSettings(Struct, frozen=True, kw_only=True):
    """Limits of one transfer, so that no server holds us for ever or fills the disk."""

    connect_timeout_s: Annotated[TimeLimit, about("longest time until the connection stands")] = 10.0
    timeout_s: Annotated[TimeLimit, about("longest time until the answer is complete")] = 60.0
    slow_bytes_per_s: Annotated[int, about("slowest transfer that is borne ...", ge=0, le=GIB)] = 100
    slow_s: Annotated[Seconds, about("... for longer than this", ge=1, le=DAY_S)] = 20.0
    body_bytes_max: Annotated[Bytes, about("largest body, packed or unpacked", ge=1, le=GIB)] = 10 * MIB
    header_bytes_max: Annotated[Bytes, about("all headers of an answer", ge=KIB, le=16 * MIB)] = 256 * KIB
    in_flight_max: Annotated[int, about("transfers at once in a worker", ge=1, le=65_536)] = 512
    accept_language: Annotated[Header, about("the languages that are asked for")] = "en;q=0.9, *;q=0.5"


class FrontierSettings(Struct, frozen=True, kw_only=True):
    """The queues of a partition."""

    active_hosts_max: Annotated[int, about("hosts in memory at once", ge=1, le=10**7)] = 10_000
    lease_s: Annotated[Seconds, about("a URL handed out comes back after this", ge=1, le=DAY_S)] = 600.0
    retries_s: Annotated[tuple[Wait, ...], about("waits before a failed page's further tries")] = RETRIES_S
    kills_max: Annotated[int, about("workers a URL may kill before quarantine", ge=1, le=100)] = 3
    host_share: Annotated[int, about("fetches before a host gives way to hosts that wait", ge=1, le=10**6)] = 25
    host_pages_max: Annotated[Count | None, about("pages a host may have in all")] = None
    site_pages_max: Annotated[Count | None, about("pages a site may have in all")] = None
    host_queue_max: Annotated[int, about("URLs queued a host; the least are dropped", ge=1, le=10**12)] = 10_000_000
    authority_weight: Annotated[float, about("of a host's in-links, in a URL's priority", ge=0, le=1)] = 0.4
    freshness_weight: Annotated[float, about("of the need of a new copy", ge=0, le=1)] = 0.3
    context_weight: Annotated[float, about("of the link that led there", ge=0, le=1)] = 0.3
    waiting_a_day: Annotated[float, about("added to the priority of what waits", ge=0, le=1)] = 0.01
    seen: Annotated[Literal["exact", "fast"], about("fast may skip a new URL by mistake")] = "exact"
    seen_urls: Annotated[int, about("URLs that the first filter is made for; it grows", ge=1000, le=10**10)] = (
        1_000_000
    )
    seen_mistakes: Annotated[float, about("share of new URLs that the filter takes for known", ge=1e-6, le=0.1)] = (
        0.01
    )


class RobotsSettings(Struct, frozen=True, kw_only=True):
    """Copies of robots.txt. RFC 9309 sets the greatest age (24 hours) and the least size (500 KiB)."""

    age_s_max: Annotated[Seconds, about("an older copy is fetched again", ge=0, le=DAY_S)] = DAY_S
    body_bytes_max: Annotated[Bytes, about("how much is read", ge=500 * KIB, le=64 * MIB)] = 512 * KIB
    redirects_max: Annotated[int, about("redirects that are followed", ge=0, le=20)] = 5
    retry_s: Annotated[tuple[Wait, ...], about("waits while it has no answer, until given up")] = RETRIES_S


class TrapsSettings(Struct, frozen=True, kw_only=True):
    """Where a URL stops looking like one that a person would make."""

    path_depth_max: Annotated[int, about("most parts in a path", ge=1, le=1000)] = 16
    url_bytes_max: Annotated[Bytes, about("longest URL", ge=32, le=64 * KIB)] = 2048
    parameters_max: Annotated[int, about("most parameters in a query", ge=0, le=1000)] = 8
    repeats_max: Annotated[int, about("most times that one part is in a path", ge=1, le=1000)] = 2


class DnsSettings(Struct, frozen=True, kw_only=True):
    """Names to addresses, and how long an answer is kept."""

    ttl_s_min: Annotated[Wait, about("an answer is kept at least so long")] = MINUTE_S
    ttl_s_max: Annotated[Wait, about("an answer is kept at most so long")] = HOUR_S
    servers: Annotated[tuple[Server, ...], about("name servers to ask; []: the system's")] = ()
    overrides: Annotated[Mapping[str, Address], about("addresses of names that are not asked for")] = {}


class ArchiveSettings(Struct, frozen=True, kw_only=True):
    """The files that pages are stored in."""

    file_bytes_max: Annotated[Bytes, about("a file is closed at this size", ge=MIB, le=1024 * GIB)] = GIB


class Tree(Struct, frozen=True, kw_only=True):
    """The whole configuration; `Tree()` is the built-in defaults."""

    crawl: CrawlSettings = CrawlSettings()
    politeness: PolitenessSettings = PolitenessSettings()
    fetch: FetchSettings = FetchSettings()
    frontier: FrontierSettings = FrontierSettings()
    robots: RobotsSettings = RobotsSettings()
    traps: TrapsSettings = TrapsSettings()
    dns: DnsSettings = DnsSettings()
    archive: ArchiveSettings = ArchiveSettings()


# The first may not be above the second. A lease that ends before its fetch would let a host be asked twice
# at once.
ORDERED = (
    ("dns.ttl_s_min", "dns.ttl_s_max"),
    ("fetch.timeout_s", "frontier.lease_s"),
)


# --- One setting: its key, its meaning, what it may be ---


def _fields(struct: type[Struct]) -> tuple[inspect.Field, ...]:
    shape = inspect.type_info(struct)
    assert isinstance(shape, inspect.StructType)
    return shape.fields


SECTIONS: dict[str, type[Struct]] = {field.name: type(field.default) for field in _fields(Tree)}
SETTINGS: dict[str, inspect.Type] = {
    f"{section}.{field.name}": field.type for section, shape in SECTIONS.items() for field in _fields(shape)
}


def flag_name(key: str) -> str:
    """`--max-pages` for `crawl.max_pages`, `--delay` for `politeness.delay_s`."""
    return "--" + key.rpartition(".")[2].removesuffix("_s").replace("_", "-")


def _meaning(key: str) -> str:
    kind = SETTINGS[key]
    assert isinstance(kind, inspect.Metadata) and kind.extra_json_schema
    return str(kind.extra_json_schema["description"])


def _wanted(kind: inspect.Type) -> str:
    match kind:
        case inspect.Metadata(extra={"wanted": str(text)}):
            return text
        case inspect.Metadata(type=inner):
            return _wanted(inner)
        case inspect.UnionType(types=(inner, inspect.NoneType())):
            return f"{_wanted(inner)}, or none"
        case inspect.VarTupleType(item_type=item):
            return f"a list, each {_wanted(item)}"
        case inspect.DictType(value_type=item):
            return f"a table of names, each with {_wanted(item)}"
        case inspect.LiteralType(values=values):
            return "one of " + ", ".join(str(value) for value in values)
        case inspect.BoolType():
            return "true or false"
        case inspect.IntType(ge=low, le=high):
            return f"a whole number from {low} to {high}"
        case inspect.FloatType(ge=low, le=high):
            return f"a number from {low:.15g} to {high:.15g}"
    return "text"


def _understood(kind: inspect.Type, given: object) -> object:
    """A text turned into what it stands for; everything else as it is, for msgspec to judge."""
    match kind, given:
        case inspect.Metadata(extra={"read": read}), str():
            return read(given)
        case inspect.Metadata(type=inner), _:
            return _understood(inner, given)
        case inspect.UnionType(types=(inner, _)), _:
            return None if given == "none" else _understood(inner, given)
        case inspect.VarTupleType(), str():
            return _understood(kind, _parts(given))
        case inspect.VarTupleType(item_type=item), list() | tuple():
            return [_understood(item, part) for part in given]
        case inspect.DictType(), str():
            pairs = (part.partition("=") for part in _parts(given))
            return _understood(kind, {name.strip(): value.strip() for name, _, value in pairs})
        case inspect.DictType(value_type=item), dict():
            return {name: _understood(item, part) for name, part in given.items()}
    return given


def _parts(text: str) -> list[str]:
    """Cut at commas, but not inside brackets: `/a{1,3}/` is one regular expression."""
    return [part.strip() for part in re.split(r",(?![^{\[]*[}\]])", text) if part.strip()]


def _checked(key: str, given: object, origin: str) -> object:
    section, name = key.split(".")
    try:
        as_toml(given).encode()  # bytes that are not UTF-8 come out of the environment as lone surrogates
        value = _understood(SETTINGS[key], given)
        return getattr(msgspec.convert({name: value}, SECTIONS[section], strict=False), name)
    except msgspec.ValidationError:
        problem = ""
    except UnicodeEncodeError:
        raise ConfigError(f"{key} ({origin}): not UTF-8 text") from None
    except ValueError as error:
        problem = f"{error}; "
    raise ConfigError(f"{key} = {as_toml(given)} ({origin}): {problem}wanted {_wanted(SETTINGS[key])}")


def as_toml(value: object) -> str:
    match value:
        case str():
            # A JSON string is a TOML string, but for DEL, which TOML wants escaped.
            return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
        case bool():
            return "true" if value else "false"
        case list() | tuple():
            return "[" + ", ".join(as_toml(item) for item in value) + "]"
        case Mapping():
            return "{" + ", ".join(f"{as_toml(name)} = {as_toml(item)}" for name, item in value.items()) + "}"
        case None:
            return "none"  # for people; a file leaves the line out
    return str(value)


# --- The layers ---

Layer = Iterator[tuple[str, object, str]]  # key, value as given, origin


def _from_file(path: Path | None, *, may_be_missing: bool = False) -> Layer:
    if path is None or (may_be_missing and not os.path.lexists(path)):
        return
    text = ""
    try:
        text = path.read_bytes().decode()
        content = tomllib.loads(text)
    except OSError as error:
        raise ConfigError(f"cannot read the configuration file {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise ConfigError(f"file {path} is not UTF-8 text (at line {line})") from error
    except tomllib.TOMLDecodeError as error:
        reason = str(error).replace("end of document", f"line {len(text.splitlines())}, the end of the file")
        raise ConfigError(f"file {path} is not valid TOML: {reason}") from error
    for section, table in content.items():
        if section not in SECTIONS:
            yield section, table, f"file {path}"
        elif isinstance(table, dict):
            yield from ((f"{section}.{name}", given, f"file {path}") for name, given in table.items())
        else:
            raise ConfigError(f"{section} (file {path}): wanted a table, which begins with a line [{section}]")


def _from_environment(environment: Mapping[str, str]) -> Layer:
    for variable in sorted(environment):
        found = re.fullmatch(r"GOSSAMER_([A-Z]+)_(.+)", variable)
        if found and (section := found[1].lower()) in SECTIONS:  # other names may be another program's
            yield f"{section}.{found[2].lower()}", environment[variable], f"environment {variable}"


def _from_flags(flags: Mapping[str, object]) -> Layer:
    for key, given in flags.items():
        if given is not None:
            yield key, given, f"flag {flag_name(key)}"


def _unknown(key: str, origin: str) -> ConfigError:
    section, _, name = key.rpartition(".")
    same_name = [other for other in SETTINGS if other.endswith(f".{name}")]
    close = same_name or difflib.get_close_matches(key, [*SECTIONS, *SETTINGS], n=1, cutoff=0.7)
    hint = f"did you mean {' or '.join(close)}? " if close else ""
    if section in SECTIONS:
        valid = f"Valid in [{section}]: " + ", ".join(field.name for field in _fields(SECTIONS[section]))
    else:
        valid = "The sections are: " + ", ".join(SECTIONS)
    return ConfigError(f"unknown key {key} ({origin}): {hint}{valid}")


def kill_at() -> str:
    return os.environ.get("GOSSAMER_KILL_AT", "")  # for tests, and no setting: see worker.py


# --- The configuration in force ---


class Row(NamedTuple):
    key: str
    value: object
    origin: str
    meaning: str


class Configuration(Struct, frozen=True):
    """The tree in force, and the origin of each value (`environment GOSSAMER_FETCH_TIMEOUT_S`)."""

    tree: Tree
    origins: Mapping[str, str]

    def value(self, key: str) -> object:
        section, name = key.split(".")
        return getattr(getattr(self.tree, section), name)

    def rows(self) -> list[Row]:
        return [Row(key, self.value(key), self.origins[key], _meaning(key)) for key in SETTINGS]

    def toml(self) -> str:
        """The tree as a file, with the meanings as comments; `load` reads the same tree from it."""
        lines = ["# The configuration in force, written at each start of the crawl. Values can be changed"]
        lines += ["# while it is stopped; comments are not kept."]
        section = ""
        for key, value, _, meaning in self.rows():
            before, (section, name) = section, key.split(".")
            if section != before:
                lines += ["", f"# {SECTIONS[section].__doc__}", f"[{section}]"]
            lines += [f"# {meaning} ({_wanted(SETTINGS[key])})"]
            lines += [f"# {name} is not set" if value is None else f"{name} = {as_toml(value)}"]
        return "\n".join(lines) + "\n"

    def save(self, folder: Path) -> None:
        """Keep the tree in the crawl's folder. A crash leaves the old file or the new one, whole."""
        path, new = folder / FILE_NAME, folder / f".{FILE_NAME}.new"
        try:
            with new.open("w", encoding="utf-8") as file:
                file.write(self.toml())
                file.flush()
                os.fsync(file.fileno())
            new.replace(path)
            directory = os.open(folder, os.O_RDONLY)
            try:
                os.fsync(directory)  # a name is durable only with its directory
            finally:
                os.close(directory)
        except OSError as error:
            raise ConfigError(f"cannot write {path}: {error.strerror}") from error

    def check_order(self) -> None:
        for low, high in ORDERED:
            if (least := self.value(low)) > (most := self.value(high)):  # type: ignore[operator]
                raise ConfigError(
                    f"{low} = {least} ({self.origins[low]}) is above {high} = {most} ({self.origins[high]}): "
                    "lower the one or raise the other"
                )


def load(
    folder: Path | None = None,
    file: Path | None = None,
    flags: Mapping[str, object] = MappingProxyType({}),
    *,
    environment: Mapping[str, str] = os.environ,
) -> Configuration:
    """The configuration for the crawl in `folder`, be it a new one or one to resume.

    `flags` has keys like `crawl.max_pages`; None there is a flag that was not given. The text `none` lifts a
    limit that an earlier layer set.
    """
    kept = folder / FILE_NAME if folder is not None else None
    values: dict[str, object] = {}
    origins = dict.fromkeys(SETTINGS, "built-in default")
    for key, given, origin in itertools.chain(
        _from_file(kept, may_be_missing=True),
        _from_file(file),
        _from_environment(environment),
        _from_flags(flags),
    ):
        if key not in SETTINGS:
            raise _unknown(key, origin)
        value = _checked(key, given, origin)
        if key == "crawl.partitions" and origins[key] == f"file {kept}" and value != values[key]:
            raise ConfigError(
                f"{key} = {value} ({origin}): the crawl in {folder} was created with {values[key]}, which "
                f"decides where each URL is kept. Leave {key} out, or begin a new crawl in another folder"
            )
        values[key], origins[key] = value, origin

    sections: dict[str, dict[str, object]] = {}
    for key, value in values.items():
        section, name = key.split(".")
        sections.setdefault(section, {})[name] = value
    configuration = Configuration(msgspec.convert(sections, Tree), origins)
    configuration.check_order()
    return configuration
