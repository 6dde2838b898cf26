"""Who we say we are, to every server that we ask."""

from __future__ import annotations

import re

from gossamer import __version__
from gossamer.settings import CrawlSettings


def about(crawl: CrawlSettings, name: str) -> dict[str, str]:
    """The crawl, as the files of its archive tell of it."""
    who = {"http-header-user-agent": identity(crawl), "operator": crawl.contact}
    return {**who, "robots": "classic", "isPartOf": name}


def identity(crawl: CrawlSettings) -> str:
    """A name that robots.txt can address, a version, and how to reach the operator."""
    contact = re.sub(r"[^\x21-\x7e]", "", crawl.contact)
    return f"{crawl.user_agent_token}/{__version__}" + (f" (+{contact})" if contact else "")
