"""Who we say we are, to every server that we ask."""

from __future__ import annotations

import re

from gossamer import __version__
from gossamer.settings import CrawlSettings


def identity(crawl: CrawlSettings) -> str:
    """A name that robots.txt can address, a version, and how to reach the operator."""
    contact = re.sub(r"[^\x21-\x7e]", "", crawl.contact)
    return f"{crawl.user_agent_token}/{__version__}" + (f" (+{contact})" if contact else "")
