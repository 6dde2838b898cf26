"""A deterministic web of any size, with everything that makes crawling hard; it ships with the product.

    web = Web(WebOptions.everything(seed=7))
    async with serve(web) as server:
        ...                                   # crawl server.url(0)
    assert not overlapping(server.log.entries)
    assert asked(server.log.entries) >= truth(web, [server.url(0)]).reachable

The tests use it as the judge, `gossamer demo` as its world, and the benchmarks as the thing to be crawled.
It sits at the bottom of the package and knows nothing of the crawler. web.py tells how it is made.
"""

from gossamer.synthetic_web.access_log import AccessLog, Entry, asked, gaps_below, overlapping
from gossamer.synthetic_web.options import RobotsKind, WebOptions
from gossamer.synthetic_web.server import Server, serve
from gossamer.synthetic_web.truth import Truth, truth
from gossamer.synthetic_web.web import Web

__all__ = [
    "AccessLog",
    "Entry",
    "RobotsKind",
    "Server",
    "Truth",
    "Web",
    "WebOptions",
    "asked",
    "gaps_below",
    "overlapping",
    "serve",
    "truth",
]
