"""Copy a site into a folder, pictures and style sheets included.

    python examples/mirror_site.py https://example.org/ copy

What was at https://example.org/about is then in copy/example.org/about/index.html, and

    python -m http.server --directory copy/example.org

shows the copy as the site was. Ctrl-C stops it cleanly; what was saved stays.
"""

from __future__ import annotations

import asyncio
import sys
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

import gossamer

HERE = ("http://localhost", "http://127.")  # to try it with a server on this machine


def file_of(url: str, media_type: str) -> Path:
    """Where a page goes. /docs becomes docs/index.html, so that docs/start/index.html can be there, too."""
    parts = urlsplit(url)
    path = Path(parts.netloc + parts.path)
    if not path.suffix or (media_type == "text/html" and path.suffix != ".html"):
        path /= "index.html"
    query = parts.query.replace("/", "%2F")
    return path.with_name(f"{path.name}?{query}"[:255]) if query else path


async def main(url: str, folder: Path) -> None:
    settings = {"process.links_from": ["images", "scripts"]}
    async for page in gossamer.crawl(url, settings=settings, allow_private=url.startswith(HERE)):
        file = folder / file_of(page.url, page.page.media_type)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(page.body[:])
        print(file)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    with suppress(KeyboardInterrupt):
        asyncio.run(main(sys.argv[1], Path(sys.argv[2])))
