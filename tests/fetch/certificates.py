"""Certificates for servers on loopback: good ones and every kind of bad one, made when a test asks for them.

An `Authority` plays a certificate authority, the root or one below another. What it issues is as strict clients want
it (key identifiers, key usage, alternative names), so that a certificate is only wrong in the way that its test says.
Keys are on the P-256 curve: they are made in less than a millisecond.
"""

from __future__ import annotations

import ipaddress
import ssl
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

YESTERDAY, TOMORROW = timedelta(days=-1), timedelta(days=1)


@dataclass(frozen=True)
class Certificate:
    """What a server shows, its own certificate first, and the key that belongs to it."""

    chain_pem: bytes
    key_pem: bytes

    def context(self) -> ssl.SSLContext:
        """A server's side of TLS with this certificate; a test may narrow it further."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        with tempfile.TemporaryDirectory() as folder:  # the ssl module takes them from files only
            self.save(Path(folder))
            context.load_cert_chain(Path(folder, "chain.pem"), Path(folder, "key.pem"))
        return context

    def save(self, folder: Path) -> None:
        (folder / "chain.pem").write_bytes(self.chain_pem)
        (folder / "key.pem").write_bytes(self.key_pem)


class Authority:
    """A root, or with `above` an authority that the one above vouches for."""

    def __init__(self, name: str = "Test Authority", above: Authority | None = None) -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = _name(name)
        self._above = above
        parent = above or self
        builder = _builder(self._name, parent, self._key.public_key(), YESTERDAY, TOMORROW)
        builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        self._certificate = builder.add_extension(_usage(signs=True), critical=True).sign(
            parent._key, hashes.SHA256()
        )

    @property
    def pem(self) -> bytes:
        """What a client has to know to trust all that is issued here."""
        return self._certificate.public_bytes(Encoding.PEM)

    def issue(
        self, *names: str, starts: timedelta = YESTERDAY, ends: timedelta = TOMORROW, is_client: bool = False
    ) -> Certificate:
        """A certificate for these host names and addresses, in force from and until these times from now; a server's,
        or one by which a client says who it is."""
        key = ec.generate_private_key(ec.SECP256R1())
        certificate = _signed(names, key, self, starts, ends, is_client=is_client)
        return Certificate(certificate + self._chain_pem(), _pem(key))

    def _chain_pem(self) -> bytes:
        """Every authority from here up to the root; the root itself is the client's to know."""
        return self.pem + self._above._chain_pem() if self._above else b""


def self_signed(*names: str) -> Certificate:
    """A certificate that vouches for itself, as a server makes one at its first start."""
    nobody = Authority(names[0])
    return Certificate(_signed(names, nobody._key, nobody, YESTERDAY, TOMORROW), _pem(nobody._key))


def _signed(
    names: Sequence[str],
    key: ec.EllipticCurvePrivateKey,
    by: Authority,
    starts: timedelta,
    ends: timedelta,
    *,
    is_client: bool = False,
) -> bytes:
    builder = _builder(_name(names[0]), by, key.public_key(), starts, ends)
    builder = builder.add_extension(
        x509.SubjectAlternativeName([_alternative(name) for name in names]), critical=False
    )
    builder = builder.add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
    builder = builder.add_extension(
        x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CLIENT_AUTH if is_client else ExtendedKeyUsageOID.SERVER_AUTH]),
        critical=False,
    )
    builder = builder.add_extension(_usage(signs=False), critical=True)
    return builder.sign(by._key, hashes.SHA256()).public_bytes(Encoding.PEM)


def _builder(
    subject: x509.Name, by: Authority, key: ec.EllipticCurvePublicKey, starts: timedelta, ends: timedelta
) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(by._name)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now + starts)
        .not_valid_after(now + ends)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(by._key.public_key()), critical=False)
    )


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _alternative(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def _usage(*, signs: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs,
        key_cert_sign=signs,
        crl_sign=signs,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
