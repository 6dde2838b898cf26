"""The gRPC server by itself: where it listens, keys, TLS, health and reflection."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import grpc
import grpc.aio
import pytest
from grpc_health.v1.health_pb2 import HealthCheckRequest, HealthCheckResponse
from grpc_health.v1.health_pb2_grpc import HealthStub
from grpc_reflection.v1alpha.reflection_pb2 import ServerReflectionRequest
from grpc_reflection.v1alpha.reflection_pb2_grpc import ServerReflectionStub

from gossamer.access.keys import Keys
from gossamer.clock import RealClock
from gossamer.config import ConfigError, UsageError
from gossamer.folder import FolderError
from gossamer.rpc.server import RpcServer
from gossamer.settings import RpcSettings
from tests.fetch.certificates import Authority

PLAIN = RpcSettings()


@asynccontextmanager
async def server(folder: Path, listen: str = "127.0.0.1:0", settings: RpcSettings = PLAIN) -> AsyncIterator[str]:
    serving = RpcServer([], listen, settings, Keys(folder), RealClock())
    where = await serving.start()
    try:
        yield where
    finally:
        await serving.stop()


async def is_healthy(channel: grpc.aio.Channel) -> bool:
    answer = await HealthStub(channel).Check(HealthCheckRequest(), timeout=10)
    return bool(answer.status == HealthCheckResponse.SERVING)


async def services(channel: grpc.aio.Channel, key: str = "") -> list[str]:
    metadata = [("authorization", f"Bearer {key}")] if key else []
    asked = ServerReflectionStub(channel).ServerReflectionInfo(
        iter([ServerReflectionRequest(list_services="")]), metadata=metadata, timeout=10
    )
    return [each.name async for answer in asked for each in answer.list_services_response.service]


async def refused(channel: grpc.aio.Channel, key: str = "") -> grpc.StatusCode:
    with pytest.raises(grpc.aio.AioRpcError) as fault:
        await services(channel, key)
    return fault.value.code()


async def test_on_loopback_nobody_needs_a_key(tmp_path: Path) -> None:
    async with server(tmp_path) as where, grpc.aio.insecure_channel(where) as channel:
        assert await is_healthy(channel)
        assert "grpc.health.v1.Health" in await services(channel)


async def test_with_keys_only_health_answers_without_one(tmp_path: Path) -> None:
    key = Keys(tmp_path).add("anna", "read")
    async with server(tmp_path) as where, grpc.aio.insecure_channel(where) as channel:
        assert await is_healthy(channel)
        assert await refused(channel) == grpc.StatusCode.UNAUTHENTICATED
        assert await refused(channel, "gossamer_wrong") == grpc.StatusCode.UNAUTHENTICATED
        assert await services(channel, key)
        Keys(tmp_path).remove("anna")
        Keys(tmp_path).add("bert", "read")
        assert await refused(channel, key) == grpc.StatusCode.UNAUTHENTICATED


async def test_who_shows_wrong_keys_has_to_wait(tmp_path: Path) -> None:
    key = Keys(tmp_path).add("anna", "read")
    settings = RpcSettings(failures_a_minute=2)
    async with server(tmp_path, settings=settings) as where, grpc.aio.insecure_channel(where) as channel:
        for _ in range(2):
            assert await refused(channel, "gossamer_wrong") == grpc.StatusCode.UNAUTHENTICATED
        assert await refused(channel, key) == grpc.StatusCode.RESOURCE_EXHAUSTED


async def test_elsewhere_it_needs_a_key_and_a_port_belongs_to_one(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no key"):
        RpcServer([], "0.0.0.0:0", RpcSettings(), Keys(tmp_path), RealClock())
    with pytest.raises(UsageError, match="is not like"):
        RpcServer([], "7071", RpcSettings(), Keys(tmp_path), RealClock())
    async with server(tmp_path) as where:
        with pytest.raises(FolderError, match="cannot listen"):
            async with server(tmp_path, where):
                pass


async def test_it_speaks_tls_and_asks_clients_for_theirs(tmp_path: Path) -> None:
    authority = Authority()
    ours, theirs = authority.issue("localhost"), authority.issue("client.example.org", is_client=True)
    for name, content in (("chain", ours.chain_pem), ("key", ours.key_pem), ("ca", authority.pem)):
        (tmp_path / f"{name}.pem").write_bytes(content)
    with pytest.raises(ConfigError, match="belong together"):
        RpcServer([], "localhost:0", RpcSettings(key_file="key.pem"), Keys(tmp_path), RealClock())
    settings = RpcSettings(
        certificate_file=str(tmp_path / "chain.pem"),
        key_file=str(tmp_path / "key.pem"),
        client_ca_file=str(tmp_path / "ca.pem"),
    )
    async with server(tmp_path, "localhost:0", settings) as where:
        known = grpc.ssl_channel_credentials(authority.pem, theirs.key_pem, theirs.chain_pem)
        async with grpc.aio.secure_channel(where, known) as channel:
            assert await is_healthy(channel)
            assert await services(channel)
        unknown = grpc.ssl_channel_credentials(authority.pem)
        async with grpc.aio.secure_channel(where, unknown) as channel:
            with pytest.raises(grpc.aio.AioRpcError) as fault:
                await is_healthy(channel)
            assert fault.value.code() == grpc.StatusCode.UNAVAILABLE
