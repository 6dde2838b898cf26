"""Find the broken links of a site, and the pages that they are on.

    python examples/broken_links.py https://example.org/

Links to other sites are tried, too, and no further: what is linked from there is somebody else's business. The exit
code is 1 where something is broken, so that a nightly job can tell.
"""

from __future__ import annotations

import asyncio
import sys
from collections import defaultdict

import gossamer
from gossamer.url.site import host_of, site_of

HERE = ("http://localhost", "http://127.")  # to try it with a server on this machine


async def main(url: str) -> int:
    home = site_of(host_of(url))
    broken: dict[str, str] = {}
    linked_from: defaultdict[str, set[str]] = defaultdict(set)

    def is_ours(link: gossamer.Link) -> bool:
        return site_of(host_of(link.source or url)) == home

    async for one in gossamer.crawl(
        url,
        scope="any",
        filters=[is_ours],
        everything=True,
        settings={"frontier.retries_s": [], "robots.retry_s": []},  # one try is enough for a report
        allow_private=url.startswith(HERE),
    ):
        if (
            one.reason and one.fetched_at is not None
        ):  # asked for and not fetched; what robots.txt forbids is not broken
            broken[one.url] = str(one.status or one.reason)
        else:
            broken.pop(one.url, None)  # its server was only too busy the first time
        for target in [one.moved_to] if one.moved_to else [link.url for link in one.links]:
            linked_from[target].add(one.url)

    for bad, why in sorted(broken.items()):
        print(f"{why}  {bad}")
        for page in sorted(linked_from[bad]):
            print(f"     on {page}")
    print(f"{len(broken)} broken links")
    return 1 if broken else 0


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sys.exit(asyncio.run(main(sys.argv[1])))
