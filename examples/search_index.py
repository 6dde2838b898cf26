"""A search engine for a site in one file: SQLite's full-text index, fed by a crawl.

    python examples/search_index.py feed index.db https://example.org/
    python examples/search_index.py find index.db more information

It can be searched while it grows.
"""

from __future__ import annotations

import asyncio
import sqlite3
import sys
from contextlib import closing

import gossamer

HERE = ("http://localhost", "http://127.")  # to try it with a server on this machine


async def feed(index: sqlite3.Connection, urls: list[str]) -> None:
    index.execute("DROP TABLE IF EXISTS pages")
    index.execute("CREATE VIRTUAL TABLE pages USING fts5(url UNINDEXED, title, text)")
    allow_private = all(url.startswith(HERE) for url in urls)
    async for page in gossamer.crawl(urls, allow_private=allow_private):
        if page.text and not page.page.noindex:
            index.execute("INSERT INTO pages VALUES (?, ?, ?)", (page.url, page.title, page.text))
            index.commit()
            print(page.url)


def find(index: sqlite3.Connection, words: list[str]) -> None:
    """The ten best pages with all of the words; one in the title counts five times."""
    query = " ".join('"{}"'.format(word.replace('"', '""')) for word in words)
    best = index.execute(
        "SELECT url, title, snippet(pages, 2, '[', ']', ' ... ', 16) FROM pages WHERE pages MATCH ?"
        " ORDER BY bm25(pages, 0, 5, 1) LIMIT 10",
        (query,),
    )
    for url, title, passage in best:
        print(title, url, f"  {passage}", sep="\n")


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["feed", file, *urls] if urls:
            with closing(sqlite3.connect(file)) as index:
                asyncio.run(feed(index, urls))
        case ["find", file, *words] if words:
            with closing(sqlite3.connect(file)) as index:
                find(index, words)
        case _:
            sys.exit(__doc__)
