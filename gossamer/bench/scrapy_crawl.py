"""Scrapy, set up as its guide to broad crawls says. Runs in an environment of its own, and needs nothing of ours.

    python scrapy_crawl.py SEEDS

What could be chosen is chosen in its favour. Links are read by one XPath, the quickest way that it has. Pages are
not stored, and its queue lives in memory: it has nothing to write, and nothing left after a crash.
"""
# mypy: ignore-errors

import sys
from pathlib import Path

import scrapy
from scrapy.crawler import CrawlerProcess
from scrapy.http import TextResponse

SETTINGS = {
    # settings
    "ROBOTSTXT_OBEY": True,
    "CONCURRENT_REQUESTS": 100,
    "CONCURRENT_REQUESTS_PER_DOMAIN": 8,
    "SCHEDULER_PRIORITY_QUEUE": "scrapy.pqueues.DownloaderAwarePriorityQueue",
    "TWISTED_REACTOR": "twisted.internet.asyncioreactor.AsyncioSelectorReactor",
    "REACTOR_THREADPOOL_MAXSIZE": 20,
    "LOG_LEVEL": "WARNING",
    "COOKIES_ENABLED": False,
    "RETRY_ENABLED": False,
    "REDIRECT_ENABLED": False,
    "DOWNLOAD_TIMEOUT": 15,
    "TELNETCONSOLE_ENABLED": False,
    "DEPTH_PRIORITY": 1,
    "SCHEDULER_DISK_QUEUE": "scrapy.squeues.PickleFifoDiskQueue",
    "SCHEDULER_MEMORY_QUEUE": "scrapy.squeues.FifoMemoryQueue",
    # end of settings
}


class Pages(scrapy.Spider):
    name = "pages"

    def parse(self, response):
        if isinstance(response, TextResponse):
            for href in response.xpath("//a/@href").getall():
                yield scrapy.Request(response.urljoin(href))


if __name__ == "__main__":
    process = CrawlerProcess(SETTINGS)
    process.crawl(Pages, start_urls=Path(sys.argv[1]).read_text().split())
    process.start()
