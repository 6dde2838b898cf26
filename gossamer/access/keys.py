"""Keys: who may ask the control API, and who may steer.

A key is 256 bits of chance, shown once, when it is made. The crawl's folder keeps its SHA-256 (`keys.json`, for the
owner's eyes only): against a secret of that size nothing slower is needed, because there is no list of likely ones
to try. A key has a name, by which it is removed, and a scope: `read` looks, `control` looks and steers, and `fetch`
is for fetchers, which can do nothing but what their jobs allow.

The file is read again whenever it changes, so a key that is removed is refused from the next request on, by a server
that is running too.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from pathlib import Path
from typing import Annotated, Literal

import msgspec

from gossamer import atomic
from gossamer.clock import RealClock
from gossamer.config import UsageError
from gossamer.folder import FolderError
from gossamer.text import moment

FILE_NAME = "keys.json"
PREFIX = "gossamer_"  # so that a person, or a program that looks for secrets, knows one when it sees it

Scope = Literal["read", "control", "fetch"]
Name = Annotated[str, msgspec.Meta(pattern=r"\A[A-Za-z0-9._@-]{1,64}\Z")]


class Key(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    scope: Scope
    sha256: str
    made_at: str


class Keys:
    """The keys of a crawl, as they are in its folder now."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / FILE_NAME
        self._read_of: tuple[int, int] | None = None  # what the file looked like when it was last read
        self._keys: dict[str, Key] = {}

    def all(self) -> dict[str, Key]:
        """Raises FolderError where the file cannot be understood: rather nobody than everybody."""
        try:
            found = self.path.stat()
        except FileNotFoundError:
            self._read_of, self._keys = None, {}
            return {}
        if (found.st_mtime_ns, found.st_ino) != self._read_of:
            try:
                self._keys = msgspec.json.decode(self.path.read_bytes(), type=dict[Name, Key])
            except msgspec.DecodeError as fault:
                raise FolderError(f"{self.path} is damaged ({fault}): remove it, and make new keys") from fault
            self._read_of = (found.st_mtime_ns, found.st_ino)
        return self._keys

    def find(self, key: str) -> str | None:
        """The name of the key, if it is one. Takes as long whichever it is."""
        wanted, found = digest(key), None
        for name, known in self.all().items():
            if hmac.compare_digest(known.sha256, wanted):
                found = name
        return found

    def add(self, name: str, scope: Scope) -> str:
        """Returns the key: nobody will ever see it again."""
        key = PREFIX + secrets.token_urlsafe(32)
        with atomic.locked(self.path):
            keys = dict(self.all())
            if name in keys:
                raise UsageError(f"there is a key named {name} already: remove it first, or choose another name")
            keys[name] = Key(scope, digest(key), moment(RealClock().now()) or "")
            self._write(keys)
        return key

    def remove(self, name: str) -> None:
        with atomic.locked(self.path):
            keys = dict(self.all())
            if keys.pop(name, None) is None:
                raise UsageError(f"there is no key named {name}; `gossamer keys` lists them")
            self._write(keys)

    def _write(self, keys: dict[str, Key]) -> None:
        atomic.replace(self.path, msgspec.json.format(msgspec.json.encode(keys)), mode=0o600)


def digest(key: str) -> str:
    return hashlib.sha256(key.encode("utf-8", "replace")).hexdigest()
