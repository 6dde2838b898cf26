"""A data set of plain text: a line of JSON for every page, with its main text and its language.

    python examples/text_data_set.py https://example.org/ https://example.com/ > pages.jsonl

Menus and footers are left out, and so are pages that have another's text, or nearly. Pages that ask not to be in an
index are not in this one.
"""

from __future__ import annotations

import json
import sys

import gossamer

HERE = ("http://localhost", "http://127.")  # to try it with a server on this machine


def main(urls: list[str]) -> None:
    allow_private = all(url.startswith(HERE) for url in urls)
    for crawled in gossamer.crawl_sync(urls, allow_private=allow_private):
        page = crawled.page
        text = page.main_text or page.text
        if text and crawled.verdict and crawled.verdict.is_original and not page.noindex:
            line = {"url": page.url, "title": page.title, "language": page.language, "text": text}
            print(json.dumps(line, ensure_ascii=False), flush=True)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    main(sys.argv[1:])
