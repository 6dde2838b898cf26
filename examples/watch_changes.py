"""Say which pages of a site are new, changed or gone since the last time.

    python examples/watch_changes.py https://example.org/ example.json

The file keeps what was seen. Of a changed page you are told how much of its text is another: 0 bits where only the
markup was changed, a few where it was a word or two, around 32 where nothing stayed (SimHashes have 64 bits).
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

import gossamer

HERE = ("http://localhost", "http://127.")  # to try it with a server on this machine


Seen = dict[str, tuple[str, int]]
"""Each page with the hash of its bytes and the SimHash of its text."""


async def main(url: str, file: Path) -> None:
    before: Seen = json.loads(file.read_text()) if file.exists() else {}
    now: Seen = {}
    async for crawled in gossamer.crawl(url, allow_private=url.startswith(HERE)):
        now[crawled.url] = crawled.content_hash, crawled.page.simhash

    for page in sorted(before.keys() | now.keys()):
        if page not in before:
            print("new     ", page)
        elif page not in now:
            print("gone    ", page)
        elif before[page][0] != now[page][0]:
            bits = (before[page][1] ^ now[page][1]).bit_count()
            print("changed ", page, f"({bits} bits)")
    file.write_text(json.dumps(now, indent=1))


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    asyncio.run(main(sys.argv[1], Path(sys.argv[2])))
