"""From where a host is asked: the first rule that knows it decides."""

from __future__ import annotations

import pytest

from gossamer.fetchers.countries import Countries
from gossamer.fetchers.regions import Regions
from gossamer.records import Exchange, Fetched
from gossamer.settings import FetchersSettings


class Names:
    """A resolver that knows some names."""

    def __init__(self, **names: str) -> None:
        self._names = names

    async def resolve(self, host: str) -> list[str]:
        if host == "broken.test":
            raise OSError
        return [self._names[host.partition(".")[0]]] if host.partition(".")[0] in self._names else []

    def check(self, host: str) -> None: ...
    def failed(self, host: str, address: str) -> None: ...
    def worked(self, host: str) -> None: ...


def answered(latency_s: float) -> Fetched:
    return Fetched(Exchange(b"", b"", 200, "", 0.0, 1.0, latency_s), b"")


async def test_the_first_rule_that_knows_a_host_decides(tmp_path: object) -> None:
    file = tmp_path / "countries.csv"  # type: ignore[operator]
    file.write_text('network,country\n"192.0.2.0/24","de"\n198.51.100.0,198.51.100.255,JP\n2001:db8::/32,FR\n')
    settings = FetchersSettings(
        tlds={"fr": "paris"}, countries={"DE": "eu", "JP": "asia"}, country_file=str(file), region="us"
    )
    wanted = {"own.fr": "moon"}
    regions = Regions(settings, wanted.get, Names(a="192.0.2.7", b="198.51.100.1", c="203.0.113.1"))
    there = ["eu", "us"]
    assert await regions.of("own.fr", there) == "moon"
    assert await regions.of("www.example.fr", there) == "paris"
    assert await regions.of("a.test", there) == "eu"
    assert await regions.of("b.test", there) == "asia"
    assert await regions.of("192.0.2.9", there) == "eu"
    for host in ("c.test", "unknown.test", "broken.test"):
        assert await regions.of(host, there) == "us"


async def test_a_host_is_asked_from_where_it_answers_soonest() -> None:
    regions = Regions(FetchersSettings(by_latency=True), lambda host: None, Names())
    there = ["asia", "eu"]
    assert await regions.of("a.test", there) == "asia"
    regions.learn("a.test", "asia", answered(0.3))
    assert await regions.of("a.test", there) == "eu"  # each is tried once
    regions.learn("a.test", "eu", answered(0.02))
    assert await regions.of("a.test", there) == "eu"
    for _ in range(10):
        regions.learn("a.test", "eu", answered(0.9))
    assert await regions.of("a.test", there) == "asia"


@pytest.mark.parametrize(
    ("ip", "country"),
    [
        ("10.0.0.1", "AA"),
        ("10.0.1.0", ""),
        ("10.0.2.255", "BB"),
        ("9.255.255.255", ""),
        ("x", ""),
        ("2001:db8::1", "CC"),
    ],
)
def test_the_country_of_an_address_is_that_of_its_line(ip: str, country: str) -> None:
    lines = ["# a remark", "10.0.2.0,10.0.2.255,bb", "10.0.0.0/24,AA", "2001:db8::/32,CC", "nonsense,AA", ""]
    assert Countries(lines).of(ip) == country
