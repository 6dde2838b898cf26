"""Credentials: headers of our own, passwords and logins, by the beginning of URLs.

They stand in a TOML file of the operator's (`fetch.credentials`), which is no part of the crawl's folder. A table has
the beginning of URLs as its name; of several that fit the longest holds. So what is meant for one origin goes to no
other, also not after a redirect, because the target is a URL of its own.

    ["https://example.com/"]
    accept_language = "de"
    headers = { X-Edition = "2", X-Key = "env:EXAMPLE_KEY" }
    basic = "file:/run/secrets/example"           # user:password

    ["https://example.com/members/"]
    login.url = "https://example.com/login"
    login.fields = { user = "me", password = "env:PASSWORD" }
    login.success = "Log out"

A secret is never written into the file: `env:NAME` names a variable of the environment, `file:PATH` a file. Who reads
this file gets the secrets, and keeps them in memory alone. docs/logins.md has all of it.
"""

from __future__ import annotations

import os
import re
import tomllib
from base64 import b64encode
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from gossamer.config import ConfigError
from gossamer.headers import ExtraHeaders
from gossamer.records import Url
from gossamer.settings.kinds import Header
from gossamer.url.canonical import canonicalize
from gossamer.url.site import clock_name, host_of

HeaderName = Annotated[str, Meta(pattern=r"\A[A-Za-z0-9-]+\Z")]
SECRET_NAMES = frozenset({"authorization", "cookie", "proxy-authorization"})
OURS = frozenset({"host", "content-length", "transfer-encoding", "connection", "accept-encoding"})
_SECRET = re.compile(r"(env|file):(.+)")


class FormLogin(Struct, frozen=True, forbid_unknown_fields=True):
    """A form to be filled in before anything else is asked for."""

    url: str
    fields: dict[str, str]
    success: Annotated[str, Meta(min_length=1)]  # a text that the page behind the form has, and the form has not


class Written(Struct, frozen=True, forbid_unknown_fields=True):
    """A table of the file."""

    user_agent: Header = ""
    accept_language: Header = ""
    headers: dict[HeaderName, Header] = {}
    basic: str = ""  # user:password
    bearer: str = ""
    login: FormLogin | None = None


class Credential(Struct, frozen=True):
    """What holds for URLs that begin alike, with its secrets."""

    prefix: Url
    extra: ExtraHeaders
    login: FormLogin | None

    def __repr__(self) -> str:
        return f"Credential({self.prefix})"

    def is_for(self, url: Url) -> bool:
        if not url.startswith(self.prefix):
            return False
        return self.prefix.endswith("/") or url[len(self.prefix) : len(self.prefix) + 1] in ("", "/", "?")


class Credentials:
    def __init__(self, all_of_them: list[Credential]) -> None:
        self._longest_first = sorted(all_of_them, key=lambda each: -len(each.prefix))

    def __bool__(self) -> bool:
        return bool(self._longest_first)

    @property
    def have_logins(self) -> bool:
        return any(each.login is not None for each in self._longest_first)

    def of(self, url: Url) -> Credential | None:
        return next((each for each in self._longest_first if each.is_for(url)), None)


NONE = Credentials([])


def load(file: str) -> Credentials:
    """Raises ConfigError, with the place and without any secret."""
    if not file:
        return NONE
    try:
        tables = tomllib.loads(Path(file).read_text(encoding="utf-8"))
    except OSError as fault:
        raise ConfigError(f"fetch.credentials: {file}: {fault.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as fault:
        raise ConfigError(f"fetch.credentials: {file} is not TOML: {fault}") from None
    return Credentials([_credential(file, prefix, table) for prefix, table in tables.items()])


def _credential(file: str, prefix: str, table: object) -> Credential:
    where = f'{file}: ["{prefix}"]'
    url = canonicalize(prefix)
    if url is None or not url.startswith("http"):
        raise ConfigError(f"{where}: wanted the beginning of URLs, such as https://example.com/")
    try:
        written = msgspec.convert(table, Written)
    except msgspec.ValidationError as fault:
        raise ConfigError(f"{where}: {fault}") from None
    shown = [f"{name}: {value}" for name, value in _named(written).items() if not _SECRET.fullmatch(value)]
    hidden = [
        f"{name}: {secret_in(where, name, value)}"
        for name, value in _named(written).items()
        if _SECRET.fullmatch(value)
    ]
    for name in written.headers:
        if name.lower() in OURS:
            raise ConfigError(f"{where}: {name} is not for you to set")
        if name.lower() in SECRET_NAMES and not _SECRET.fullmatch(written.headers[name]):
            raise ConfigError(f"{where}: {name} is a secret: {_WANTED}")
    if written.basic:
        user_and_password = secret_in(where, "basic", written.basic)
        hidden.append(f"Authorization: Basic {b64encode(user_and_password.encode()).decode()}")
    if written.bearer:
        hidden.append(f"Authorization: Bearer {secret_in(where, 'bearer', written.bearer)}")
    extra = ExtraHeaders(*(tuple(line.encode("latin-1", "replace") for line in lines) for lines in (shown, hidden)))
    return Credential(url, extra, _login(where, url, written.login))


def _named(written: Written) -> dict[str, str]:
    own = {"User-Agent": written.user_agent, "Accept-Language": written.accept_language}
    return {name: value for name, value in own.items() if value} | written.headers


def _login(where: str, prefix: Url, login: FormLogin | None) -> FormLogin | None:
    if login is None:
        return None
    url = canonicalize(login.url)
    if url is None or clock_name(host_of(url)) != clock_name(host_of(prefix)):
        raise ConfigError(f"{where}: login.url has to be on the same host")
    fields = {
        name: secret_in(where, name, value) if _SECRET.fullmatch(value) else value
        for name, value in login.fields.items()
    }
    return FormLogin(url, fields, login.success)


_WANTED = "wanted env:NAME or file:PATH, where it stands in the environment or in a file of its own"


def secret_in(where: str, name: str, text: str) -> str:
    found = _SECRET.fullmatch(text)
    if found is None:
        raise ConfigError(f"{where}: {name}: {_WANTED}")
    if found[1] == "env":
        value = os.environ.get(found[2], "")
        if not value:
            raise ConfigError(f"{where}: {name}: there is no {found[2]} in the environment")
    else:
        try:
            value = Path(found[2]).read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError) as fault:
            raise ConfigError(f"{where}: {name}: {found[2]} cannot be read ({type(fault).__name__})") from None
    if not value or not value.isprintable():
        raise ConfigError(f"{where}: {name}: {text} holds no single line of text")
    return value
