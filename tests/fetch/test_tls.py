"""TLS against real servers on loopback: a page, or a failure that says what is wrong, and nobody else waits for it.

Servers and certificates are made on the spot (tls_server.py, certificates.py); the authority is the tests' own, and
the client trusts no other. Every fetch has a neighbour (tls_client.py) that is asked at the same time.
"""

from __future__ import annotations

import asyncio
import ssl
import time
import warnings
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Literal

import pytest

from gossamer.records import Failed, Fetched, Reason
from tests.fetch.certificates import Authority, Certificate, self_signed
from tests.fetch.tls_client import CONNECT_S, Client, client
from tests.fetch.tls_server import tls_server

DAY = timedelta(days=1)


@pytest.fixture(scope="session")
def authority() -> Authority:
    return Authority()


@pytest.fixture(scope="session")
def ca_file(authority: Authority, tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("authority") / "ca.pem"
    file.write_bytes(authority.pem)
    return file


@pytest.fixture
async def verifying(authority: Authority, ca_file: Path) -> AsyncIterator[Client]:
    async with client(authority, ca_file) as ours:
        yield ours


@pytest.fixture
async def recording(authority: Authority, ca_file: Path) -> AsyncIterator[Client]:
    async with client(authority, ca_file, "record") as ours:
        yield ours


# --- Certificates that are good ---


@pytest.mark.parametrize(
    ("host", "names"),
    [
        ("name.test", ["name.test"]),
        ("name.test", ["other.test", "name.test"]),
        ("a.wild.test", ["*.wild.test"]),
        ("127.0.0.1", ["127.0.0.1"]),
    ],
)
async def test_a_certificate_that_an_authority_vouches_for_is_trusted(
    verifying: Client, authority: Authority, host: str, names: list[str]
) -> None:
    async with tls_server(authority.issue(*names).context()) as server:
        result = await verifying.fetch(server.url(host))
    assert isinstance(result, Fetched)
    assert (result.body, result.exchange.tls_fault) == (b"hello", "")


async def test_an_authority_below_the_one_we_know_is_trusted_too(verifying: Client, authority: Authority) -> None:
    async with tls_server(Authority("Below", authority).issue("name.test").context()) as server:
        assert isinstance(await verifying.fetch(server.url("name.test")), Fetched)


async def test_a_certificate_longer_than_a_tls_record_is_read(verifying: Client, authority: Authority) -> None:
    below = authority
    for level in range(40):
        below = Authority(f"Authority {level}", below)
    certificate = below.issue("name.test", *(f"host-{n}.example.test" for n in range(500)))
    assert len(certificate.chain_pem) > 2 * 16_384  # as text, which is a third longer than on the wire
    async with tls_server(certificate.context()) as server:
        assert isinstance(await verifying.fetch(server.url("name.test")), Fetched)


async def test_a_connection_is_kept_and_used_again(verifying: Client, authority: Authority) -> None:
    async with tls_server(authority.issue("name.test").context()) as server:
        for _ in range(3):
            assert isinstance(await verifying.fetch(server.url("name.test")), Fetched)
        assert (server.handshakes, len(server.requests)) == (1, 3)


async def test_a_kept_connection_vouches_for_its_own_name_only(verifying: Client, authority: Authority) -> None:
    async with tls_server(authority.issue("name.test").context()) as server:
        assert isinstance(await verifying.fetch(server.url("name.test")), Fetched)
        result = await verifying.fetch(server.url("other.test"))
        assert isinstance(result, Failed) and result.reason is Reason.TLS


@pytest.mark.parametrize(("host", "name"), [("name.test", "name.test"), ("127.0.0.1", None)])
async def test_the_server_is_told_which_name_is_wanted(
    verifying: Client, authority: Authority, host: str, name: str | None
) -> None:
    async with tls_server(authority.issue("name.test", "127.0.0.1").context()) as server:
        await verifying.fetch(server.url(host))
    assert server.names == [name]  # an address is no name: RFC 6066, section 3


# --- Certificates that are not ---


def without_its_authority(authority: Authority) -> Certificate:
    """The commonest mistake of all: the server does not send what stands between it and the root."""
    whole = Authority("Below", authority).issue("name.test")
    return Certificate(whole.chain_pem.partition(PEM_END)[0] + PEM_END, whole.key_pem)


PEM_END = b"-----END CERTIFICATE-----\n"
BAD: dict[str, tuple[str, Callable[[Authority], Certificate], str]] = {
    "expired": ("name.test", lambda known: known.issue("name.test", starts=-2 * DAY, ends=-DAY), "expired"),
    "not_yet_valid": ("name.test", lambda known: known.issue("name.test", starts=DAY, ends=2 * DAY), "not yet valid"),
    "wrong_name": ("name.test", lambda known: known.issue("other.test"), "'name.test'"),
    "wrong_address": ("127.0.0.1", lambda known: known.issue("127.0.0.2", "name.test"), "'127.0.0.1'"),
    "wildcard_for_one_level": ("a.b.wild.test", lambda known: known.issue("*.wild.test"), "'a.b.wild.test'"),
    "self_signed": ("name.test", lambda _: self_signed("name.test"), "self-signed"),
    "unknown_authority": ("name.test", lambda _: Authority().issue("name.test"), "issuer"),
    "authority_not_sent": ("name.test", without_its_authority, "issuer"),
}


@pytest.mark.parametrize("kind", BAD)
async def test_a_bad_certificate_is_a_failure_that_says_why_and_nothing_is_asked(
    verifying: Client, authority: Authority, kind: str
) -> None:
    host, made_by, words = BAD[kind]
    async with tls_server(made_by(authority).context()) as server:
        result = await verifying.fetch(server.url(host))
        assert isinstance(result, Failed)
        assert (result.reason, result.exchange) == (Reason.TLS, None)
        assert words in result.detail
        assert result.ended_at > 0
        assert server.requests == []


@pytest.mark.parametrize("kind", BAD)
async def test_where_it_is_only_recorded_the_page_comes_with_what_was_wrong(
    recording: Client, authority: Authority, kind: str
) -> None:
    host, made_by, words = BAD[kind]
    async with tls_server(made_by(authority).context()) as server:
        result = await recording.fetch(server.url(host))
        assert isinstance(result, Fetched)
        assert result.body == b"hello"
        assert words in result.exchange.tls_fault
        assert len(server.requests) == 1


async def test_where_it_is_only_recorded_nothing_is_said_of_a_good_one(
    recording: Client, authority: Authority
) -> None:
    async with tls_server(authority.issue("name.test").context()) as server:
        result = await recording.fetch(server.url("name.test"))
    assert isinstance(result, Fetched)
    assert result.exchange.tls_fault == ""


# --- Handshakes that come to nothing, whether certificates are verified or not ---


def too_old(authority: Authority) -> ssl.SSLContext:
    context = authority.issue("name.test").context()
    context.set_ciphers("ALL:@SECLEVEL=0")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # that is the point
        context.minimum_version = ssl.TLSVersion.TLSv1
        context.maximum_version = ssl.TLSVersion.TLSv1_1
    return context


def without_a_common_cipher(authority: Authority) -> ssl.SSLContext:
    context = authority.issue("name.test").context()
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    context.set_ciphers("NULL-SHA256:@SECLEVEL=0")  # no encryption at all: no client offers that
    return context


def longer_than_any_client_bears(authority: Authority) -> ssl.SSLContext:
    return authority.issue("name.test", *(f"host-{n}.example.test" for n in range(6000))).context()


@pytest.mark.parametrize("tls", ["verify", "record"])
@pytest.mark.parametrize(
    ("made_by", "words"),
    [
        (too_old, "protocol version"),
        (without_a_common_cipher, "handshake failure"),
        (longer_than_any_client_bears, "excessive message size"),
    ],
)
async def test_no_handshake_is_a_failure_that_says_why(
    authority: Authority,
    ca_file: Path,
    made_by: Callable[[Authority], ssl.SSLContext],
    words: str,
    tls: Literal["verify", "record"],
) -> None:
    async with client(authority, ca_file, tls) as ours, tls_server(made_by(authority)) as server:
        result = await ours.fetch(server.url("name.test"))
    assert isinstance(result, Failed)
    assert result.reason is Reason.TLS
    assert words in result.detail


@pytest.mark.parametrize("cut_at", [1, 60, 500])  # in a record's head, in the first record, in the certificate
async def test_a_handshake_cut_off_half_way_is_a_failure(
    verifying: Client, authority: Authority, cut_at: int
) -> None:
    async with tls_server(authority.issue("name.test").context(), cut_at=cut_at) as server:
        result = await verifying.fetch(server.url("name.test"))
        assert server.handshakes == 0
    assert isinstance(result, Failed)
    assert result.reason is Reason.TLS
    assert "eof" in result.detail


async def test_a_handshake_that_hangs_ends_with_the_time_to_connect_and_holds_nobody_up(verifying: Client) -> None:
    async with speaker(None) as port:
        started = time.monotonic()
        hanging = asyncio.create_task(verifying.fetch_alone(f"https://name.test:{port}/"))
        for _ in range(5):
            assert isinstance(await verifying.fetch_beside(), Fetched)
        assert not hanging.done()
        result = await hanging
        assert CONNECT_S * 0.9 < time.monotonic() - started < CONNECT_S * 4
    assert isinstance(result, Failed)
    assert result.reason is Reason.TIMEOUT
    assert "timed out" in result.detail


@asynccontextmanager
async def speaker(words: bytes | None) -> AsyncIterator[int]:
    """Says one thing to whatever it hears, and hangs up; None: listens, and says nothing at all."""

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while await reader.read(65536):
            if words is not None:
                writer.write(words)
                break
        writer.close()

    listening = await asyncio.start_server(talk, "127.0.0.1", 0)
    try:
        yield listening.sockets[0].getsockname()[1]
    finally:
        listening.close()


async def test_plain_http_where_tls_is_wanted_is_a_failure(verifying: Client) -> None:
    async with speaker(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n") as port:
        result = await verifying.fetch(f"https://name.test:{port}/")
    assert isinstance(result, Failed)
    assert result.reason is Reason.TLS
    assert "wrong version number" in result.detail


async def test_tls_where_plain_http_is_wanted_is_a_broken_answer(verifying: Client, authority: Authority) -> None:
    async with tls_server(authority.issue("name.test").context()) as server:
        result = await verifying.fetch(server.url("name.test", scheme="http"))
    assert isinstance(result, Failed)
    assert result.reason is Reason.BROKEN_ANSWER


async def test_a_tls_alert_where_plain_http_is_wanted_is_a_broken_answer(verifying: Client) -> None:
    async with speaker(bytes.fromhex("15 0301 0002 02 46")) as port:  # fatal: protocol version
        result = await verifying.fetch(f"http://name.test:{port}/")
    assert isinstance(result, Failed)
    assert result.reason is Reason.BROKEN_ANSWER
