"""The archive, replayed by pywb: with its own index of our files, and with ours."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from random import Random

import pytest

from gossamer.export.surt import surt_key
from tests.export.crawls import FOREIGN_BODY, Crawls, command, exported, served
from tests.export.pywb import environment, replayed, wayback

OURS, THEIRS = "ours", "theirs"


@pytest.fixture(scope="module")
def programs() -> Path:
    return environment()


def test_pywb_replays_what_the_web_served_by_its_own_index_and_by_ours(
    programs: Path, crawl: Path, crawls: Crawls, tmp_path: Path
) -> None:
    indexes = {name: tmp_path / "collections" / name / "indexes" / "index.cdxj" for name in (OURS, THEIRS)}
    for index in indexes.values():
        index.parent.mkdir(parents=True)
        (index.parent.parent / "archive").symlink_to(crawl / "archive")
    exported(crawl, "cdxj", indexes[OURS], "--with-noindex", "--with-noarchive")
    with indexes[THEIRS].open("wb") as index_file:
        subprocess.run([programs / "cdx-indexer", "-j", "-s", crawl / "archive"], stdout=index_file, check=True)
    pages = [page for page in command("pages", crawl, "--json").lines() if page["archive"]]
    near = [page for page in pages if page["verdict"] == "near"]

    def lines(collection: str) -> list[str]:
        urls = [f'"url": "{page["url"]}"' for page in near]
        return sorted(line for line in lines_of(indexes[collection]) if not any(url in line for url in urls))

    assert lines(OURS) == lines(THEIRS)
    assert len(lines_of(indexes[OURS])) == len(lines_of(indexes[THEIRS])) == len(pages)

    web = crawls.web()
    with wayback(programs, tmp_path) as port:
        for collection in (OURS, THEIRS):
            some = [page for page in pages if page["verdict"] == "original" and web.locate(page["url"])][:10]
            copies = [page for page in pages if page["verdict"] == "same"]
            for page in [*some, *copies]:
                assert replayed(port, collection, page["url"]) == (200, None, served(web, page["url"]))
            for page in (page for page in pages if page["moved_to"]):
                status, location, _ = replayed(port, collection, page["url"], "mp_")
                assert (status, location and location.endswith(f"mp_/{page['moved_to']}")) == (page["status"], True)
            assert replayed(port, collection, crawls.foreign_url) == (200, None, FOREIGN_BODY)
            assert len(some) == 10
            assert copies
        for page in near:
            status, _, body = replayed(port, OURS, page["url"], "mp_")
            shown = served(web, page["same_as"])
            assert status == 200
            assert shown[shown.index(b"<h1>") : shown.index(b"</p>")] in body


def lines_of(index: Path) -> list[str]:
    return index.read_text(encoding="utf-8").splitlines()


HOSTS = ["www.example.com", "example.com", "www12.a.co.uk", "127.0.0.1", "[::1]", "a-b.example.org.", "localhost"]
SESSION = "0123456789abcdef0123456789abcdef"
PIECES = [
    *"aB//?&==%.;-+~{|1",
    "%20",
    "%25",
    "%2F",
    "%c3%A4",
    "%41",
    "%26",
    "%3f",
    "%23",
    "..",
    "index.html",
    "x.aspx",
]
PIECES += ["CFID=1&CFTOKEN=2", f"sid={SESSION}", f"PHPSESSID={SESSION}", "(S(4hqa0555fwsecu455xqckv45))/"]


def test_a_url_has_the_key_that_pywb_looks_for(programs: Path) -> None:
    chance = Random(1)
    urls = [
        f"{chance.choice(['http', 'https', 'ftp'])}://{chance.choice(HOSTS)}{chance.choice(['', ':8080', ':443'])}/"
        + "".join(chance.choices(PIECES, k=chance.randrange(9)))
        for _ in range(5_000)
    ]
    script = "import json, sys, surt; print(json.dumps([surt.surt(url) for url in json.load(sys.stdin)]))"
    ran = subprocess.run(
        [programs / "python", "-W", "ignore", "-c", script], input=json.dumps(urls), stdout=-1, check=True, text=True
    )
    theirs = dict(zip(urls, json.loads(ran.stdout), strict=True))
    assert {url: key for url in urls if (key := surt_key(url)) != theirs[url]} == {}
