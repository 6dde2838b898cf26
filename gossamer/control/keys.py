"""Keys: who may ask the control API, and who may steer.

A key is 256 bits of chance, shown once, when it is made. The crawl's folder keeps its SHA-256 (`keys.json`, for the
owner's eyes only): against a secret of that size nothing slower is needed, because there is no list of likely ones
to try. A key has a name, by which it is removed, and a scope: `read` looks, `control` looks and steers.

The file is read again whenever it changes, so a key that is removed is refused from the next request on, by a server
that is running too.
"""

from __future__ import annotations

import argparse
import hashlib
import hmac
import os
import secrets
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from gossamer.clock import RealClock
from gossamer.control.verb import UsageError, add_verb
from gossamer.control.words import moment
from gossamer.folder import CrawlFolder, FolderError

FILE_NAME = "keys.json"
PREFIX = "gossamer_"  # so that a person, or a program that looks for secrets, knows one when it sees it

Scope = Literal["read", "control"]
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
        keys = dict(self.all())
        if name in keys:
            raise UsageError(f"there is a key named {name} already: remove it first, or choose another name")
        key = PREFIX + secrets.token_urlsafe(32)
        keys[name] = Key(scope, digest(key), moment(RealClock().now()) or "")
        self._write(keys)
        return key

    def remove(self, name: str) -> None:
        keys = dict(self.all())
        if keys.pop(name, None) is None:
            raise UsageError(f"there is no key named {name}; `gossamer keys` lists them")
        self._write(keys)

    def _write(self, keys: dict[str, Key]) -> None:
        partial = self.path.with_suffix(".tmp")
        partial.unlink(missing_ok=True)  # it might be open to others
        file = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(file, "wb") as out:
            out.write(msgspec.json.format(msgspec.json.encode(keys)))
            out.flush()
            os.fsync(out.fileno())
        partial.replace(self.path)


def digest(key: str) -> str:
    return hashlib.sha256(key.encode("utf-8", "replace")).hexdigest()


# ---- the verb ------------------------------------------------------------------------------------------------


def add_verbs(verbs: Any) -> None:
    verb = add_verb(verbs, "keys", keys_verb, "the keys of a crawl's control API: list, make or remove them")
    verb.add_argument("dir", metavar="D", help="the crawl's folder")
    verb.add_argument("--add", metavar="NAME", help="make a key and show it, once")
    verb.add_argument("--scope", choices=("read", "control"), default="read", help="what it is good for (read)")
    verb.add_argument("--remove", metavar="NAME", help="the key of this name is refused from now on")
    verb.add_argument("--json", action="store_true", help="facts as JSON, one object a line")


def keys_verb(arguments: argparse.Namespace) -> None:
    folder = CrawlFolder(Path(arguments.dir))
    folder.must_be_crawl()
    keys = Keys(folder.path)
    if arguments.remove is not None:
        keys.remove(arguments.remove)
    if arguments.add is not None:
        try:
            name = msgspec.convert(arguments.add, Name)
        except msgspec.ValidationError:
            raise UsageError(f"{arguments.add!r}: a name has letters, digits and . _ @ -, 64 at most") from None
        key = keys.add(name, arguments.scope)
        facts = {"name": name, "scope": arguments.scope, "key": key}
        print(msgspec.json.encode(facts).decode() if arguments.json else key)
        return
    for name, known in sorted(keys.all().items()):
        facts = {"name": name, "scope": known.scope, "made_at": known.made_at}
        print(
            msgspec.json.encode(facts).decode() if arguments.json else f"{name:<30} {known.scope:<8} {known.made_at}"
        )
