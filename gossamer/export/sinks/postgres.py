"""A database that gets tables: `sinks.postgres`. The tables are in migrations/, and grow by further files there.

A batch is one transaction: its rows come by COPY into temporary tables, go from there into the tables where they are
newer than what those have, and the position moves with them. So a batch is there once, whatever dies when; the
position that is noted in the crawl's folder is for compaction only.

Several crawls may write to one database, each under the name of its folder. A key that is chosen at random for each
folder tells two folders of one name apart.
"""

from __future__ import annotations

import ssl
from collections.abc import Awaitable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import asyncpg  # type: ignore[import-untyped]

from gossamer import config
from gossamer.export.sinks.records import Batch, HostRecord, PageRecord
from gossamer.export.sinks.sink import SinkAway, SinkRefused
from gossamer.records import Place
from gossamer.settings import SinksSettings
from gossamer.text import COMMAND
from gossamer.url.canonical import digest_of

MIGRATIONS = Path(__file__).with_name("migrations")
LOCK = 0x676F7373616D6572  # "gossamer", for pg_advisory_lock
CONNECT_S, ANSWER_S = 5.0, 60.0

# Columns in the order of the tables, and what makes a row newer than the one that is there.
PAGES = (
    "crawl",
    "url_hash",
    "url",
    "domain",
    "title",
    "status_code",
    "fetched_at",
    "priority_score",
    "simhash",
    "content_dedup",
    "content_hash",
    "content_path",
    "content_offset",
    "content_length",
    "has_body",
    "body_bytes",
    "media_type",
    "language",
    "verdict",
    "same_as",
    "redirect",
    "depth",
    "out_links",
    "noindex",
    "noarchive",
    "next_fetch_at",
    "partition",
    "visit_id",
    "rendered",
    "render_requests",
    "render_bytes",
    "render_seconds",
)
DOMAINS = ("crawl", "domain", "robots_txt", "authority_score", "last_crawled", "page_count")
LINKS = ("crawl", "source_hash", "number", "target_url", "target_hash", "anchor", "rel", "fetched_at")


def upsert(table: str, columns: Sequence[str], newer: str) -> str:
    """From the temporary table, once for each key: the first two columns."""
    key, values = ", ".join(columns[:2]), ", ".join(f"{column} = excluded.{column}" for column in columns[2:])
    names = ", ".join(columns)
    return (
        f"INSERT INTO {table} ({names}) SELECT DISTINCT ON ({key}) {names} FROM new_{table} "
        f"ORDER BY {key}, {newer} DESC NULLS LAST ON CONFLICT ({key}) DO UPDATE SET {values} "
        f"WHERE {table}.{newer} IS NULL OR {table}.{newer} < excluded.{newer}"
    )


ADD_PAGES = upsert("pages", PAGES, "fetched_at")
# A host's counters grow with a page whose request began before that of the last one: equal is newer, too.
ADD_DOMAINS = upsert("domains", DOMAINS, "last_crawled").replace("<", "<=")
DROP_LINKS = """
DELETE FROM links USING unnest($2::text[], $3::timestamptz[]) AS latest (source_hash, fetched_at)
WHERE crawl = $1 AND links.source_hash = latest.source_hash AND links.fetched_at < latest.fetched_at
"""
ADD_LINKS = f"""
INSERT INTO links SELECT {", ".join(LINKS)} FROM new_links WHERE NOT EXISTS (SELECT FROM links
WHERE crawl = new_links.crawl AND source_hash = new_links.source_hash AND fetched_at > new_links.fetched_at)
ON CONFLICT DO NOTHING
"""
MOVE = """
INSERT INTO gossamer_positions VALUES ($1, $2, $3, $4, $5) ON CONFLICT (crawl, partition)
DO UPDATE SET file = excluded.file, file_offset = excluded.file_offset, length = excluded.length
"""

# What waiting does not cure.
REFUSALS = (
    asyncpg.InvalidAuthorizationSpecificationError,
    asyncpg.InvalidCatalogNameError,
    asyncpg.InsufficientPrivilegeError,
    asyncpg.SyntaxOrAccessError,
    asyncpg.ClientConfigurationError,
    ssl.SSLCertVerificationError,
    FileNotFoundError,
    PermissionError,
)

T = TypeVar("T")


class PostgresSink:
    to = "postgres"
    wants_hosts = True
    keeps_positions = True

    def __init__(self, settings: SinksSettings) -> None:
        self._url = settings.postgres
        self.target = self._url.partition("?")[0]
        where = self.target.partition("://")[2].rpartition("@")[2].partition("/")[0]
        self.title = f"PostgreSQL at {where}"
        self._connection: asyncpg.Connection[Any] | None = None
        self._crawl = ""

    async def open(self, crawl: str, key: str, noted: Mapping[int, Place], *, is_full: bool) -> Mapping[int, Place]:
        return await self._told(self._open(crawl, key, is_full=is_full))

    async def _open(self, crawl: str, key: str, *, is_full: bool) -> dict[int, Place]:
        self._crawl = crawl
        password = config.secret("postgres_password") or None
        connection = self._connection = await asyncpg.connect(
            self._url,
            password=password,
            timeout=CONNECT_S,
            command_timeout=ANSWER_S,
            server_settings={"application_name": "gossamer"},
        )
        await migrate(connection)
        async with connection.transaction():
            if is_full:
                await self._begin_anew(connection)
            await connection.execute(
                "INSERT INTO gossamer_crawls VALUES ($1, $2) ON CONFLICT (crawl) DO NOTHING", crawl, key
            )
        if key != await connection.fetchval("SELECT key FROM gossamer_crawls WHERE crawl = $1", crawl):
            raise SinkRefused(
                f"{self.title} has a crawl named {crawl} already, from another folder: give this folder another "
                f"name, or let it replace that crawl's rows: `{COMMAND} export FOLDER --to postgres --full`"
            )
        for table in ("pages", "domains", "links"):
            await connection.execute(f"CREATE TEMPORARY TABLE new_{table} (LIKE {table}) ON COMMIT DELETE ROWS")
        rows = await connection.fetch(
            "SELECT partition, file, file_offset, length FROM gossamer_positions WHERE crawl = $1", crawl
        )
        return {number: Place(file, offset, length) for number, file, offset, length in rows}

    async def _begin_anew(self, connection: asyncpg.Connection[Any]) -> None:
        for table in ("pages", "domains", "links", "gossamer_positions", "gossamer_crawls"):
            await connection.execute(f"DELETE FROM {table} WHERE crawl = $1", self._crawl)

    async def add(self, batch: Batch) -> None:
        await self._told(self._add(batch))

    async def _add(self, batch: Batch) -> None:
        assert self._connection is not None
        connection, crawl = self._connection, self._crawl
        pages, hosts = map(page_row, batch.pages), (host_row(crawl, host) for host in batch.hosts)
        async with connection.transaction():
            await connection.copy_records_to_table("new_pages", records=pages, columns=PAGES)
            await connection.execute(ADD_PAGES)
            await connection.copy_records_to_table("new_domains", records=hosts, columns=DOMAINS)
            await connection.execute(ADD_DOMAINS)
            if linking := latest_with_links(batch.pages):
                sources, at = [page.url_hash for page in linking], [page.fetched_at for page in linking]
                await connection.execute(DROP_LINKS, crawl, sources, at)
                links = (row for page in linking for row in link_rows(page))
                await connection.copy_records_to_table("new_links", records=links, columns=LINKS)
                await connection.execute(ADD_LINKS)
            moves = [(crawl, number, at.file, at.offset, at.length) for number, at in batch.positions.items()]
            await connection.executemany(MOVE, moves)

    async def close(self) -> None:
        if self._connection is not None:
            self._connection.terminate()  # nothing is open that could be lost
            self._connection = None

    async def _told(self, work: Awaitable[T]) -> T:
        """The driver's faults as ours."""
        try:
            return await work
        except REFUSALS as fault:
            hint = "" if config.secret("postgres_password") else " (GOSSAMER_POSTGRES_PASSWORD is not set)"
            if not isinstance(fault, asyncpg.InvalidAuthorizationSpecificationError):
                is_file = isinstance(fault, OSError) and not isinstance(fault, ssl.SSLError)
                hint = " (a file of its sslrootcert, sslcert or sslkey)" if is_file else ""
            raise SinkRefused(f"{self.title} does not take us: {fault}{hint}") from fault
        except (OSError, TimeoutError, asyncpg.PostgresError, asyncpg.InterfaceError) as fault:
            raise SinkAway(f"{self.title} does not answer ({fault or type(fault).__name__})") from fault


async def migrate(connection: asyncpg.Connection[Any]) -> None:
    """Bring the tables to what this version writes. Several may try at once: one does it, the others wait for it."""
    async with connection.transaction():
        await connection.execute("SELECT pg_advisory_xact_lock($1)", LOCK)
        await connection.execute(
            "CREATE TABLE IF NOT EXISTS gossamer_migrations "
            "(number integer PRIMARY KEY, name text NOT NULL, applied_at timestamptz NOT NULL DEFAULT now())"
        )
        done = {row["number"] for row in await connection.fetch("SELECT number FROM gossamer_migrations")}
        for file in sorted(MIGRATIONS.glob("*.sql")):
            number = int(file.stem.partition("_")[0])
            if number not in done:
                await connection.execute(file.read_text(encoding="utf-8"))
                await connection.execute("INSERT INTO gossamer_migrations VALUES ($1, $2)", number, file.stem)


def latest_with_links(pages: list[PageRecord]) -> list[PageRecord]:
    """Of each page the last visit that says which links it has; a later one may say that nothing changed."""
    having = [page for page in pages if page.links is not None and page.has_links_of_its_own]
    return list({page.url: page for page in sorted(having, key=lambda page: page.fetched_at)}.values())


def page_row(page: PageRecord) -> tuple[Any, ...]:
    return (
        page.crawl,
        page.url_hash,
        page.url,
        page.host,
        text(page.title),
        page.status,
        page.fetched_at,
        page.priority_score,
        signed(page.simhash),
        page.is_duplicate,
        page.content_hash,
        page.content_path,
        page.content_offset,
        page.content_length,
        page.has_body,
        page.body_bytes,
        text(page.media_type),
        page.language,
        page.verdict,
        page.same_as,
        text(page.redirect),
        page.depth,
        page.out_links,
        page.noindex,
        page.noarchive,
        page.next_visit_at,
        page.partition,
        page.id,
        page.rendered,
        page.render_requests,
        page.render_bytes,
        page.render_seconds,
    )


def host_row(crawl: str, host: HostRecord) -> tuple[Any, ...]:
    return (crawl, host.host, text(host.robots_txt), host.authority_score, host.last_crawled, host.page_count)


def link_rows(page: PageRecord) -> Iterator[tuple[Any, ...]]:
    for number, link in enumerate(page.links or ()):
        target = digest_of(link.url)
        yield (
            page.crawl,
            page.url_hash,
            number,
            text(link.url),
            target,
            text(link.anchor),
            text(link.rel),
            page.fetched_at,
        )


def text(value: str | None) -> str | None:
    """PostgreSQL's text has every character but one."""
    return value.replace("\x00", "") if value and "\x00" in value else value


def signed(simhash: str | None) -> int | None:
    """Of 64 bits, as `bigint` has them."""
    return int.from_bytes(bytes.fromhex(simhash), signed=True) if simhash else None
