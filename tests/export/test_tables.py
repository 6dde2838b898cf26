"""The tables of a real crawl, read by DuckDB and compared with what the crawl says of itself."""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path
from typing import Any

import pytest

from gossamer.export.lines import lines_in
from gossamer.export.rows import HOSTS, LINKS, MARKDOWN, PAGES, TEXT
from tests.crawl.command import gossamer
from tests.export.crawls import UNCOPIED_BODY, Crawls, command, copied, exported, rows

ROOT = Path(__file__).parent.parent.parent


@pytest.fixture(scope="module")
def tables(crawls: Crawls, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Everything as Parquet, with the texts, and with the pages that do not want to be indexed."""
    folder = tmp_path_factory.mktemp("tables")
    crawl = copied(crawls.whole, folder / "crawl")
    exported(crawl, "parquet", folder / "out", "--with-noindex", "--text")
    return folder / "out"


def facts(verb: str, crawl: Path) -> list[dict[str, Any]]:
    return command(verb, crawl, "--json").lines()


def test_the_counts_are_those_of_status(crawls: Crawls, tables: Path) -> None:
    (status,) = facts("status", crawls.whole)
    counts = rows(
        """SELECT count(*) FILTER (verdict IS NOT NULL), count(*) FILTER (verdict IN ('same', 'near')),
                  count(*) FILTER (fetch_redirect IS NOT NULL), sum(body_bytes) FILTER (verdict IS NOT NULL)
           FROM '{out}/pages/*.parquet' WHERE is_latest""",
        out=tables,
    )
    assert counts == [(status["pages"], status["duplicates"], status["redirects"], status["bytes"])]
    assert rows("SELECT count(*), sum(requests) FROM '{out}/hosts/*.parquet'", out=tables) == [
        (status["hosts"], status["requests"])
    ]


def test_every_page_is_as_the_crawl_knows_it(crawls: Crawls, tables: Path) -> None:
    asked = {page["url"]: page for page in facts("pages", crawls.whole) if page["archive"]}
    names = (
        "url fetch_status content_digest content_mime_detected verdict same_as distance title simhash depth source"
    )
    found = rows(f"SELECT {names.replace(' ', ', ')} FROM '{{out}}/pages/*.parquet'", out=tables)
    named = {row[0]: dict(zip(names.split(), row, strict=True)) for row in found}
    assert len(found) == len(named) == len(asked) > 100
    for url, page in asked.items():
        row = named[url]
        assert row["fetch_status"] == page["status"]
        for ours in ("verdict", "title", "simhash", "depth", "source", "distance"):
            assert row[ours] == page[ours], (url, ours)
        if page["verdict"]:
            assert (row["content_digest"], row["content_mime_detected"]) == (page["content_hash"], page["media_type"])
            assert row["same_as"] == page["same_as"]


def test_places_and_redirects_are_those_of_the_records(crawls: Crawls, tables: Path) -> None:
    asked = {page["url"]: page for page in facts("pages", crawls.whole) if page["archive"]}
    columns = "url, warc_filename, warc_record_offset, warc_record_length, fetch_redirect"
    for url, file, offset, length, target in rows(f"SELECT {columns} FROM '{{out}}/pages/*.parquet'", out=tables):
        assert asked[url]["archive"] == {"file": file, "offset": offset, "length": length}
        assert target == asked[url]["moved_to"]


def test_a_page_that_does_not_want_to_be_indexed_is_left_out(crawl: Path, tables: Path, tmp_path: Path) -> None:
    said = exported(crawl, "parquet", tmp_path / "out")
    kept = {url for (url,) in rows("SELECT url FROM '{out}/pages/*.parquet'", out=tmp_path / "out")}
    noindex = {url for (url,) in rows("SELECT url FROM '{out}/pages/*.parquet' WHERE noindex", out=tables)}
    every = {url for (url,) in rows("SELECT url FROM '{out}/pages/*.parquet'", out=tables)}
    assert noindex
    assert kept == every - noindex
    assert (said["visits"], said["left_out"]) == (len(kept), len(noindex))
    assert not noindex & {
        url for (url,) in rows("SELECT source_url FROM '{out}/links/*.parquet'", out=tmp_path / "out")
    }


def test_the_text_is_that_of_the_page_unless_it_forbids_copies(crawl: Path, tables: Path, tmp_path: Path) -> None:
    texts = dict(rows("SELECT url, text FROM '{out}/pages/*.parquet' WHERE verdict = 'original'", out=tables))
    (foreign,) = (text for url, text in texts.items() if "caf%C3%A9" in url)
    assert foreign == "Ein Café in 北京 no copies of this one"
    uncopied = next(url for url in texts if url.endswith("/uncopied"))
    assert texts.pop(uncopied) is None
    assert sum(text is None for text in texts.values()) < len(texts) / 10  # pictures and such
    exported(crawl, "jsonl", tmp_path / "pages.jsonl", "--text", "--with-noarchive")
    found = [json.loads(line) for line in (tmp_path / "pages.jsonl").read_text().splitlines()]
    (shown,) = (row["text"] for row in found if row["url"] == uncopied)
    assert shown in UNCOPIED_BODY.decode()


def test_json_lines_hold_the_same_as_parquet(crawl: Path, tables: Path, tmp_path: Path) -> None:
    exported(crawl, "jsonl", tmp_path / "pages.jsonl.gz", "--with-noindex", "--text")
    lines = [json.loads(line) for line in lines_in(tmp_path / "pages.jsonl.gz")]
    names = [column.name for column in (*PAGES, TEXT)]
    assert [list(line) for line in lines] == [names] * len(lines)
    by_duckdb = f"SELECT {', '.join(names)} FROM '{{out}}/pages/*.parquet'".replace(
        "fetch_time", "strftime(fetch_time, '%Y-%m-%dT%H:%M:%S.%fZ')"
    )
    assert sorted(map(repr, rows(by_duckdb, out=tables))) == sorted(
        repr(tuple(with_microseconds(line).values())) for line in lines
    )


def with_microseconds(line: dict[str, Any]) -> dict[str, Any]:
    """A time without any has no dot."""
    at = line["fetch_time"]
    return line | {"fetch_time": at if "." in at else at.replace("Z", ".000000Z")}


def test_standard_output_gets_everything_and_nothing_is_noted(crawl: Path) -> None:
    ran = asyncio.run(gossamer("export", crawl, "--to", "hostgraph", "--out", "-"))
    assert ran.code == 0
    assert all(line.keys() == {"source_host", "target_host", "links"} for line in ran.lines())
    assert "visits" in ran.err
    assert command("export", crawl).out.startswith("nothing was exported so far")


def test_the_host_graph_adds_up_to_the_links(crawl: Path, tables: Path, tmp_path: Path) -> None:
    exported(crawl, "links", tmp_path / "links.tsv.gz", "--with-noindex")
    exported(crawl, "hostgraph", tmp_path / "graph.tsv", "--with-noindex")
    tsv = "read_csv('{file}', delim='\\t', header=true, quote='', all_varchar=true)"
    in_text = rows(f"SELECT source_url, target_url, anchor, rel FROM {tsv}", file=tmp_path / "links.tsv.gz")
    in_parquet = rows("SELECT source_url, target_url, anchor, rel FROM '{out}/links/*.parquet'", out=tables)
    assert sorted(map(repr, in_text)) == sorted(map(repr, in_parquet))
    assert len(in_parquet) > 500
    graph = rows(f"SELECT source_host, target_host, links::BIGINT FROM {tsv}", file=tmp_path / "graph.tsv")
    assert graph == sorted(
        rows("SELECT source_host, target_host, count(*) FROM '{out}/links/*.parquet' GROUP BY ALL", out=tables)
    )


def test_the_links_of_a_page_are_those_that_were_counted(tables: Path) -> None:
    different = rows(
        """SELECT url, out_links, count(target_url) FROM '{out}/pages/*.parquet'
           LEFT JOIN '{out}/links/*.parquet' ON source_url = url
           WHERE verdict IN ('original', 'near') GROUP BY url, out_links HAVING out_links <> count(target_url)""",
        out=tables,
    )
    assert different == []


DOCUMENT = (ROOT / "docs" / "exports.md").read_text(encoding="utf-8")


def test_the_document_explains_every_column() -> None:
    assert [
        column.name for column in (*PAGES, TEXT, MARKDOWN, *LINKS, *HOSTS) if f"`{column.name}`" not in DOCUMENT
    ] == []


def test_every_query_of_the_document_gives_something(tables: Path) -> None:
    queries = re.findall(r"```sql\n(.*?)```", DOCUMENT, re.DOTALL)
    assert len(queries) > 5
    for query in queries:
        assert rows(query.replace("'tables/", f"'{tables}/")), query
