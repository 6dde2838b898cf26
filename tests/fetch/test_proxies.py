"""Who is to blame for a request that did not get through a proxy, and when it is tried again."""

from __future__ import annotations

from collections import Counter

from gossamer.clock import VirtualClock
from gossamer.fetch.proxies import AWAY_S, AWAY_S_MAX, CARRIED_S, DENIED_S, Kind, Proxies, trouble_in
from gossamer.records import Failed, Postponed, Reason, Refused
from gossamer.visitor.proxies import Proxy, ProxyNow

ONE, TWO = "http://one.test:1", "socks5://two.test:2"
AWAY, UNREACHED, DENIED = (Kind.AWAY, "no connection"), (Kind.UNREACHED, "502"), (Kind.DENIED, "403")


def chosen(proxies: Proxies, host: str = "a.test") -> Proxy:
    proxy = proxies.choose(f"http://{host}/", host)
    assert isinstance(proxy, Proxy), proxy
    return proxy


def test_hosts_are_spread_and_each_keeps_to_its_proxy(clock: VirtualClock) -> None:
    hosts = [f"h{number}.test" for number in range(200)]
    proxies, later = Proxies((ONE, TWO), clock), Proxies((TWO, ONE), clock)  # whatever their order is
    kept = {host: chosen(proxies, host).shown for host in hosts}
    assert kept == {host: chosen(later, host).shown for host in hosts}
    assert min(Counter(kept.values()).values()) > 70
    gone = chosen(proxies, hosts[0])
    moved = proxies.blame(gone, f"http://{hosts[0]}/", AWAY)
    assert isinstance(moved, Postponed) and moved.wait_s == 0  # through the other one
    assert {chosen(proxies, host).shown for host in hosts} == {ONE, TWO} - {gone.shown}
    proxies.carried(gone)
    assert kept == {host: chosen(proxies, host).shown for host in hosts}


def test_one_request_tries_a_proxy_that_is_away_and_the_others_wait(clock: VirtualClock) -> None:
    said: list[str] = []
    proxies = Proxies((ONE,), clock, say=said.append)
    proxy, waits_s = chosen(proxies), []
    result = proxies.blame(proxy, "http://a.test/", AWAY)
    for _ in range(5):
        assert isinstance(result, Postponed) and result.reason is Reason.PROXY
        waits_s.append(result.wait_s)
        assert isinstance(
            proxies.blame(proxy, "http://b.test/", AWAY), Postponed
        )  # failed together with it: counts once
        assert isinstance(proxies.choose("http://b.test/", "b.test"), Postponed)
        clock.advance(result.wait_s)
        assert chosen(proxies) == proxy
        assert isinstance(proxies.choose("http://b.test/", "b.test"), Postponed)
        result = proxies.blame(proxy, "http://a.test/", AWAY)
    assert waits_s == [AWAY_S, 10.0, 20.0, AWAY_S_MAX, AWAY_S_MAX]
    assert proxies.report() == (ProxyNow(ONE, "no connection"),)
    proxies.carried(proxy)
    assert chosen(proxies, "b.test") == proxy and proxies.report() == (ProxyNow(ONE),)
    assert len(said) == 2 and said[1].endswith("is back")


def test_a_host_that_a_proxy_refuses_is_not_asked_for_again_for_a_while(clock: VirtualClock) -> None:
    proxies = Proxies((ONE,), clock)
    refused = proxies.blame(chosen(proxies), "http://a.test/", DENIED)
    assert isinstance(refused, Refused) and refused.wait_s == DENIED_S
    assert isinstance(proxies.choose("http://a.test/x", "a.test"), Refused) and chosen(proxies, "b.test")
    clock.advance(DENIED_S)
    assert chosen(proxies, "a.test")


def test_of_what_a_proxy_cannot_reach_one_host_is_to_blame_and_many_are_not(clock: VirtualClock) -> None:
    proxies = Proxies((ONE,), clock)
    proxy = chosen(proxies)
    alone = [type(proxies.blame(proxy, "http://a.test/", UNREACHED)) for _ in range(3)]
    assert alone == [Postponed, Postponed, Failed]
    proxies.carried(proxy)
    assert isinstance(proxies.blame(proxy, "http://a.test/", UNREACHED), Failed)  # others are reached
    clock.advance(CARRIED_S + 1)
    results = [proxies.blame(proxy, f"http://h{number}.test/", UNREACHED) for number in range(6)]
    assert {type(result) for result in results} == {Postponed}
    assert proxies.report()[0].trouble == "502"


def test_a_policy_that_names_what_is_not_there_lets_its_host_wait(clock: VirtualClock) -> None:
    wanted = {"a.test": "env:NOT_THERE_AT_ALL", "b.test": "direct", "c.test": TWO}
    proxies = Proxies((ONE,), clock, wanted.get)
    waits = proxies.choose("http://a.test/", "a.test")
    assert isinstance(waits, Postponed) and "NOT_THERE_AT_ALL" in waits.detail
    assert proxies.choose("http://b.test/", "b.test") is None
    assert chosen(proxies, "c.test").shown == TWO and chosen(proxies, "d.test").shown == ONE


def test_other_schemes_do_not_go_around_a_proxy(clock: VirtualClock) -> None:
    refused = Proxies((ONE,), clock).choose("ftp://a.test/", "a.test")
    assert isinstance(refused, Refused) and refused.reason is Reason.SCHEME
    assert Proxies((), clock).choose("ftp://a.test/", "a.test") is None


def test_a_proxys_own_answers_are_told_from_those_of_hosts() -> None:
    assert trouble_in(503, b"HTTP/1.1 503 Busy\r\nServer: nginx\r\n\r\n") is None
    assert trouble_in(200, b"HTTP/1.1 200 OK\r\nServer: tinyproxy/1\r\n\r\n") is None
    for status, head, kind in (
        (407, b"HTTP/1.1 407 No\r\n\r\n", Kind.AWAY),
        (503, b"HTTP/1.1 503 No\r\nX-Squid-Error: ERR_CONNECT_FAIL 111\r\n\r\n", Kind.UNREACHED),
        (403, b"HTTP/1.1 403 No\r\nX-Squid-Error: ERR_ACCESS_DENIED 0\r\n\r\n", Kind.DENIED),
        (500, b"HTTP/1.1 500 No\r\nServer: tinyproxy/1.11.1\r\n\r\n", Kind.UNREACHED),
        (502, b"HTTP/1.1 502 No\r\nProxy-Status: p; error=connection_refused\r\n\r\n", Kind.UNREACHED),
    ):
        found = trouble_in(status, head)
        assert found is not None and found[0] is kind
