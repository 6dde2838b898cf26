"""Outgoing proxies, through the command: who brought each request is judged by the access log of the web."""

from __future__ import annotations

import gzip
import json
import re
import signal
from pathlib import Path
from typing import Any

import pytest

from gossamer.synthetic_web.options import RobotsKind, WebOptions
from gossamer.synthetic_web.server import Server, serve
from gossamer.synthetic_web.web import Web
from tests.api.serving import served
from tests.crawl.command import gossamer, quick_settings, start, until
from tests.crawl.judge import broken_delays, requests_at_once
from tests.fetch.certificates import Authority
from tests.fetch.raw_server import raw_server
from tests.fetch.tls_server import tls_server
from tests.getting_in.pages import answers, html
from tests.getting_in.proxy_servers import PASSWORD, MicroSocks, ProxyServer, TinyProxy, running
from tests.getting_in.test_credentials import stored_in
from tests.servers.tls import tls_in_front_of

PATIENT = {"fetch__timeout_s": 30, "fetch__connect_timeout_s": 20}
HOSTS = 6


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "crawl"


def small_web(pages: int = 4) -> Web:
    kinds = (RobotsKind.OPEN, RobotsKind.DELAY)
    return Web(WebOptions(hosts=HOSTS, pages_per_host=pages, links_per_page=6, robots_kinds=kinds, seed=5))


def through(proxy: str, *more: object, **settings: object) -> list[object]:
    flags = ["--allow-private", "--scope", "any", "--workers", 2, "--set", f"fetch.proxy={proxy}"]
    return [*flags, *more, *quick_settings(**PATIENT | settings)]


async def crawl(folder: Path, url: str, *flags: object, environment: dict[str, str] | None = None) -> None:
    ran = await gossamer("crawl", url, "--dir", folder, *flags, timeout_s=120, environment=environment)
    assert ran.code == 0, ran.err
    assert PASSWORD not in ran.out + ran.err


async def now(folder: Path) -> dict[str, Any]:
    ran = await gossamer("status", folder, "--json")
    assert ran.code == 0, ran.err
    facts: dict[str, Any] = json.loads(ran.out)
    return facts


def clients(web: Server) -> set[str]:
    return {entry.client for entry in web.log.entries}


def addresses_in(folder: Path) -> set[str]:
    """The WARC-IP-Address of every record."""
    warcs = b"".join(gzip.decompress(path.read_bytes()) for path in folder.rglob("*.warc.gz"))
    return {found.decode() for found in re.findall(rb"WARC-IP-Address: (\S+)", warcs)}


@pytest.mark.parametrize(("server", "scheme"), [(TinyProxy, "http"), (MicroSocks, "socks5"), (MicroSocks, "socks5h")])
async def test_everything_goes_through_the_proxy_and_is_as_polite(
    folder: Path, server: type[ProxyServer], scheme: str
) -> None:
    proxy = server()
    web = small_web()
    with running(proxy):
        async with serve(web) as there:
            await crawl(folder, there.url(0), *through(proxy.url(scheme)))
    entries = there.log.entries
    assert clients(there) == {proxy.address} and len({entry.host for entry in entries}) == HOSTS
    assert {entry.host for entry in entries if entry.path == "/robots.txt"} == {entry.host for entry in entries}
    assert requests_at_once(entries) == [] and broken_delays(entries, web) == []
    assert addresses_in(folder) <= {entry.host for entry in entries}  # and never the proxy's own
    facts = await now(folder)
    assert facts["failed"] == facts["waiting"] == 0 and facts["pages"] >= HOSTS * 4


async def test_of_the_environment_nothing_is_used_unless_the_setting_says_so(folder: Path, tmp_path: Path) -> None:
    proxy = TinyProxy(wants_password=True)
    environment = {"http_proxy": proxy.url(has_password=True), "https_proxy": "http://127.0.0.1:1"}
    with running(proxy):
        async with serve(small_web()) as web:
            first, second = (web.url(index) for index in range(2))
            told = await gossamer("fetch", first, "--allow-private", "--json", environment=environment)
            assert told.lines()[0]["steps"][0]["status"] == 200 and proxy.address not in clients(web)
            excepted = first.split("/")[2].partition(":")[0]
            environment |= {"no_proxy": f"other.test, {excepted}/32"}
            await crawl(folder, first, *through("environment"), environment=environment)
            asked_by = {entry.host: entry.client for entry in web.log.entries}
    assert asked_by.pop(excepted) != proxy.address
    assert set(asked_by.values()) == {proxy.address} and second.split("/")[2].partition(":")[0] in asked_by
    with_bad = {"https_proxy": f"http://me:{PASSWORD}@127.0.0.1"}  # no port
    ran = await gossamer("crawl", first, "--dir", tmp_path / "x", *through("environment"), environment=with_bad)
    assert ran.code == 2 and "https_proxy in the environment" in ran.err and PASSWORD not in ran.err


@pytest.mark.parametrize("kind", ["http", "https", "socks5", "socks5h"])
async def test_https_goes_through_every_kind_of_proxy(tmp_path: Path, kind: str) -> None:
    """The server's certificate is looked at by us, and not by the proxy. `fetch` says what it went through."""
    proxy = MicroSocks() if kind.startswith("socks") else TinyProxy()
    authority = Authority("root")
    (ca_file := tmp_path / "ca.pem").write_bytes(authority.pem)
    with running(proxy):
        async with (
            tls_server(authority.issue("localhost").context()) as server,
            tls_in_front_of(proxy.port, authority.issue("127.0.0.1").context()) as tls_port,
        ):
            shown = f"https://127.0.0.1:{tls_port}" if kind == "https" else proxy.url(kind)
            told = await gossamer(
                *("fetch", server.url("localhost"), "--allow-private", "--json", "--set", f"fetch.proxy={shown}"),
                *("--set", f"fetch.ca_file={ca_file}", "--set", "dns.overrides=localhost=127.0.0.1"),
            )
            text = await gossamer(
                *("fetch", server.url("localhost"), "--allow-private", "--set", f"fetch.proxy={shown}"),
                *("--set", f"fetch.ca_file={ca_file}", "--set", "dns.overrides=localhost=127.0.0.1"),
            )
    [step] = told.lines()[0]["steps"]
    assert step["status"] == 200 and step["proxy"] == shown and server.requests, told.out
    assert step["ip"] == ("127.0.0.1" if kind == "socks5" else None)  # who resolves the name knows the address
    assert f"through {shown} after" in text.out


@pytest.mark.parametrize("server", [TinyProxy, MicroSocks])
async def test_its_password_is_written_down_nowhere(folder: Path, tmp_path: Path, server: type[ProxyServer]) -> None:
    proxy = server(wants_password=True)
    secret = tmp_path / "proxy"
    secret.write_text(proxy.url(has_password=True) + "\n")
    log = tmp_path / "log"
    flags = ["--set", "log.level=debug", "--set", f"log.file={log}"]
    with running(proxy):
        async with serve(small_web()) as web:
            environment = {"OUR_PROXY": proxy.url(has_password=True)}
            await crawl(folder, web.url(0), *through("env:OUR_PROXY", *flags), environment=environment)
            assert clients(web) == {proxy.address}
            more = folder.with_name("by-file")
            await crawl(more, web.url(0), *through(f"file:{secret}"))
            written = await gossamer(
                "crawl", web.url(0), "--dir", tmp_path / "x", *through(secret.read_text().strip())
            )
            missing = await gossamer("crawl", web.url(0), "--dir", tmp_path / "x", *through("env:NOT_THERE"))
    assert written.code == 2 and PASSWORD not in written.err and "env:NAME or file:PATH" in written.err
    assert missing.code == 2 and "NOT_THERE" in missing.err
    assert f"proxy={proxy.url()}" in log.read_text() or proxy.url() in log.read_text()
    said = log.read_text() + (await gossamer("config", folder)).out
    with served(folder, secrets=[PASSWORD]) as api:
        said += str([api.get(path) for path in ("/status", "/pages", "/hosts")]) + api.ask("GET", "/metrics").text
    assert PASSWORD not in said
    assert PASSWORD.encode() not in stored_in(folder) + stored_in(more)


async def test_no_host_is_blamed_while_its_proxy_is_away(folder: Path) -> None:
    """Killed in the middle, and back on the same port: nothing failed, no try was used up, and the status says why it
    waited."""
    proxy = TinyProxy()
    async with serve(small_web(pages=12)) as web:
        with running(proxy):
            flags = through(proxy.url(), politeness__delay_s=0.3)
            process = await start("crawl", web.url(0), "--dir", folder, *flags)
            await until(lambda: len(web.log.entries) >= 20, timeout_s=120)
            proxy.kill()
            trouble = None
            while trouble is None:
                assert process.returncode is None
                facts = (await now(folder))["now"]
                trouble = facts["proxies"][0]["trouble"] if facts and facts["proxies"] else None
            with served(folder) as api:
                [told] = api.get("/status")["proxies"]
            shown = await gossamer("status", folder)
            waits = await gossamer("hosts", folder, "--json")
            proxy.start()
            _, err = await process.communicate()
    assert process.returncode == 0, err.decode()
    assert told == {"proxy": proxy.url(), "trouble": trouble} and "no host is blamed" in shown.out
    assert "[proxy]" in waits.out or '"proxy"' in waits.out
    assert b"no host is blamed; nothing is lost" in err and b"is back" in err
    facts = await now(folder)
    assert facts["failed"] == facts["waiting"] == facts["resting"] == 0 and facts["reasons"] == {}
    hosts = (await gossamer("hosts", folder, "--json")).lines()
    assert [host["errors"] for host in hosts] == [0] * HOSTS
    assert clients(web) == {proxy.address}


async def test_a_proxy_that_wants_another_password_is_waited_for(folder: Path) -> None:
    proxy = TinyProxy(wants_password=True)
    with running(proxy):
        async with serve(small_web()) as web:
            process = await start("crawl", web.url(0), "--dir", folder, *through(proxy.url()))
            facts: dict[str, Any] = {}
            while not (facts.get("now") and facts["now"]["proxies"] and facts["now"]["proxies"][0]["trouble"]):
                assert process.returncode is None
                facts = await now(folder) if folder.exists() else {}
            why = await gossamer("why", folder, web.url(0))
            process.send_signal(signal.SIGTERM)
            await process.communicate()
            assert web.log.entries == []
            assert "407" in facts["now"]["proxies"][0]["trouble"] and "proxy" in why.out
            await crawl(folder, web.url(0), *through("env:P"), environment={"P": proxy.url(has_password=True)})
            assert clients(web) == {proxy.address}
    assert (await now(folder))["failed"] == 0


async def test_a_host_that_the_proxy_refuses_waits_and_the_others_go_on(folder: Path, tmp_path: Path) -> None:
    proxy = TinyProxy("ConnectPort 1")  # what it tunnels to; other requests are not concerned
    authority = Authority("root")
    with running(proxy):
        async with tls_server(authority.issue("127.0.0.2").context()) as refused, raw_server() as server:
            answers(
                server,
                {"/": html(f'<a href="https://127.0.0.2:{refused.port}/">x</a><a href="/b">b</a>'), "/b": html("b")},
            )
            await crawl(folder, server.url("/"), *through(proxy.url()))
            why = await gossamer("why", folder, f"https://127.0.0.2:{refused.port}/")
    assert len(server.requests) == 3 and refused.requests == []
    assert "[proxy]" in why.out and "403" in why.out and "next try in" in why.out
    facts = await now(folder)
    assert facts["failed"] == 0 and facts["waiting"] == 1


@pytest.mark.parametrize("server", [TinyProxy, MicroSocks])
async def test_a_dead_host_behind_a_proxy_that_works_is_the_hosts_own_fault(
    folder: Path, server: type[ProxyServer]
) -> None:
    proxy = server()
    with running(proxy):
        async with raw_server() as there:
            dead = "http://127.0.0.9:1025/"
            answers(there, {"/": html(f'<a href="{dead}">dead</a><a href="/b">b</a>'), "/b": html("b")})
            await crawl(folder, there.url("/"), *through(proxy.url()))
            why = await gossamer("why", folder, dead)
    assert "connect" in why.out and proxy.url() in why.out
    assert (await now(folder))["pages"] == 2


async def test_each_host_keeps_to_one_of_several_and_goes_to_another_when_it_is_away(folder: Path) -> None:
    proxies = [TinyProxy(), MicroSocks()]
    by_address = {proxy.address: proxy for proxy in proxies}
    async with serve(small_web(pages=12)) as web:
        with running(*proxies):
            both = ",".join(proxy.url() for proxy in proxies)
            process = await start("crawl", web.url(0), "--dir", folder, *through(both, politeness__delay_s=0.3))
            try:
                await until(lambda: len({(e.host, e.client) for e in web.log.entries}) >= HOSTS, timeout_s=120)
                before = len(web.log.entries)
                kept = {(entry.host, entry.client) for entry in web.log.entries}
                assert len(kept) == HOSTS and clients(web) <= set(by_address)
                gone = by_address[next(client for _, client in sorted(kept))]
                gone.kill()
                _, err = await process.communicate()
            finally:
                if process.returncode is None:
                    process.kill()
                    await process.communicate()
            after = web.log.entries[before:]
    assert process.returncode == 0, err.decode()
    [other] = set(by_address) - {gone.address}
    moved = {host for host, client in kept if client == gone.address}
    assert {entry.client for entry in after if entry.host in moved} >= {other}
    facts = await now(folder)
    assert facts["failed"] == facts["waiting"] == 0


async def test_a_policy_chooses_the_proxy_of_a_host_and_none(folder: Path) -> None:
    everybody, one = TinyProxy(), MicroSocks()
    with running(everybody, one):
        async with serve(small_web()) as web:
            hosts = [web.url(index).split("/")[2].partition(":")[0] for index in range(HOSTS)]
            await crawl(folder, web.url(0), *through(everybody.url()), "--max-pages", 1)
            for host, proxy in ((hosts[1], one.url()), (hosts[2], "direct")):
                ran = await gossamer("policy", folder, host, "--host", "--proxy", proxy)
                assert ran.code == 0 and f"proxy={proxy}" in ran.out, ran.err
            bad = await gossamer("policy", folder, hosts[1], "--host", "--proxy", f"http://me:{PASSWORD}@a.test:1")
            with served(folder) as api:
                told = api.get(f"/hosts/{hosts[1]}/policy")
                refused = api.tell("PUT", f"/hosts/{hosts[1]}/policy", {"proxy": "http://169.254.169.254:80"})
                taken = api.tell("PUT", f"/hosts/{hosts[3]}/policy", {"proxy": everybody.url()})
            tried = await gossamer("fetch", web.url(1), "--dir", folder, "--json")
            await crawl(folder, web.url(0), *through(everybody.url()), "--max-pages", 1000)
            by_host = {(entry.host, entry.client) for entry in web.log.entries}
    assert bad.code == 2 and PASSWORD not in (folder / "policies.json").read_text()
    assert told["policy"]["proxy"] == one.url() and refused.status_code == 400 and taken.status_code == 200
    assert tried.lines()[0]["steps"][0]["proxy"] == one.url()
    assert {client for host, client in by_host if host == hosts[1]} == {one.address}
    assert {client for host, client in by_host if host in (hosts[0], hosts[3])} == {everybody.address}
    assert not {client for host, client in by_host if host == hosts[2]} & {everybody.address, one.address}


@pytest.mark.parametrize("scheme", ["http", "socks5", "socks5h"])
async def test_a_proxy_leads_to_no_private_address_that_we_can_know_of(tmp_path: Path, scheme: str) -> None:
    """Literal addresses always, names where we resolve them. A proxy at a private address is none of that."""
    proxy = TinyProxy() if scheme == "http" else MicroSocks()
    names = "dns.overrides=inside.test=127.0.0.1"
    with running(proxy):
        async with raw_server() as server:
            answers(server, {"/": html("inside")})
            flags = ("--json", "--set", f"fetch.proxy={proxy.url(scheme)}", "--set", names)
            literal = await gossamer("fetch", server.url("/"), *flags)
            named = await gossamer("fetch", server.url("/", host="inside.test"), *flags)
            blocked = await gossamer(
                *("fetch", server.url("/", host="a.blocked.test"), *flags, "--set", "dns.blocked=blocked.test")
            )
    assert literal.lines()[0]["steps"][0]["reason"] == "private_address"
    if scheme != "socks5h":  # there the proxy was asked, and does not know the name
        assert named.lines()[0]["steps"][0]["reason"] == "private_address"
    assert blocked.lines()[0]["steps"][0]["reason"] == "blocked"
    assert server.requests == []
