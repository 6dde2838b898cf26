"""Who may call the service, and what tools of gRPC and Prometheus find: through the command."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import grpc
import grpc.aio
import pytest
from grpc_reflection.v1alpha.reflection_pb2 import ServerReflectionRequest
from grpc_reflection.v1alpha.reflection_pb2_grpc import ServerReflectionStub

from gossamer.local_servers.process import free_ports
from gossamer.rpc.methods import client
from gossamer.urlfrontier import urlfrontier_pb2 as messages
from tests.crawl.command import gossamer
from tests.fetch.certificates import Authority
from tests.urlfrontier.serving import OK, SERVICE, discovered, served


async def test_a_key_that_may_look_cannot_take_or_change(tmp_path: Path) -> None:
    folder = tmp_path / "F"
    async with served(folder):
        pass
    keys = {}
    for scope in ("read", "control"):
        ran = await gossamer("keys", folder, "--add", scope, "--scope", scope, "--json")
        keys[scope] = [("authorization", f"Bearer {ran.lines()[0]['key']}")]
    async with served(folder) as frontier:
        stats, asked = frontier.call.GetStats, messages.QueueWithinCrawlParams()
        with pytest.raises(grpc.aio.AioRpcError, match="a key is needed"):
            await stats(asked)
        assert (await stats(asked, metadata=keys["read"])).size == 0
        item = discovered("http://a.test/")
        for call in (
            lambda: frontier.call.PutURLs(iter([item]), metadata=keys["read"]),
            lambda: frontier.call.GetURLs(messages.GetParams(), metadata=keys["read"]),
        ):
            assert await refusal(call) == grpc.StatusCode.PERMISSION_DENIED
        acks = [ack.status async for ack in frontier.call.PutURLs(iter([item]), metadata=keys["control"])]
        assert acks == [OK]
        assert (await stats(asked, metadata=keys["control"])).size == 1


async def refusal(call: Callable[[], Any]) -> grpc.StatusCode:
    """Of a call that is refused. Who is still writing then may hear of that first ("Internal error from Core")."""
    for _ in range(20):
        with pytest.raises(grpc.aio.AioRpcError) as fault:
            [_ async for _ in call()]
        code = fault.value.code()
        if code != grpc.StatusCode.INTERNAL:
            break
    return code


async def test_elsewhere_than_on_loopback_it_wants_a_key_first(tmp_path: Path) -> None:
    ran = await gossamer("frontier", "--dir", tmp_path / "F", "--listen", "0.0.0.0:0")
    assert (ran.code, "there is no key: make one with `gossamer keys" in ran.err) == (2, True)


async def test_it_speaks_tls_with_the_certificate_of_its_settings(tmp_path: Path) -> None:
    authority = Authority()
    authority.issue("localhost").save(tmp_path)
    files = {"rpc.certificate_file": "chain.pem", "rpc.key_file": "key.pem"}
    flags = [word for key, name in files.items() for word in ("--set", f"{key}={tmp_path / name}")]
    async with served(tmp_path / "F", *flags, listen="localhost:0") as frontier:
        trusted = grpc.ssl_channel_credentials(authority.pem)
        async with grpc.aio.secure_channel(frontier.where, trusted) as channel:
            assert (await client(channel, SERVICE).GetActive(messages.Local())).state
        with pytest.raises(grpc.aio.AioRpcError):  # this one speaks no TLS
            await frontier.call.GetActive(messages.Local(), timeout=5)


async def test_tools_find_the_methods_by_reflection(tmp_path: Path) -> None:
    async with served(tmp_path / "F") as frontier:
        asked = ServerReflectionRequest(file_containing_symbol="urlfrontier.URLFrontier")
        answers = ServerReflectionStub(frontier.channel).ServerReflectionInfo(iter([asked]))
        [answer] = [answer async for answer in answers]
        [described] = answer.file_descriptor_response.file_descriptor_proto
        assert b"PutDiscovered" in described


async def test_figures_are_told_to_prometheus(tmp_path: Path) -> None:
    [port] = free_ports(1)
    where = f"http://127.0.0.1:{port}/metrics"
    async with served(tmp_path / "F", "--metrics", f"127.0.0.1:{port}") as frontier:
        await frontier.put(discovered("http://a.test/"), discovered("http://a.test/"))
        await frontier.get()
        text = await asyncio.to_thread(lambda: urlopen(where).read().decode())
        for line in (
            'frontier_putURLs_discovered_total{discovered="true"} 2',
            "frontier_putURLs_ignored_total 1",
            "frontier_getURLs_total 1",
            "frontier_getURLs_latency_seconds_count 1",
            'gossamer_frontier_urls_in_process{crawl="DEFAULT"} 1',
        ):
            assert f"\n{line}\n" in f"\n{text}", line
    key = (await gossamer("keys", tmp_path / "F", "--add", "p", "--json")).lines()[0]["key"]
    async with served(tmp_path / "F", "--metrics", f"127.0.0.1:{port}"):
        with pytest.raises(HTTPError, match="401"):
            await asyncio.to_thread(lambda: urlopen(where).read())
        asked = Request(where, headers={"Authorization": f"Bearer {key}"})
        assert await asyncio.to_thread(lambda: urlopen(asked).status) == 200
