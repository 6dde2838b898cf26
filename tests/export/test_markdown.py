"""`export --to markdown`: a file for each page, found by its URL, whatever happened in between."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path

import pytest
import yaml

from gossamer.export import markdown
from gossamer.export.markdown import Files, name_of
from gossamer.library.crawl import crawl
from tests.crawl.command import gossamer, quick_settings
from tests.export.crawls import Crawls, command, copied, exported, go_on
from tests.export.test_increments import kill_before
from tests.fetch.raw_server import raw_server
from tests.getting_in.pages import answers, html, long_text, moved

FRONT_MATTER = re.compile(r"---\n(.*?\n)---\n\n(.*)", re.DOTALL)


@pytest.fixture
def crawled(crawls: Crawls, tmp_path: Path) -> Path:
    return copied(crawls.whole, tmp_path / "crawl")


def texts(out: Path) -> dict[str, str]:
    """The text of each file, by the URL that it names."""
    found = {}
    for path in sorted((out / "pages").rglob("*.md")):
        head = FRONT_MATTER.fullmatch(path.read_text(encoding="utf-8"))
        assert head is not None, path
        facts = yaml.safe_load(head[1])
        assert facts["url"] not in found and path.stem == name_of(facts["url"])
        found[facts["url"]] = head[2]
    return found


def test_every_original_has_a_file_with_its_text(crawled: Path, tmp_path: Path) -> None:
    said = exported(crawled, "markdown", tmp_path / "out")
    found = texts(tmp_path / "out")
    exported(crawled, "jsonl", tmp_path / "pages.jsonl", "--text", "--markdown")
    lines = [json.loads(line) for line in (tmp_path / "pages.jsonl").read_text(encoding="utf-8").splitlines()]
    rows = {row["url"]: row for row in lines}
    wanted = {url: row for url, row in rows.items() if row["text"]}
    assert found.keys() == wanted.keys() and len(found) > 20
    assert said["visits"] + 1 == len(rows)  # one of them forbids copies of itself
    for url, row in wanted.items():
        assert found[url].rstrip("\n") == row["markdown"]
        assert re.findall(r"\w+", row["text"])[:5] == re.findall(r"\w+", row["markdown"])[:5]
    assert not any(row["markdown"] for row in rows.values() if row["verdict"] not in ("original", "near"))
    assert "](http://" in "".join(found.values())


def test_a_file_says_what_it_is(crawled: Path, crawls: Crawls, tmp_path: Path) -> None:
    exported(crawled, "markdown", tmp_path / "out")
    [path] = (tmp_path / "out" / "pages").rglob("caf-c3-a9*.md")
    (page,) = (page for page in command("pages", crawled, "--json").lines() if page["url"] == crawls.foreign_url)
    assert path.parent.name == "127.0.0.1"
    assert path.read_text(encoding="utf-8") == (
        f'---\nurl: "{crawls.foreign_url}"\ntitle: "Bücher"\nfetched_at: "{page["fetched_at"]}"\n'
        f'language: "{page["language"]}"\n---\n\n'.replace('language: "None"\n', "").replace('language: ""\n', "")
        + f"Ein Café in 北京 [no copies of this one]({crawls.foreign_url.partition('/caf')[0]}/uncopied)\n"
    )


def test_the_second_export_adds_what_came_since(crawls: Crawls, tmp_path: Path) -> None:
    crawled, out = copied(crawls.half, tmp_path / "crawl"), tmp_path / "out"
    exported(crawled, "markdown", out)
    before = texts(out)
    go_on(crawled, crawls)
    assert not exported(crawled, "markdown", out)["is_full"]
    exported(copied(crawls.whole, tmp_path / "whole"), "markdown", tmp_path / "clean")
    assert before.items() < texts(out).items() and texts(out) == texts(tmp_path / "clean")
    (out / "pages" / "notes.txt").write_text("of somebody else")
    assert exported(crawled, "markdown", out, "--full")["is_full"]
    assert texts(out) == texts(tmp_path / "clean")
    assert (out / "pages" / "notes.txt").exists()


def test_an_export_that_was_killed_is_repeated(crawls: Crawls, tmp_path: Path) -> None:
    crawled = copied(crawls.whole, tmp_path / "crawl")
    exported(crawled, "markdown", tmp_path / "clean")
    wanted = texts(tmp_path / "clean")
    numbers = [1, 2, 10, len(wanted) + 1]  # the note, files, the note of its end
    kill_before(numbers, crawled, tmp_path / "out{}", to="markdown")
    for number in numbers:
        out = tmp_path / f"out{number}"
        assert len(texts(out)) == max(0, number - 2)  # what has its name is whole
        exported(crawled, "markdown", out)
        assert texts(out) == wanted
        assert not list(out.rglob("*.partial"))


async def test_a_page_that_has_changed_has_its_new_text_and_one_that_moved_has_none(tmp_path: Path) -> None:
    pages = {f"/{name}": html(long_text(ord(name))) for name in "ab"}
    folder, out = tmp_path / "crawl", tmp_path / "out"
    async with raw_server() as server:
        answers(server, pages)
        urls = [server.url("/a"), server.url("/b")]
        flags = ["--dir", folder, "--allow-private", *quick_settings()]
        assert (await gossamer("crawl", *urls, *flags)).code == 0
        export = ["export", folder, "--to", "markdown", "--out", out]
        assert (await gossamer(*export)).code == 0
        assert texts(out).keys() == set(urls)
        pages |= {"/a": html(long_text(7)), "/b": moved("/a")}
        async with crawl(dir=folder, revisit=urls, allow_private=True) as visited:
            async for _ in visited:
                pass
    assert (await gossamer(*export)).code == 0
    assert texts(out).keys() == {urls[0]}
    assert long_text(7)[3:30] in texts(out)[urls[0]]


def test_no_folder_has_more_files_than_it_may(crawled: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    exported(crawled, "markdown", tmp_path / "clean")
    monkeypatch.setattr("gossamer.commands.export.FILES_MAX", 3)
    out = tmp_path / "out"
    exported(crawled, "markdown", out)
    assert texts(out) == texts(tmp_path / "clean")
    counts = Counter(path.parent for path in out.rglob("*.md"))
    assert max(counts.values()) == 3 and len(counts) > 10
    # Done again, also where a file has gone meanwhile, each has its place.
    before = sorted(out.rglob("*.md"))
    before[0].unlink()
    files = Files(out / "pages", 3)
    for url, text in texts(tmp_path / "clean").items():
        files.write(url, f"---\nurl: {json.dumps(url)}\n---\n\n{text}")
    assert sorted(out.rglob("*.md")) == before
    assert texts(out) == texts(tmp_path / "clean")


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("http://a.test/", "index-"),
        ("http://a.test/News/To%20Day.html?x=../..", "news-to-20day-html-"),
        (f"http://a.test/{'x/' * 500}last", "-last-"),
        ("http://a.test/..%2F..%2Fetc%2Fpasswd", "2f-2fetc-2fpasswd-"),
    ],
)
def test_names_are_safe(url: str, name: str) -> None:
    assert name in name_of(url)
    assert re.fullmatch(r"[a-z0-9][a-z0-9-]{0,80}", name_of(url))


def test_hosts_are_safe(tmp_path: Path) -> None:
    files = Files(tmp_path / "pages", markdown.FILES_MAX)
    for url in ("http://[::1]/", "http://../x", "http://a_b.test/", "http://127.0.0.1/"):
        files.write(url, "text")
    assert {path.parent.parent for path in tmp_path.rglob("*.md")} == {tmp_path / "pages"}
    assert len(list(tmp_path.rglob("*.md"))) == 4


def test_it_needs_a_folder(crawled: Path, tmp_path: Path) -> None:
    assert "needs a folder" in command("export", crawled, "--to", "markdown").err
    (tmp_path / "file").touch()
    assert (
        "is a file; --to markdown needs a folder"
        in command("export", crawled, "--to", "markdown", "--out", tmp_path / "file").err
    )
