"""Configuration: one frozen, typed tree, and where each of its values came from.

The tree itself is in settings. A setting has one name everywhere: `body_bytes_max` under `[fetch]` in a file,
`GOSSAMER_FETCH_BODY_BYTES_MAX` in the environment, `fetch.body_bytes_max` in messages and in `gossamer config`. It is
filled in layers, the later one winning:

    built-in defaults < the crawl folder's gossamer.toml < the file of --config < environment < flags

Nothing else in the package reads a configuration file or the environment. Each part of the program is handed
its own section when it is built (`Fetcher(..., tree.fetch)`), so no value changes under a running crawl. An
unknown key or a bad value stops the start with a message that says which, where, and what would be right: a
misspelt limit that is silently ignored is found out by somebody else's server.

The crawl's folder keeps what somebody chose, in whichever layer, so that a resumed crawl goes on as it began. A
setting that nobody chose has the default of the version that runs, but for those that what is stored depends on
(`PINNED`): these are kept as they were when the crawl began, chosen or not.
"""

from __future__ import annotations

import itertools
import json
import os
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

import msgspec
from msgspec import Struct, inspect

from gossamer import atomic
from gossamer.settings import ORDERED, Tree
from gossamer.settings.retired import RETIRED
from gossamer.text import meant, without_secrets

FILE_NAME = "gossamer.toml"
DEFAULT = "built-in default"  # the origin of what nobody chose


class ConfigError(Exception):
    """The start stops here. The text is for the person who wrote the setting, and needs no traceback."""


class UsageError(Exception):
    """The call cannot be carried out as it was written."""


# --- One setting: its key, its meaning, what it may be ---


def _fields(shape: inspect.Type) -> tuple[inspect.Field, ...]:
    assert isinstance(shape, inspect.StructType)
    return shape.fields


_TREE = _fields(inspect.type_info(Tree))  # of all sections at once: one by one takes four times as long
SECTIONS: dict[str, type[Struct]] = {field.name: type(field.default) for field in _TREE}
SETTINGS: dict[str, inspect.Type] = {
    f"{section.name}.{field.name}": field.type for section in _TREE for field in _fields(section.type)
}


# What is stored depends on them: where a URL is kept, what it is called, which URLs belong to the crawl, and how near
# copies are found again. With another default a later version would go on with another crawl.
PINNED = {"crawl.partitions", "crawl.scope", "crawl.parameters_dropped", "crawl.parameters_kept"}
PINNED |= {"fetch.schemes", "process.near_bits"}


OF_ONE_RUN = {"crawl.max_time_s"}
"""What was given for a run and is not kept for the next, unless somebody has written it into the crawl's own file."""

_RETIRED_SECTIONS = {key.split(".")[0] for key in RETIRED}


FLAGS = {
    "crawl.max_pages": "--max-pages",
    "crawl.max_depth": "--max-depth",
    "crawl.max_time_s": "--max-time",
    "crawl.forever": "--forever",
    "crawl.scope": "--scope",
    "crawl.include": "--include",
    "crawl.exclude": "--exclude",
    "crawl.workers": "--workers",
    "crawl.contact": "--contact",
    "crawl.allow_private": "--allow-private",
    "politeness.delay_s": "--delay",
    "fetchers.listen": "--fetchers",
    "serve.host": "--serve",
    "serve.port": "--serve",
}
"""Settings that have a flag of their own; for all others there is --set."""


def flag_name(key: str) -> str:
    """As it is typed: `--delay` for `politeness.delay_s`, `--set fetch.timeout_s` for what has none of its own."""
    return FLAGS.get(key, f"--set {key}")


def _meaning(key: str) -> str:
    kind = SETTINGS[key]
    assert isinstance(kind, inspect.Metadata) and kind.extra_json_schema
    return str(kind.extra_json_schema["description"])


def wanted(key: str) -> str:
    """What a setting may be, in words."""
    return _wanted(SETTINGS[key])


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
    typed = without_secrets(as_toml(given))
    raise ConfigError(f"{key} = {typed} ({origin}): {problem}wanted {_wanted(SETTINGS[key])}")


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
            return "none"
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
        if section not in SECTIONS and section not in _RETIRED_SECTIONS:
            yield section, table, f"file {path}"
        elif isinstance(table, dict):
            yield from ((f"{section}.{name}", given, f"file {path}") for name, given in table.items())
        else:
            raise ConfigError(f"{section} (file {path}): wanted a table, which begins with a line [{section}]")


def _from_environment(environment: Mapping[str, str]) -> Layer:
    for variable in sorted(environment):
        found = re.fullmatch(r"GOSSAMER_([A-Z]+)_(.+)", variable)
        section = found[1].lower() if found else ""
        if found and (section in SECTIONS or section in _RETIRED_SECTIONS):  # others may be another program's
            yield f"{section}.{found[2].lower()}", environment[variable], f"environment {variable}"


def _from_flags(flags: Mapping[str, object]) -> Layer:
    for key, given in flags.items():
        if given is not None:
            yield key, given, f"flag {flag_name(key)}"


def _unknown(key: str, origin: str) -> ConfigError:
    section, _, name = key.rpartition(".")
    same_name = [other for other in SETTINGS if other.endswith(f".{name}")]
    hint = f"did you mean {' or '.join(same_name)}? " if same_name else meant(key, [*SECTIONS, *SETTINGS])
    if section in SECTIONS:
        valid = f"Valid in [{section}]: " + ", ".join(SECTIONS[section].__struct_fields__)
    else:
        valid = "The sections are: " + ", ".join(SECTIONS)
    return ConfigError(f"unknown key {key} ({origin}): {hint}{valid}")


def _retired(key: str, given: object, origin: str, *, is_kept: bool) -> str:
    """What to say of a setting that there was once; empty: it asks for what always holds now."""
    value, why, stops = RETIRED[key]
    if str(given) == str(value):
        return ""
    what = f"{key} = {as_toml(given)} ({origin}) is no longer a setting, and {as_toml(value)} always holds: {why}"
    if not is_kept or stops:
        raise ConfigError(f"{what}. {'' if stops else 'Leave it out'}".strip())
    return what


def kill_at() -> str:
    return os.environ.get("GOSSAMER_KILL_AT", "")  # for tests, and no setting: see runtime/kill_point.py


def secret(name: str) -> str:
    """A user's name or a password for a server, from GOSSAMER_KAFKA_USERNAME, GOSSAMER_REDIS_PASSWORD and their like.

    Secrets are no settings: those are written down in the crawl's folder."""
    return os.environ.get(f"GOSSAMER_{name.upper()}", "")


def quiet_packages() -> None:
    """Before they are imported: numpy starts a thread a core for linear algebra, of which we have none, and who forks
    wants one (supervisor/worker_process.py). gRPC writes a line for every stranger whose TLS fails."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    os.environ.setdefault("GRPC_VERBOSITY", "ERROR")


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
    notices: tuple[str, ...] = ()  # what the crawl's own file asks for and does not get any more, as sentences

    def value(self, key: str) -> object:
        section, name = key.split(".")
        return getattr(getattr(self.tree, section), name)

    def rows(self) -> list[Row]:
        return [Row(key, self.value(key), self.origins[key], _meaning(key)) for key in SETTINGS]

    def toml(self, path: Path) -> str:
        """What is kept in this file, with the meanings as comments; `load` reads the same tree from it, but for what
        was meant for one run."""
        lines = [
            "# What was chosen for this crawl, and what its stored pages depend on; written at each start. All",
            "# settings, with values and origins: `gossamer config FOLDER`. While the crawl is stopped, values can",
            "# be changed and lines added; comments are not kept.",
        ]
        section = ""
        for key, value, origin, meaning in self.rows():
            if origin == DEFAULT and key not in PINNED:
                continue
            if key in OF_ONE_RUN and origin != f"file {path}":
                continue
            before, (section, name) = section, key.split(".")
            if section != before:
                lines += ["", f"# {SECTIONS[section].__doc__}", f"[{section}]"]
            lines += [f"# {meaning} ({_wanted(SETTINGS[key])})"]
            lines += [f"{name} = {as_toml('none' if value is None else value)}"]
        return "\n".join(lines) + "\n"

    def save(self, folder: Path) -> None:
        """Keep what was chosen in the crawl's folder. A crash leaves the old file or the new one, whole."""
        path = folder / FILE_NAME
        try:
            atomic.replace(path, self.toml(path).encode())
        except OSError as error:
            raise ConfigError(f"cannot write {path}: {error.strerror}") from error

    @contextmanager
    def tried(self, folder: Path) -> Iterator[Callable[[], None]]:
        """Keep what was chosen in the folder. Unless what is handed out is called, which says that the crawl has
        started with it, an error brings back what was there before: a refused setting must not be in the way next
        time."""
        path = folder / FILE_NAME
        before = path.read_bytes() if path.is_file() else None
        has_started: list[bool] = []
        self.save(folder)
        try:
            yield lambda: has_started.append(True)
        except Exception:
            if not has_started:
                if before is None:
                    path.unlink(missing_ok=True)
                else:
                    atomic.replace(path, before)
            raise

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
    origins = dict.fromkeys(SETTINGS, DEFAULT)
    notices: list[str] = []
    for key, given, origin in itertools.chain(
        _from_file(kept, may_be_missing=True),
        _from_file(file),
        _from_environment(environment),
        _from_flags(flags),
    ):
        if key in RETIRED:
            notices += filter(None, [_retired(key, given, origin, is_kept=origin == f"file {kept}")])
            continue
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
    configuration = Configuration(msgspec.convert(sections, Tree), origins, tuple(notices))
    configuration.check_order()
    return configuration
