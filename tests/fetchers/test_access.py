"""Who may fetch for a crawl: by a key of its own scope, or by a certificate."""

from __future__ import annotations

from pathlib import Path

import grpc.aio
import pytest

from gossamer.access.keys import Keys
from gossamer.fetchers.fetchers_pb2 import WorkersRequest
from gossamer.rpc.methods import client
from tests.crawl.command import until
from tests.fetch.certificates import Authority
from tests.fetchers.crawling import SERVICES, crawling, free_port
from tests.fetchers.test_reports import post


async def refused(join: str, key: str = "") -> grpc.StatusCode:
    metadata = [("authorization", f"Bearer {key}")] if key else []
    async with grpc.aio.insecure_channel(join) as channel:
        with pytest.raises(grpc.aio.AioRpcError) as fault:
            await client(channel, SERVICES["Crawler"]).Workers(WorkersRequest(), metadata=metadata, timeout=10)
    return fault.value.code()


async def test_a_key_for_fetchers_lets_them_fetch_and_nothing_else(tmp_path: Path) -> None:
    folder, port = tmp_path / "c", free_port()
    folder.mkdir()
    keys = Keys(folder)
    fetch, read = keys.add("fetchers", "fetch"), keys.add("anna", "read")
    (tmp_path / "key").write_text(fetch)
    async with crawling(folder, hosts=2, pages=400) as made:
        await made.start("--serve", f"127.0.0.1:{port}", politeness__delay_s=0.5)
        await made.fetcher("nobody")
        await until(lambda: "UNAUTHENTICATED" in made.said("nobody"), 90)
        await made.fetcher("known", "--key-file", tmp_path / "key")
        await made.until_joined("known")
        assert await refused(made.join) is grpc.StatusCode.UNAUTHENTICATED
        assert await refused(made.join, read) is grpc.StatusCode.PERMISSION_DENIED
        report = {"crawl": "c", "lease": "00", "epoch": 1, "url": "http://a.test/", "status": 200}
        assert (await post(port, report, read))[0] == 403
        assert await post(port, report, fetch) == (200, {"taken": False, "reason": "unknown"})
        assert [each["name"] for each in (await made.status())["now"]["fetchers"]] == ["known"]


async def test_with_certificates_only_those_who_have_one_join(tmp_path: Path) -> None:
    authority = Authority()
    (tmp_path / "ca.pem").write_bytes(authority.pem)
    for name in ("server", "own"):
        (tmp_path / name).mkdir()
        authority.issue("127.0.0.1", is_client=name == "own").save(tmp_path / name)
    server, own = tmp_path / "server", tmp_path / "own"
    async with crawling(tmp_path / "c", hosts=2, pages=4) as made:
        await made.start(
            rpc__certificate_file=server / "chain.pem",
            rpc__key_file=server / "key.pem",
            rpc__client_ca_file=tmp_path / "ca.pem",
        )
        trusted = ("--ca-file", tmp_path / "ca.pem")
        await made.fetcher("stranger", *trusted)
        named = ("--certificate-file", own / "chain.pem", "--certificate-key-file", own / "key.pem")
        await made.fetcher("known", *trusted, *named)
        await made.ended()
        assert len(made.web.log.entries) >= 8
    assert "nobody gives jobs" in made.said("stranger") and "workers" not in made.said("stranger")
