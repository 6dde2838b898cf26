"""Pages as Markdown: a file each, in a folder for their host, with a few facts at the top.

    FOLDER/pages/www.example.com/news-today-1f0c5f4b2a9d8e37.md

A file is named after its URL: what can be read of it, and its digest. So a page that was visited again has its new
content under the name of the old one, and doing an export again gives the same files. A page that became a redirect,
or a copy of another, loses its file.

A folder has at most FILES_MAX files, or folders of hosts. What does not fit goes into one of 256 folders below it,
named after the digest of the URL, or of the host; and so on. A file that is there already keeps its place.
"""

from __future__ import annotations

import json
import os
import re
from collections import OrderedDict
from pathlib import Path

from gossamer.archive.visits import Visit
from gossamer.atomic import PARTIAL
from gossamer.export.formats import Source
from gossamer.export.stored import StoredPages
from gossamer.records import Page
from gossamer.text import moment
from gossamer.url.canonical import digest_of
from gossamer.url.site import host_of

FILES_MAX = 1000
FOLDERS_REMEMBERED = 10_000
NAME_CHARS_MAX = 60
DIGEST_CHARS = 16
_NOT_IN_NAMES = re.compile(r"[^a-z0-9]+")
_NOT_IN_HOSTS = re.compile(r"[^a-z0-9.-]+")


def to_markdown(source: Source, folder: Path, pages: StoredPages, files_max: int | None = FILES_MAX) -> None:
    """`files_max`: of a folder; in a bucket there are no folders, and nothing is full."""
    files = Files(folder / "pages", files_max)
    for visit, _ in source.showable():
        page = pages.page(visit)
        if page is not None and page.main_text:
            files.write(visit.url, document(visit, page))
        elif visit.verdict != "unchanged":
            files.remove(visit.url)
    os.sync()  # once for all: to sync each file would take longer than to make it


def document(visit: Visit, page: Page) -> str:
    """A text in quotes is the same in JSON and in YAML, if only what can be printed is in it."""
    facts = {"url": visit.url, "title": page.title, "fetched_at": moment(visit.at), "language": page.language}
    lines = [f"{name}: {json.dumps(_printable(value), ensure_ascii=False)}" for name, value in facts.items() if value]
    return "\n".join(["---", *lines, "---", "", page.main_text, ""])


def _printable(text: str) -> str:
    return "".join([each if each.isprintable() else " " for each in text])


class Files:
    """The files of pages below a folder, by their URLs."""

    def __init__(self, folder: Path, most: int | None) -> None:
        self._folder = folder
        self._most = most
        self._counts: OrderedDict[Path, int] = OrderedDict()  # what is in some folders

    def write(self, url: str, text: str) -> None:
        path = self._place(url)
        is_new = not path.exists()
        partial = path.with_name(f".{path.name}{PARTIAL}")
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            partial.write_text(text, encoding="utf-8", errors="replace", newline="\n")
            partial.replace(path)
        except OSError as fault:
            fault.filename = fault.filename or str(path)  # a write does not say where there was no room
            raise
        finally:
            partial.unlink(missing_ok=True)
        if is_new:
            self._counts.pop(path.parent, None)

    def remove(self, url: str) -> None:
        """The file of a page, where there is one."""
        self._place(url).unlink(missing_ok=True)

    def _place(self, url: str) -> Path:
        host = _NOT_IN_HOSTS.sub("-", host_of(url)).strip(".") or "host"
        folder = self._within(self._folder, host, digest_of(host))
        return self._within(folder, f"{name_of(url)}.md", digest_of(url))

    def _within(self, folder: Path, name: str, digest: str) -> Path:
        """Where a name is, or is to be: in this folder, or below it where that is full."""
        folders = [folder]
        for at in range(0, len(digest), 2):
            below = folders[-1] / f"more-{digest[at : at + 2]}"
            folders.append(below)
            if not below.is_dir():
                break
        found = [each / name for each in folders if (each / name).exists()]
        if found or self._most is None:
            return (found or [folder / name])[0]
        return next((each for each in folders if self._count(each) < self._most), folders[-1]) / name

    def _count(self, folder: Path) -> int:
        if folder not in self._counts:
            self._counts[folder] = len(os.listdir(folder)) if folder.is_dir() else 0
            if len(self._counts) > FOLDERS_REMEMBERED:
                self._counts.popitem(last=False)
        return self._counts[folder]


def name_of(url: str) -> str:
    """Of a URL: what can be read of its path, and its digest."""
    path = url.partition("://")[2].partition("/")[2].partition("?")[0]
    words = _NOT_IN_NAMES.sub("-", path.lower()).strip("-")[-NAME_CHARS_MAX:].strip("-")
    return f"{words or 'index'}-{digest_of(url)[:DIGEST_CHARS]}"
