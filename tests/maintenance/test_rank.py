"""`gossamer rank` after a real crawl, beside a PageRank of a few lines over what the synthetic web says of itself."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from gossamer.export import positions
from gossamer.folder import CrawlFolder
from gossamer.frontier.disk.store import RocksStore
from gossamer.frontier.disk.tables import TABLES
from gossamer.schedule.ranks import FILE, Ranks, Table
from gossamer.synthetic_web.options import RobotsKind, WebOptions
from gossamer.synthetic_web.server import serve
from gossamer.synthetic_web.truth import Truth, truth
from gossamer.synthetic_web.web import Web
from gossamer.url.canonical import canonicalize
from tests.crawl.command import gossamer, quick_settings
from tests.export.crawls import command, copied, exported, rows
from tests.shared_crawl import once
from tests.supervisor.running import running

OPTIONS = WebOptions(
    seed=3,
    hosts=6,
    pages_per_host=14,
    robots_kinds=(RobotsKind.MISSING, RobotsKind.SITEMAP),
    redirects=1 / 10,
    redirect_chains=1 / 20,
    redirect_loops=1 / 20,
    duplicates=1 / 12,
    near_duplicates=1 / 20,
    nofollow=1 / 12,
    not_found=1 / 20,
    hidden=1 / 20,
)


@dataclass(frozen=True)
class Crawls:
    half: Path  # stopped after some pages
    whole: Path  # the same, gone on with until nothing was left
    truth: Truth


async def crawl_twice(folder: Path) -> Crawls:
    web, whole = Web(OPTIONS), folder / "whole"
    async with serve(web) as server:
        flags = ["--dir", whole, "--allow-private", "--scope", "any", "--workers", "1"]
        flags += quick_settings(politeness__delay_s=0.01, politeness__ip_requests_per_s=1000, crawl__partitions=3)
        assert (await gossamer("crawl", server.url(0), *flags, "--max-pages", 40)).code == 0
        half = copied(whole, folder / "half")
        ran = await gossamer("crawl", *flags, "--set", "crawl.max_pages=1000000")
        assert ran.code == 0, ran.err
        return Crawls(half, whole, truth(web, [server.url(0)], follow_sitemaps=True, canonicalize=canonicalize))


@pytest.fixture(scope="session")
def crawls(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Crawls:
    return once(tmp_path_factory, worker_id, "ranks", crawl_twice)


@pytest.fixture
def crawl(crawls: Crawls, tmp_path: Path) -> Path:
    return copied(crawls.whole, tmp_path / "crawl")


def ranked(crawl: Path, *flags: str) -> dict[str, Any]:
    ran = command("rank", crawl, "--json", *flags)
    assert ran.code == 0, ran.err
    (facts,) = ran.lines()
    return facts


def opened(crawl: Path) -> Ranks:
    ranks = Ranks.open(crawl, pytest.fail)
    assert ranks is not None
    return ranks


# ---- the truth, with plain dictionaries ------------------------------------------------------------------

Pairs = set[tuple[str, str]]


def true_graph(said: Truth, asked: list[dict[str, Any]]) -> tuple[set[str], Pairs]:
    """Nodes and links. Only the crawl knows which of equal pages came first, and where it left a loop."""
    loops = {page["url"] for page in asked if page["reason"] == "redirect_loop"}
    names = {url: target for url, target in said.redirects.items() if url not in loops}
    names |= {page["url"]: page["same_as"] for page in asked if page["verdict"] == "same"}

    def page_of(url: str) -> str:
        while url in names:
            url = names[url]
        return url

    pages = said.reachable - names.keys()
    # /nofollow/N says it of all its links.
    followed = {page: said.links[page] - said.nofollow for page in pages if "/nofollow/" not in page}
    pairs = {(page, page_of(target)) for page, targets in followed.items() for target in targets}
    return pages | {target for _, target in pairs}, pairs


def naive_pagerank(nodes: Iterable[str], pairs: Pairs) -> dict[str, float]:
    rank = dict.fromkeys(nodes, 1.0)
    rank = {node: 1 / len(rank) for node in rank}
    targets: dict[str, list[str]] = {node: [] for node in rank}
    for source, target in pairs:
        if source != target:
            targets[source].append(target)
    for _ in range(150):
        after = dict.fromkeys(rank, 0.0)
        for node, share in rank.items():
            for target in targets[node]:
                after[target] += 0.85 * share / len(targets[node])
        lost = 1 - sum(after.values())
        rank = {node: share + lost / len(rank) for node, share in after.items()}
    return rank


def host_in(url: str) -> str:
    return urlsplit(url).hostname or ""


def in_table(table: Table, names: Iterable[str]) -> dict[str, float | None]:
    return {name: table.rank(name) for name in names}


# ---- the stories -----------------------------------------------------------------------------------------


def test_the_ranks_are_those_of_the_true_links(crawls: Crawls, crawl: Path) -> None:
    asked = command("pages", crawl, "--json").lines()
    nodes, pairs = true_graph(crawls.truth, asked)
    copies = {page["url"] for page in asked if page["verdict"] == "same"}
    assert len(nodes) > 100 and copies and any(page["reason"] == "redirect_loop" for page in asked)
    facts = ranked(crawl, "--top", "3")
    ranks = opened(crawl)

    of_pages = naive_pagerank(nodes, pairs)
    assert in_table(ranks.pages, of_pages) == pytest.approx(of_pages, rel=1e-5)
    assert facts["pages"]["nodes"] == len(ranks.pages) == len(nodes)
    assert facts["pages"]["links"] == sum(source != target for source, target in pairs)
    best = sorted(of_pages.values(), reverse=True)[:3]
    assert [top["rank"] for top in facts["pages"]["top"]] == pytest.approx(best, rel=1e-5)

    hosts = {(host_in(source), host_in(target)) for source, target in pairs}
    of_hosts = naive_pagerank(map(host_in, nodes), hosts)
    assert in_table(ranks.hosts, of_hosts) == pytest.approx(of_hosts, rel=1e-5)
    assert facts["hosts"]["nodes"] == len(of_hosts)

    for name in crawls.truth.redirects.keys() - nodes | copies:
        assert ranks.page(name) is None
    assert facts["hosts"]["agreement"].keys() == {"spearman", "top", "top_rank"}
    assert facts["pages"]["agreement"]["spearman"] > 0.3


def test_it_says_for_people_what_it_found(crawl: Path) -> None:
    ran = command("rank", crawl, "--top", "2")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.count("  http://127.1.0.") == 2
    assert "the crawl's own estimate of hosts: correlation " in ran.out
    assert not [path for path in crawl.iterdir() if "rank" in path.name and path.name != FILE]


def test_ranked_again_after_the_crawl_went_on_everything_counts(crawls: Crawls, tmp_path: Path) -> None:
    half, whole = copied(crawls.half, tmp_path / "half"), copied(crawls.whole, tmp_path / "whole")
    before, after = ranked(half), ranked(whole)
    assert before["visits"] < after["visits"] and before["pages"]["nodes"] < after["pages"]["nodes"]
    (half / FILE).replace(whole / FILE)
    assert ranked(whole)["pages"] == after["pages"]
    assert len(opened(whole).pages) == after["pages"]["nodes"]


async def test_a_crawl_can_be_ranked_while_it_runs(folder: Path) -> None:
    web = Web(WebOptions.plain(hosts=4, pages_per_host=12))
    async with serve(web) as server, running(server, folder / "c", "--scope", "any", asked=12) as crawl:
        while (await crawl.now()).totals.pages < 6:
            pass  # asking takes its time
        ran = await gossamer("rank", folder / "c", "--json")
        assert ran.code == 0, ran.err
        assert "Complete" in await crawl.end()
        (early,) = ran.lines()
        assert 6 <= early["visits"] <= ranked(folder / "c")["visits"] == 48


def test_without_links_there_is_nothing_to_rank(folder: Path) -> None:
    CrawlFolder(folder / "c").create()
    assert "is not a crawl" in command("rank", folder / "c").err
    (folder / "c" / "gossamer.toml").write_text("[crawl]\npartitions = 1\n")
    RocksStore(CrawlFolder(folder / "c").partition(0), TABLES).close()
    ran = command("rank", folder / "c")
    assert (ran.code, ran.out) == (1, "")
    assert "has no links yet" in ran.err
    assert not (folder / "c" / FILE).exists()


def test_what_a_killed_one_left_is_taken_away(crawl: Path) -> None:
    (crawl / "ranking").mkdir()
    (crawl / "ranking" / "run-0").write_bytes(b"half of some")
    (crawl / f".{FILE}.partial").write_bytes(b"half of it")
    (crawl / FILE).write_bytes(b"not even ours")
    facts = ranked(crawl)
    assert len(opened(crawl).pages) == facts["pages"]["nodes"]
    assert {path.name for path in crawl.iterdir() if "rank" in path.name} == {FILE}


def test_an_export_that_is_under_way_is_waited_for(crawl: Path) -> None:
    with positions.locked(crawl):
        ran = command("rank", crawl)
    assert (ran.code, "exported, ranked or compacted" in ran.err) == (1, True)


def test_exports_have_the_ranks_once_there_are_some(crawl: Path, tmp_path: Path) -> None:
    exported(crawl, "parquet", tmp_path / "before")
    for table in ("pages", "hosts"):
        unknown = "SELECT DISTINCT pagerank FROM '{out}/*.parquet'"
        assert rows(unknown, out=tmp_path / "before" / table) == [(None,)]
    ranked(crawl)
    ranks = opened(crawl)
    exported(crawl, "parquet", tmp_path / "out")
    pages = rows("SELECT url, fetch_redirect, pagerank FROM '{out}/pages/*.parquet'", out=tmp_path / "out")
    assert all(rank == ranks.pages.rank(url) for url, _, rank in pages)
    assert {target is None for _, target, rank in pages if rank is None} == {True, False}  # copies, and redirects
    hosts = dict(rows("SELECT host, pagerank FROM '{out}/hosts/*.parquet'", out=tmp_path / "out"))
    assert hosts == in_table(ranks.hosts, hosts)
    assert sum(hosts.values()) == pytest.approx(1, abs=1e-5)
    exported(crawl, "jsonl", tmp_path / "pages.jsonl")
    lines = map(json.loads, (tmp_path / "pages.jsonl").read_text().splitlines())
    assert {line["url"]: line["pagerank"] for line in lines} == {url: rank for url, _, rank in pages}


def test_an_export_passes_over_damaged_ranks_and_says_so(crawl: Path, tmp_path: Path) -> None:
    ranked(crawl)
    (crawl / FILE).write_bytes((crawl / FILE).read_bytes()[:-1])
    ran = command("export", crawl, "--to", "jsonl", "--out", tmp_path / "pages.jsonl")
    assert (ran.code, "is not used" in ran.err) == (0, True)
    assert '"pagerank":null' in (tmp_path / "pages.jsonl").read_text()
