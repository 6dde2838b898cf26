"""The identity of a crawl: requests signed with a key of its operator, so that servers know who asks.

HTTP Message Signatures (RFC 9421) as Web Bot Auth has them: Ed25519, the tag `web-bot-auth`, over the host that is
asked and the address at which the public key can be found. A signature holds for minutes, for one host, and has a
number that is used once.

The key is a file of the operator's, which is no part of the crawl's folder. `gossamer identity` makes it, and the
document to be published. A signature is no secret, and stands in request records.
"""

from __future__ import annotations

import hashlib
import os
import secrets
from base64 import b64encode, urlsafe_b64encode
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from gossamer.config import ConfigError
from gossamer.records import Url
from gossamer.url.canonical import canonicalize

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

VALID_S = 300  # a fetcher may have to wait, and clocks differ
WELL_KNOWN = "/.well-known/http-message-signatures-directory"
MEDIA_TYPE = "application/http-message-signatures-directory+json"


class Identity:
    def __init__(self, key: Ed25519PrivateKey, url: str) -> None:
        """`url`: the origin at which the public key is published."""
        self._key = key
        self._agent = f'"{url}"'
        self.public = {"crv": "Ed25519", "kty": "OKP", "x": _base64url(key.public_key().public_bytes_raw())}
        # RFC 7638: the members that are needed, in the order of their names.
        self.name = _base64url(hashlib.sha256(msgspec.json.encode(self.public, order="sorted")).digest())

    def signed(self, url: Url, now: float) -> tuple[bytes, ...]:
        """The lines of a request that say who asks."""
        authority = url.partition("://")[2].partition("/")[0]
        nonce = b64encode(secrets.token_bytes(32)).decode()
        covered = (
            f'("@authority" "signature-agent");created={int(now)};keyid="{self.name}";alg="ed25519"'
            f';expires={int(now) + VALID_S};nonce="{nonce}";tag="web-bot-auth"'
        )
        base = f'"@authority": {authority}\n"signature-agent": {self._agent}\n"@signature-params": {covered}'
        signature = b64encode(self._key.sign(base.encode())).decode()
        lines = (
            f"Signature-Agent: {self._agent}",
            f"Signature-Input: sig1={covered}",
            f"Signature: sig1=:{signature}:",
        )
        return tuple(line.encode() for line in lines)

    def directory(self) -> bytes:
        """The document that says which keys are ours."""
        keys = [self.public | {"kid": self.name, "use": "sig", "alg": "EdDSA"}]
        return msgspec.json.format(msgspec.json.encode({"keys": keys}), indent=2)


def load(file: str, url: str) -> Identity | None:
    """None: no file, and requests are not signed. Raises ConfigError."""
    if not file:
        return None
    where = f"fetch.identity_key: {file}"
    try:
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey  # noqa: PLC0415 - of an extra
        from cryptography.hazmat.primitives.serialization import load_pem_private_key  # noqa: PLC0415
    except ModuleNotFoundError:
        raise ConfigError(f"{where}: to sign requests needs: pip install 'gossamer[identity]'") from None
    try:
        key = load_pem_private_key(Path(file).read_bytes(), None)
    except OSError as fault:
        raise ConfigError(f"{where}: {fault.strerror}; `gossamer identity` makes one") from None
    except (ValueError, TypeError):
        raise ConfigError(f"{where} is no private key in PEM without a password") from None
    if not isinstance(key, Ed25519PrivateKey):
        raise ConfigError(f"{where} is no Ed25519 key; `gossamer identity` makes one")
    return Identity(key, origin(url))


def make(file: Path) -> None:
    """A new key, which nobody else can read. Raises ConfigError where there is such a file, and FileNotFoundError."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey  # noqa: PLC0415 - of an extra
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat  # noqa: PLC0415

    text = Ed25519PrivateKey.generate().private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as out:
        out.write(text)


def origin(url: str) -> str:
    """Where the directory of keys is. Raises ConfigError."""
    found = canonicalize(url)
    if found is None or not found.startswith("https://") or found.count("/") != 3 or not found.endswith("/"):
        raise ConfigError(
            f"fetch.identity_url: {url!r}: wanted an https origin of yours, such as https://bot.example.org"
        )
    return found[:-1]


def _base64url(raw: bytes) -> str:
    return urlsafe_b64encode(raw).decode().rstrip("=")
