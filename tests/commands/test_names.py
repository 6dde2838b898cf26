"""A crawl that finds its hosts through a real name server."""

from __future__ import annotations

from pathlib import Path

from gossamer.synthetic_web.options import WebOptions
from gossamer.synthetic_web.server import serve
from gossamer.synthetic_web.web import Web
from tests.crawl.command import gossamer, quick_settings
from tests.fetch.dns_server import NXDOMAIN, addresses, dns_server

HOSTS = 4


async def test_each_name_is_asked_for_once_and_the_summary_says_what_that_was_worth(folder: Path) -> None:
    web = Web(WebOptions(hosts=HOSTS, pages_per_host=6, link_by_name=True))
    async with serve(web) as server, dns_server() as names:
        for host in range(HOSTS):
            names.says(web.atlas.name(host), addresses(web.atlas.address(host)))
        names.says("gone.test", NXDOMAIN)
        flags = ["--allow-private", "--scope", "any", "--workers", 1]
        flags += quick_settings(dns__servers=names.address, fetch__timeout_s=20)
        seeds = [server.url(0), "http://gone.test/"]
        ran = await gossamer("crawl", *seeds, "--dir", folder, *flags)
        assert ran.code == 0 and "Done for now" in ran.out, ran.err
        assert {web.atlas.name(host): len(names.asked(web.atlas.name(host))) for host in range(HOSTS)} == {
            web.atlas.name(host): 1 for host in range(HOSTS)
        }
        why = await gossamer("why", folder, "http://gone.test/", "--json")
    assert "look-ups of names" in ran.out and "% from the cache" in ran.out and "ms a query" in ran.out
    [facts] = why.lines()
    assert (facts["state"], facts["reason"]) == ("waiting", "robots_unreachable")
    assert facts["detail"] == "robots.txt: dns: gone.test has no address (tried 2 times)"
