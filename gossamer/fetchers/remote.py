"""Fetching by fetchers: what the loop's fetcher and processor are where others fetch.

Robots rules, redirects and what a turn is spent on are decided here, by the same `Fetcher` as ever; it only does not
ask itself. Each lease becomes a job, for its robots.txt or for its page. What stays here: schemes other than http(s),
and a robots.txt that was redirected to another host, which is asked at a booked turn of that host
(docs/decisions/0057).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from contextlib import nullcontext
from pathlib import Path

from gossamer.fetch.fetcher import Fetcher
from gossamer.fetchers.answers import Limits, ReadElsewhere
from gossamer.fetchers.jobs import Jobs, Wanted
from gossamer.fetchers.regions import Regions
from gossamer.headers import ExtraHeaders
from gossamer.interfaces import Pause, Processor, SchemeFetcher, Watched
from gossamer.records import SITEMAP, Answer, Fetched, Lease, Page, Postponed, Result, Url, Validators
from gossamer.settings import FetchSettings
from gossamer.url.media_types import MediaTypes
from gossamer.url.site import clock_name, host_of

SCHEMES = ("http", "https")
CrawlPaceOf = Callable[[str], Awaitable[Pause]]


class RemoteFetcher:
    """Implements `interfaces.Fetcher`."""

    def __init__(
        self,
        fetcher: Fetcher,
        scheme_fetchers: Mapping[str, SchemeFetcher],
        jobs: Jobs,
        regions: Regions,
        settings: FetchSettings,
        folder: Path,
        *,
        epoch_of: Callable[[str], int],
        crawl_pace: CrawlPaceOf,
        fetches_alone: bool,
        looks_into: Callable[[], bool],
    ) -> None:
        """`folder`: for large bodies. `epoch_of`: of the ownership of a host. `crawl_pace`: what a request has to
        wait for by the pace of the crawl. `fetches_alone`: this process asks where no fetcher is there that may.
        `looks_into`: whether the next page that a fetcher has read is to be compared with what it says."""
        self.jobs = jobs
        self.regions = regions
        self.settings = settings
        self.folder = folder
        self.epoch_of = epoch_of
        self.fetches_alone = fetches_alone
        self.crawl_pace = crawl_pace
        self._fetcher = fetcher
        self.here = scheme_fetchers
        self._schemes = [scheme for scheme in SCHEMES if scheme in scheme_fetchers]
        self._limits = Limits(settings, None, folder, looks_into)

    def limits(self, body_bytes_max: int | None) -> Limits:
        return self._limits if body_bytes_max is None else Limits(self.settings, body_bytes_max, self.folder)

    async def fetch(self, lease: Lease) -> Result:
        of_lease = OfLease(self, lease)
        return await self._fetcher.by({**self.here, **dict.fromkeys(self._schemes, of_lease)}).fetch(lease)


class OfLease:
    """Implements `interfaces.SchemeFetcher` for one lease."""

    def __init__(self, around: RemoteFetcher, lease: Lease) -> None:
        self._around = around
        self._lease = lease

    async def fetch(
        self,
        url: Url,
        validators: Validators | None = None,
        *,
        body_bytes_max: int | None = None,
        wanted: MediaTypes | None = None,
        extra: ExtraHeaders | None = None,
    ) -> Answer:
        around, lease, host = self._around, self._lease, host_of(url)
        is_elsewhere = clock_name(host) != clock_name(lease.host)
        region = "" if is_elsewhere else await around.regions.of(host, around.jobs.regions)
        if is_elsewhere or (around.fetches_alone and not around.jobs.has(region)):
            here = around.here[url.partition(":")[0]]
            return await here.fetch(url, validators, body_bytes_max=body_bytes_max, wanted=wanted, extra=extra)
        pause = await around.crawl_pace(host)
        if pause.wait_s > 0:
            return Postponed(pause.wait_s, pause.reason)
        if pause.hold_s > 0:
            await around.jobs.sleep(pause.hold_s)
        answer, came_from = await around.jobs.fetch(
            Wanted(
                lease,
                around.epoch_of(host),
                url,
                around.limits(body_bytes_max),
                is_page=url == lease.url,
                takes_any_type=lease.link.rel == SITEMAP,
                extra=extra,
            ),
            region,
        )
        if came_from:
            around.regions.learn(host, came_from, answer)
        return answer


class RemoteProcessor:
    """Implements `interfaces.Processor`: what was read elsewhere is not read again."""

    def __init__(self, processor: Processor) -> None:
        self._processor = processor

    async def process(
        self, url: Url, fetched: Fetched, watched: Watched = nullcontext, *, is_suspect: bool = False
    ) -> Page:
        if isinstance(fetched, ReadElsewhere):
            return fetched.page
        return await self._processor.process(url, fetched, watched, is_suspect=is_suspect)

    def hurry(self) -> None:
        self._processor.hurry()
