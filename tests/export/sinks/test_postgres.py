"""Tables in PostgreSQL follow a crawl: whatever happens to either of them, they say what it says in the end."""

from __future__ import annotations

import asyncio
import signal
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from gossamer.export.sinks.postgres import MIGRATIONS
from tests.crawl.command import gossamer, start, until
from tests.export.sinks.following import (
    OPTIONS,
    crawl_of,
    execute,
    has_asked,
    must_be_equal,
    new_database,
    pages_of,
    query,
    rows,
    small_web,
)
from tests.servers.postgres import ENVIRONMENT, server

SOON = {  # everything is visited again within seconds
    "schedule__shortest_s": 1,
    "schedule__longest_s": 60,
    "schedule__first_guess_s": 2,
    "schedule__visits_a_day": 8 * 86_400,
}


async def test_the_tables_have_the_pages_of_the_crawl_and_then_what_is_new(tmp_path: Path) -> None:
    folder, url = tmp_path / "crawl", new_database()
    async with small_web() as web:
        crawl = crawl_of(web, folder, sinks__postgres=url, sinks__links="true")
        half = await gossamer(*crawl, "--max-pages", 20, environment=ENVIRONMENT)
        assert half.code == 0, half.err
        await must_be_equal(folder, url)
        before = await rows(url)
        whole = await gossamer(*crawl, "--max-pages", 1000, environment=ENVIRONMENT)
        assert whole.code == 0, whole.err
    await must_be_equal(folder, url)
    after = await rows(url)
    assert before.items() <= after.items() and len(after) > len(before)  # rows of before were not touched
    links = await query(url, "SELECT source_hash, count(*) AS links FROM links GROUP BY source_hash")
    wanted = {row["url_hash"]: row["out_links"] for row in after.values() if row["verdict"] == "original"}
    assert {row["source_hash"]: row["links"] for row in links}.items() >= {
        (source, count) for source, count in wanted.items() if count
    }
    domain = (await query(url, "SELECT * FROM domains WHERE robots_txt IS NOT NULL"))[0]
    assert "user-agent" in domain["robots_txt"].lower() and 0 <= domain["authority_score"] <= 1
    nothing = await gossamer("export", folder, "--to", "postgres", "--json", environment=ENVIRONMENT)
    assert nothing.lines()[0]["visits"] == 0


async def test_a_later_visit_replaces_the_row_and_its_links(tmp_path: Path) -> None:
    folder, url = tmp_path / "crawl", new_database()
    async with small_web(replace(OPTIONS, changing=1.0, change_interval_s=(1.0, 2.0), validators=True)) as web:
        crawl = crawl_of(web, folder, sinks__postgres=url, sinks__links="true", **SOON)
        assert (await gossamer(*crawl, environment=ENVIRONMENT)).code == 0
        first, asked = await rows(url), len(web.log.entries)
        process = await start(*crawl, "--forever", environment=ENVIRONMENT)
        await until(partial(has_asked, web, asked + 30), 60)
        process.send_signal(signal.SIGINT)
        _, err = await process.communicate()
        assert process.returncode == 0, err
    await must_be_equal(folder, url, is_visited_again=True)
    second = await rows(url)
    later = [page for page in first if second[page]["fetched_at"] > first[page]["fetched_at"]]
    assert later and second.keys() == first.keys()
    assert any(second[page]["content_hash"] != first[page]["content_hash"] for page in later)
    assert {second[page]["visit_id"] for page in later}.isdisjoint(first[page]["visit_id"] for page in first)
    stale = await query(
        url,
        "SELECT 1 FROM links JOIN pages ON url_hash = source_hash WHERE verdict = 'original' "
        "AND links.fetched_at <> pages.fetched_at",
    )
    assert not stale


async def test_a_killed_crawl_and_a_killed_database_lose_and_double_nothing(tmp_path: Path) -> None:
    folder, url = tmp_path / "crawl", new_database()
    async with small_web() as web:
        crawl = crawl_of(web, folder, sinks__postgres=url, politeness__delay_s=0.3)
        for requests in (15, 30):
            process = await start(*crawl, environment=ENVIRONMENT)
            await until(partial(has_asked, web, requests), 60)
            process.kill()
            await process.communicate()
        process = await start(*crawl, environment=ENVIRONMENT)
        await until(partial(has_asked, web, 40), 60)
        server().kill()
        await until(partial(has_asked, web, 50), 60)
        server().start()  # in this thread, with which it would die
        _, err = await process.communicate()
        assert process.returncode == 0, err
    said = err.decode()
    assert said.count("records wait, nothing is lost") == said.count("answers again") <= 1
    await must_be_equal(folder, url)


async def test_a_database_that_is_away_for_the_whole_crawl_is_filled_by_the_next_start_or_by_export(
    tmp_path: Path,
) -> None:
    folder, url = tmp_path / "crawl", new_database()
    async with small_web() as web:
        crawl = crawl_of(web, folder, sinks__postgres=url)
        server().kill()
        try:
            away = await gossamer(*crawl, "--max-pages", 20, environment=ENVIRONMENT)
            export = await gossamer("export", folder, "--to", "postgres", environment=ENVIRONMENT)
        finally:
            server().start()
        assert away.code == 0 and len(await pages_of(folder)) >= 20
        assert away.err.count(": records wait, nothing is lost") == 1
        assert f"export {folder} --to postgres" in away.err
        assert export.code == 1 and "does not answer" in export.err
        there = await gossamer("export", folder, "--to", "postgres", environment=ENVIRONMENT)
        assert there.code == 0, there.err
        await must_be_equal(folder, url)
        server().kill()
        try:
            assert (await gossamer(*crawl, "--max-pages", 30, environment=ENVIRONMENT)).code == 0
        finally:
            server().start()
        assert len(await rows(url)) < len(await pages_of(folder))
        assert (await gossamer(*crawl, "--max-pages", 1000, environment=ENVIRONMENT)).code == 0
    await must_be_equal(folder, url)


@pytest.mark.parametrize(
    ("user", "database", "password", "said"),
    [
        ("gossamer", "", "wrong", 'password authentication failed for user "gossamer"'),
        ("gossamer", "", "", "GOSSAMER_POSTGRES_PASSWORD is not set"),
        ("gossamer", "nowhere", "hush-hush", 'database "nowhere" does not exist'),
    ],
)
async def test_a_typo_is_told_at_once_and_the_crawl_does_not_start(
    user: str, database: str, password: str, said: str, tmp_path: Path
) -> None:
    url = new_database()
    url = f"{url.rpartition('/')[0]}/{database}" if database else url
    async with small_web() as web:
        crawl = crawl_of(web, tmp_path / "crawl", sinks__postgres=url)
        ran = await gossamer(*crawl, environment={"GOSSAMER_POSTGRES_PASSWORD": password})
        assert ran.code == 2 and said in ran.err and "sinks.postgres" in ran.err
        assert not web.log.entries


async def test_two_crawls_at_once_share_a_database_and_do_not_mix(tmp_path: Path) -> None:
    url = new_database()
    async with small_web() as one, small_web(replace(OPTIONS, seed=6)) as other:
        ran = await asyncio.gather(
            gossamer(*crawl_of(one, tmp_path / "one", sinks__postgres=url), environment=ENVIRONMENT),
            gossamer(*crawl_of(other, tmp_path / "other", sinks__postgres=url), environment=ENVIRONMENT),
        )
        assert [each.code for each in ran] == [0, 0], ran
        for name in ("one", "other"):
            await must_be_equal(tmp_path / name, url)
        namesake = tmp_path / "elsewhere" / "one"
        crawl = crawl_of(other, namesake, sinks__postgres=url)
        refused = await gossamer(*crawl, environment=ENVIRONMENT)
        assert refused.code == 2 and "has a crawl named one already" in refused.err
        # ... unless it is to replace that one.
        assert (await gossamer(*crawl_of(other, namesake), environment=ENVIRONMENT)).code == 0
        flags = ["--to", "postgres", "--out", url, "--full"]
        assert (await gossamer("export", namesake, *flags, environment=ENVIRONMENT)).code == 0
    await must_be_equal(namesake, url)


async def test_a_database_of_an_earlier_version_gets_the_tables_that_are_new(tmp_path: Path) -> None:
    folder, url = tmp_path / "crawl", new_database()
    first, *later = sorted(MIGRATIONS.glob("*.sql"))
    await execute(
        url,
        "CREATE TABLE gossamer_migrations (number integer PRIMARY KEY, name text NOT NULL, "
        "applied_at timestamptz NOT NULL DEFAULT now());"
        f"INSERT INTO gossamer_migrations VALUES (1, '{first.stem}');" + first.read_text(),
    )
    async with small_web() as web:
        ran = await gossamer(*crawl_of(web, folder, sinks__postgres=url), environment=ENVIRONMENT)
        assert ran.code == 0, ran.err
    await must_be_equal(folder, url)
    names = [row["name"] for row in await query(url, "SELECT name FROM gossamer_migrations ORDER BY number")]
    assert names == [file.stem for file in (first, *later)]


async def test_a_table_of_somebody_else_is_left_alone(tmp_path: Path) -> None:
    url = new_database()
    await execute(url, "CREATE TABLE pages (mine integer)")
    async with small_web() as web:
        ran = await gossamer(*crawl_of(web, tmp_path / "crawl", sinks__postgres=url), environment=ENVIRONMENT)
    assert ran.code == 2 and '"pages" already exists' in ran.err


async def test_a_database_that_was_emptied_is_filled_again(tmp_path: Path) -> None:
    folder, url = tmp_path / "crawl", new_database()
    async with small_web() as web:
        assert (await gossamer(*crawl_of(web, folder, sinks__postgres=url), environment=ENVIRONMENT)).code == 0
    server().database(url.rpartition("/")[2])
    assert (await gossamer("export", folder, "--to", "postgres", environment=ENVIRONMENT)).code == 0
    await must_be_equal(folder, url)
