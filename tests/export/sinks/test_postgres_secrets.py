"""A database that is reached over TLS only and wants a password: whom we trust, and that no secret is left behind.

The server of the wheel speaks no TLS, so somebody in front of it does, as PostgreSQL's protocol has it.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.crawl.command import gossamer
from tests.export.sinks.following import crawl_of, new_database, small_web
from tests.fetch.certificates import Authority
from tests.servers.postgres import ENVIRONMENT, PASSWORD, server
from tests.servers.tls import SSL_REQUEST, tls_in_front_of

WRONG = "wrong-but-as-secret"


@asynccontextmanager
async def database(folder: Path, options: str) -> AsyncIterator[str]:
    """The URL of one over TLS; `{ca}` in the options is whom to trust."""
    authority, ca = Authority(), folder / "ca.pem"
    ca.write_bytes(authority.pem)
    url, context = new_database(), authority.issue("localhost").context()
    async with tls_in_front_of(server().port, context, asked=SSL_REQUEST) as port:
        over_tls = url.replace(f"127.0.0.1:{server().port}", f"localhost:{port}")
        yield f"{over_tls}?{options.format(ca=ca)}"


async def test_over_tls_with_a_password_and_no_secret_is_left_behind(tmp_path: Path) -> None:
    async with small_web() as web, database(tmp_path, "sslmode=verify-full&sslrootcert={ca}") as url:
        crawl = crawl_of(web, tmp_path / "crawl", sinks__postgres=url)
        ran = await gossamer(*crawl, "--max-pages", 20, environment=ENVIRONMENT)
        assert ran.code == 0, ran.err
        said = [ran.out, ran.err]
        again = await gossamer("export", tmp_path / "crawl", "--to", "postgres", "--json", environment=ENVIRONMENT)
        assert (again.code, again.lines()[0]["visits"]) == (0, 0), again.err  # all of it is there
    for words in (("status", "--json"), ("config",), ("config", "--json")):
        ran = await gossamer(words[0], tmp_path / "crawl", *words[1:])
        assert ran.code == 0, ran.err
        said += [ran.out, ran.err]
    assert PASSWORD not in "".join(said)
    files = [file for file in tmp_path.rglob("*") if file.is_file()]
    assert files and not [file for file in files if PASSWORD.encode() in file.read_bytes()]


@pytest.mark.parametrize(
    ("options", "environment", "why"),
    [
        ("sslmode=verify-full&sslrootcert={ca}", {"GOSSAMER_POSTGRES_PASSWORD": WRONG}, "password"),
        ("sslmode=verify-full&sslrootcert={ca}", {}, "GOSSAMER_POSTGRES_PASSWORD is not set"),
        ("sslmode=verify-full&sslrootcert=/etc/ssl/certs/ca-certificates.crt", ENVIRONMENT, "verify failed"),
        ("sslmode=verify-full&sslrootcert=/nowhere.pem", ENVIRONMENT, "a file of its sslrootcert"),
    ],
    ids=["wrong password", "no password", "a stranger", "no file"],
)
async def test_who_is_not_trusted_or_does_not_trust_stops_the_start(
    tmp_path: Path, options: str, environment: dict[str, str], why: str
) -> None:
    async with small_web() as web, database(tmp_path, options) as url:
        crawl = crawl_of(web, tmp_path / "crawl", sinks__postgres=url)
        ran = await gossamer(*crawl, environment=environment)
        assert web.log.entries == []  # nothing was asked for
    (line,) = [line for line in ran.err.splitlines() if "PostgreSQL" in line or "Traceback" in line]
    assert ran.code == 2 and why in line and "Traceback" not in ran.err, ran
    assert WRONG not in ran.out + ran.err and PASSWORD not in ran.out + ran.err


async def test_no_password_is_taken_from_a_url(tmp_path: Path) -> None:
    for url in (f"postgresql://u:{WRONG}@localhost/d", f"postgresql://u@localhost/d?password={WRONG}"):
        async with small_web() as web:
            ran = await gossamer(*crawl_of(web, tmp_path / "crawl", sinks__postgres=url))
        assert ran.code == 2 and "GOSSAMER_POSTGRES_PASSWORD" in ran.err and WRONG not in ran.err, ran
