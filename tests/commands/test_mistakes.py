"""Mistakes that people make, and faults of the world that they meet, each with all that is said and the exit code.

In the table, D is the folder of a crawl, and everything else lies in the folder where the command is called.
"""

from __future__ import annotations

import errno
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from gossamer.folder import CrawlFolder
from tests.api.serving import empty_crawl
from tests.commands.unprivileged import read_only, unprivileged
from tests.crawl.command import ROOT
from tests.export.crawls import command
from tests.export.test_faults import little_room
from tests.s3.server import ENVIRONMENT, free_port

SITE = "http://127.0.0.1:9999/"
USAGE, WORLD = 2, 1

# What is typed, what is said, the exit code.
MISTAKES = [
    # Typos.
    ("staus D", "there is no verb staus: did you mean status? `gossamer --help` lists all", USAGE),
    ("fly", "there is no verb fly: `gossamer --help` lists all", USAGE),
    (
        "--verson",
        "there is no flag --verson: did you mean --version? a call begins with a verb, see `gossamer --help`",
        USAGE,
    ),
    (
        "pages D --stauts 404",
        "pages: there is no flag --stauts: did you mean --status? `gossamer pages --help` lists all",
        USAGE,
    ),
    (  # Nothing is guessed: what is short today may mean two things tomorrow.
        f"crawl {SITE} --max-page 5",
        "crawl: there is no flag --max-page: did you mean --max-pages? `gossamer crawl --help` lists all",
        USAGE,
    ),
    (
        f"crawl {SITE} --set robots.age_max=1h",
        "unknown key robots.age_max (flag --set robots.age_max): did you mean robots.age_s_max? Valid in [robots]: "
        "age_s_max, body_bytes_max, crawl_delay_s_max, redirects_max, retry_s",
        USAGE,
    ),
    (
        f"crawl {SITE} --set max_pages=5",
        "unknown key max_pages (flag --set max_pages): did you mean crawl.max_pages? The sections are: crawl, "
        "politeness, fetch, frontier, robots, process, render, traps, schedule, dns, archive, serve, rpc, log, "
        "alerts, cluster, sinks, fetchers",
        USAGE,
    ),
    (
        "pages D --verdict orignal",
        "pages: --verdict: 'orignal' is not known: did you mean original? wanted one of original, same, near, "
        "unchanged (see `gossamer pages --help`)",
        USAGE,
    ),
    (
        "export D --to parqet --out tables",
        "export: --to: 'parqet' is not known: did you mean parquet? wanted one of parquet, markdown, jsonl, cdxj, "
        "links, "
        "hostgraph, kafka, postgres (see `gossamer export --help`)",
        USAGE,
    ),
    # Wrong types.
    (
        f"crawl {SITE} --max-pages few",
        'crawl.max_pages = "few" (flag --max-pages): wanted a whole number from 1 to 1000000000000000, or none',
        USAGE,
    ),
    (
        f"crawl {SITE} --delay soon",
        "politeness.delay_s = \"soon\" (flag --delay): 'soon' is not like 30, 500ms, 10m, 1.5h or 2d; wanted a "
        "number from 0 to 2592000",
        USAGE,
    ),
    (
        "pages D --limit ten",
        "pages: --limit: 'ten' is not a whole number from 0 on (see `gossamer pages --help`)",
        USAGE,
    ),
    (
        "pages D --since yesterday",
        "pages: --since: 'yesterday' is no moment: wanted 30m, 2h or 7d for so long ago, or a date like 2026-07-01 "
        "or 2026-07-01T12:00Z (see `gossamer pages --help`)",
        USAGE,
    ),
    (
        "web --port 99999",
        "web: --port: '99999' is not a whole number from 0 to 65535 (see `gossamer web --help`)",
        USAGE,
    ),
    (
        "crawl mailto:x@y.test",
        "'mailto:x@y.test' is not a URL that can be crawled: it needs http:// or https:// and a host",
        USAGE,
    ),
    (
        f"crawl {SITE} --serve 8080",
        "crawl: --serve 8080: wanted HOST:PORT, or nothing; before a URL write --serve=HOST:PORT (see `gossamer "
        "crawl --help`)",
        USAGE,
    ),
    # Too little, too much.
    ("why D", "why: the following arguments are required: URL (see `gossamer why --help`)", USAGE),
    ("status D E", "status: E is one word too many (see `gossamer status --help`)", USAGE),
    ("crawl", "nothing to do: give at least one URL to start from, or --dir with a crawl to resume", USAGE),
    (
        "export D --out tables",
        "--out tables: as what? Give --to as well: parquet, markdown, jsonl, cdxj, links, hostgraph, kafka, postgres",
        USAGE,
    ),
    ("export D --to parquet", "--to parquet needs a folder: name one with --out", USAGE),
    (
        "policy D --pause",
        "which host or site? `gossamer policy D NAME --pause`; a registrable domain is a whole site",
        USAGE,
    ),
    (
        "seeds D http://a.test/",
        "seeds: to list, `gossamer seeds D`; to add, `gossamer seeds add D URL` or `... --file F`",
        USAGE,
    ),
    # Missing files and folders, and others than were meant.
    ("status nowhere", "nowhere does not exist; `gossamer crawl URL --dir nowhere` would create it", WORLD),
    ("status letters", "letters is not a crawl: it has no gossamer.toml", WORLD),
    ("status letters/to-anna", "letters/to-anna is a file; a crawl is a folder", WORLD),
    (
        f"crawl {SITE} --dir letters",
        "letters is not empty and not a crawl (it holds to-anna): choose another --dir",
        WORLD,
    ),
    ("crawl --file missing.txt", "the list of seeds missing.txt cannot be read: No such file or directory", USAGE),
    (
        f"crawl {SITE} --config missing.toml",
        "cannot read the configuration file missing.toml: No such file or directory",
        USAGE,
    ),
    (
        "export D --to jsonl --out letters",
        "--out letters is a folder; --to jsonl needs a file, or no --out for standard output",
        USAGE,
    ),
    (
        f"crawl {SITE} --dir caf\udce9",
        "caf\udce9 cannot be a crawl's folder: its name is not UTF-8 text",
        WORLD,
    ),
    # Secrets: refused where they do not belong, and never repeated.
    (
        "export D --to jsonl --out s3://AKIAKEY:hush/hush@bucket/pages.jsonl",
        "--out s3://...@bucket/pages.jsonl: wanted s3://BUCKET/NAME; keys come from the environment (AWS_...)",
        USAGE,
    ),
    (
        f"crawl {SITE} --set archive.options=secret_access_key=hush",
        'archive.options = "secret_access_key=..." (flag --set archive.options): wanted a table of options in small '
        "letters; keys and secrets come from the environment (AWS_...)",
        USAGE,
    ),
    (
        "crawl https://me:hush@",
        "'https://...@' is not a URL that can be crawled: it needs http:// or https:// and a host",
        USAGE,
    ),
]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.chdir(tmp_path)
    empty_crawl(tmp_path / "D")
    (tmp_path / "letters").mkdir()
    (tmp_path / "letters/to-anna").write_text("Dear Anna")
    before = {path.name for path in tmp_path.iterdir()}
    yield tmp_path
    assert {path.name for path in tmp_path.iterdir()} == before, "a mistake makes nothing"


@pytest.mark.parametrize(("typed", "said", "code"), MISTAKES, ids=[typed for typed, _, _ in MISTAKES])
def test_a_mistake_is_named_as_it_was_typed(typed: str, said: str, code: int) -> None:
    ran = command(*typed.split())
    assert (ran.err, ran.out, ran.code) == (f"gossamer: {said}\n", "", code)


def test_there_are_twenty() -> None:
    assert len(MISTAKES) >= 20


def test_a_port_that_is_in_use() -> None:
    with socket.socket() as taken:
        taken.bind(("", 0))
        taken.listen()
        port = taken.getsockname()[1]
        for typed, where in (
            (["web", "--hosts", 1], f"port {port}"),
            (["serve", "D"], f"127.0.0.1 port {port}"),
        ):
            ran = command(*typed, "--port", port)
            said = f"gossamer: cannot listen on {where}: Address already in use; choose another with --port\n"
            assert (ran.err, ran.code) == (said, WORLD)


def test_a_folder_that_a_crawl_is_in(here: Path) -> None:
    with CrawlFolder(Path("D")).locked():
        ran = command("crawl", SITE, "--dir", "D", "--allow-private")
    said = f"D is being crawled by process {os.getpid()}: wait for it, or `gossamer stop D`"
    assert (ran.err, ran.code) == (f"gossamer: {said}\n", WORLD)


def test_a_folder_that_can_only_be_read(here: Path) -> None:
    crawl = here / "D"
    with read_only(crawl):
        ran = unprivileged("crawl", SITE, "--dir", crawl, "--allow-private")
        assert ran.err == f"gossamer: {crawl} can only be looked into: {crawl}/crawl.lock: Permission denied\n"
        blocked = unprivileged("policy", crawl, "a.test", "--block")
        assert blocked.err == f"gossamer: {crawl}/.policies.json.lock: Permission denied\n"
        inside = unprivileged("crawl", SITE, "--dir", crawl / "new", "--allow-private")
        assert inside.err == f"gossamer: {crawl}/new cannot be made: Permission denied\n"
    assert (ran.code, blocked.code, inside.code) == (WORLD, WORLD, WORLD)


def test_a_full_disk(here: Path) -> None:
    full = os.strerror(errno.ENOSPC)
    with Path("/dev/full").open("w") as nowhere:
        call = [sys.executable, "-m", "gossamer", "config"]
        ran = subprocess.run(call, cwd=ROOT, stdout=nowhere, stderr=subprocess.PIPE, text=True, check=False)
    assert (ran.stderr, ran.returncode) == (f"gossamer: {full}\n", WORLD)
    with little_room(10):
        noted = command("policy", "D", "a.test", "--block")
    assert (noted.err, noted.code) == (f"gossamer: D/policies.json: {os.strerror(errno.EFBIG)}\n", WORLD)


def test_no_network(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    port = free_port()
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("AWS_ENDPOINT", f"http://127.0.0.1:{port}")
    ran = command("export", "D", "--to", "jsonl", "--out", "s3://bucket/pages.jsonl")
    said = "the target at s3://bucket does not answer: connection refused"
    assert (ran.err, ran.code) == (f"gossamer: {said}\n", WORLD)
    url = f"http://127.0.0.1:{port}/"
    asked = command("robots", url, "--allow-private")
    unreachable = "robots.txt could not be fetched, so nothing of its origin may be fetched for now"
    assert asked.out.splitlines()[1] == f"  refused: {unreachable} [robots_unreachable]"
