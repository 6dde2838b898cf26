"""A Valkey that wants a password, or speaks TLS: secrets come from the environment and are never shown."""

from __future__ import annotations

from pathlib import Path

import pytest

from gossamer.clock import RealClock
from gossamer.cluster.valkey.shared import ValkeyShared
from gossamer.records import ORIGINAL
from tests.cluster.valkey_nodes import A, B, claim, nodes
from tests.fetch.certificates import Authority
from tests.servers import valkey
from tests.servers.tls import tls_in_front_of
from tests.servers.valkey import Valkey


async def test_a_password_comes_from_the_environment_and_is_never_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    with Valkey(requirepass="hush-hush") as server:
        async with nodes(server) as (first, _):
            assert await first.judge([claim(A)]) == [ORIGINAL]
            assert "GOSSAMER_REDIS_PASSWORD" in first.away
        monkeypatch.setenv("GOSSAMER_REDIS_PASSWORD", "wrong-one")
        async with nodes(server) as (first, _):
            await first.judge([claim(A)])
            assert "GOSSAMER_REDIS_PASSWORD" in first.away and "wrong-one" not in first.away
        monkeypatch.setenv("GOSSAMER_REDIS_PASSWORD", "hush-hush")
        monkeypatch.setenv("GOSSAMER_REDIS_USERNAME", "default")
        async with nodes(server) as (first, second):
            assert await first.judge([claim(A)]) == [ORIGINAL]
            assert await second.judge([claim(B)]) == [None]
            assert not first.away and "hush-hush" not in repr(first)


async def test_over_tls_a_certificate_has_to_be_of_an_authority_that_we_trust(
    monkeypatch: pytest.MonkeyPatch, folder: Path
) -> None:
    authority = Authority()
    certificate = authority.issue("localhost")
    async with tls_in_front_of(valkey.server().port, certificate.context()) as port:
        url, name = f"rediss://localhost:{port}/0", valkey.server().new_name()
        stranger = ValkeyShared(url, name, RealClock(), per_s=1, burst=1, limit_s=20)
        assert await stranger.judge([claim(A)]) == [ORIGINAL]
        assert "certificate verify failed" in stranger.away
        await stranger.close()
        (folder / "root.pem").write_bytes(authority.pem)
        monkeypatch.setenv("SSL_CERT_FILE", str(folder / "root.pem"))
        friend = ValkeyShared(url, name, RealClock(), per_s=1, burst=1, limit_s=20)
        assert await friend.judge([claim(A)]) == [ORIGINAL]
        assert not friend.away
        await friend.close()
