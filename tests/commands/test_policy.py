"""Policies from the command: words for priorities, and authorities of many from a list that others publish."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gossamer.cli import run
from gossamer.clock import RealClock
from gossamer.cluster.partitions import partition_of
from gossamer.commands.policy import read_authorities
from gossamer.config import UsageError
from gossamer.folder import CrawlFolder
from gossamer.frontier.disk.store import RocksStore
from gossamer.frontier.disk.tables import TABLES
from gossamer.frontier.frontier import Frontier
from gossamer.settings import FrontierSettings, PolitenessSettings
from gossamer.url.typed import NotASeed, seed_in
from tests.api.serving import empty_crawl
from tests.export.crawls import command
from tests.frontier.stories import link


def test_authorities_are_given_in_bulk_and_what_else_was_said_stays(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    crawl = empty_crawl(folder / "crawl")
    ranks = folder / "ranks.csv"
    ranks.write_text("domain,authority\nexample.org,0.95\nwww.example.org,low\n\nExample.COM , high\n")
    assert run(["policy", str(crawl), "example.org", "--max-pages", "7"]) == 0
    assert run(["policy", str(crawl), "--file", str(ranks)]) == 0
    capsys.readouterr()
    assert run(["policy", str(crawl), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "hosts": {"www.example.org": {"priority": 0.3}},
        "sites": {"example.org": {"max_pages": 7, "priority": 0.95}, "example.com": {"priority": 0.9}},
        "crawl": {},
    }


def test_a_list_of_places_gives_the_first_the_most_and_nobody_less_than_a_start(folder: Path) -> None:
    ranks = folder / "top.csv"
    ranks.write_text("1,first.test\r\n1000,middle.test\r\n1000000,last.test\r\n")
    found = dict(read_authorities(str(ranks), FrontierSettings()))
    assert found == {"first.test": 1.0, "middle.test": 0.8333, "last.test": 0.6667}


@pytest.mark.parametrize("line", ["example.org", "example.org,2", "example.org,urgent", "a b,0.5", "0,example.org"])
@pytest.mark.parametrize("before", ["", "example.com,0.5\n"])
def test_a_line_that_makes_no_sense_is_named_with_its_number(folder: Path, before: str, line: str) -> None:
    ranks = folder / "ranks.csv"
    ranks.write_text(f"{before}{line}\n")
    with pytest.raises(UsageError, match=rf"ranks\.csv, line {2 if before else 1}: "):
        list(read_authorities(str(ranks), FrontierSettings()))


@pytest.mark.parametrize("first", ["example.org,medium", "example.org,.6"])
def test_a_first_line_without_a_digit_is_no_heading(folder: Path, first: str) -> None:
    ranks = folder / "ranks.csv"
    ranks.write_text(f"{first}\n")
    assert dict(read_authorities(str(ranks), FrontierSettings())) == {"example.org": 0.6}


def test_a_priority_may_be_a_word_wherever_seeds_are_typed() -> None:
    assert [seed_in(f"http://a.test/ priority={word}").priority for word in ("high", "medium", "low", "0.25")] == [
        *(0.9, 0.6, 0.3, 0.25)
    ]
    with pytest.raises(NotASeed, match="urgent"):
        seed_in("http://a.test/ priority=urgent")


def test_a_policy_takes_the_host_of_a_url_and_warns_where_nobody_knows_it(folder: Path) -> None:
    crawl = empty_crawl(folder / "crawl")
    url = "http://www.example.org/"
    store = RocksStore(CrawlFolder(crawl).partition(partition_of(url, 2)), TABLES)
    clock, settings = RealClock(), (FrontierSettings(), PolitenessSettings())
    frontier = Frontier.open(store, store.folder, clock, lambda link: None, *settings)
    frontier.add([link(url)])
    frontier.close()
    store.close()

    known = command("policy", crawl, "https://www.example.org/docs?x", "--block")
    assert known.code == 0 and known.out.split() == ["host", "www.example.org", "blocked=True"]
    assert known.err == (
        "gossamer: a policy is for a host or a site: taking the host of https://www.example.org/docs?x, "
        "www.example.org\n"
    )
    assert command("policy", crawl, "example.org", "--pause").err == ""  # the site of a host that it knows
    slip = command("policy", crawl, "www.exmaple.org", "--pause")
    assert slip.code == 0 and slip.err == (
        "gossamer: the crawl knows no host www.exmaple.org so far: did you mean www.example.org? the policy is kept "
        "for when it does\n"
    )
    assert "no host of the site exmaple.org" in command("policy", crawl, "exmaple.org", "--pause").err
    for nonsense in ("http://", "a b.test"):
        assert command("policy", crawl, nonsense, "--pause").code == 2
