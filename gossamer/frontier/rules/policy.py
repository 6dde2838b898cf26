"""Policies: what an operator says about a host or a site, over what the crawl would do by itself.

Pure data. They live in the crawl's folder (`policies.json`, see folder.py), so that they survive restarts, can be set
while the crawl runs or not, and take effect at the host's next turn. A host's policy goes before its site's.
"""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from gossamer.records import Host
from gossamer.rendered import When
from gossamer.settings import PolitenessSettings
from gossamer.settings.kinds import PolicyProxy, Region
from gossamer.url.site import site_of


class Policy(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    delay_s: Annotated[float, Meta(ge=0)] | None = (
        None  # instead of politeness.delay_s; Crawl-delay and strain still count
    )
    max_pages: Annotated[int, Meta(ge=1)] | None = (
        None  # instead of frontier.host_pages_max, or site_pages_max for a site
    )
    priority: Annotated[float, Meta(ge=0, le=1)] | None = None  # instead of the host's authority, in [0, 1]
    paused: bool = False  # nothing is asked, everything stays queued
    blocked: bool = False  # nothing is asked, what is queued is refused
    trusted: bool = False  # what looks like a trap here is none
    crawl_rate: Annotated[float, Meta(gt=0)] | None = None  # requests a second; of a site all its hosts together
    region: Region | None = None  # whose fetchers ask; empty: any
    render: When | None = None  # instead of render.when
    proxy: PolicyProxy | None = None  # instead of fetch.proxy; direct: none

    @property
    def least_delay_s(self) -> float | None:
        """What a host is left alone for at least; None: as the settings say."""
        return 1 / self.crawl_rate if self.delay_s is None and self.crawl_rate is not None else self.delay_s


class CrawlLimits(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """Of the whole crawl, instead of politeness.requests_per_s and bytes_per_s; 0: none."""

    requests_per_s: Annotated[float, Meta(ge=0)] | None = None
    bytes_per_s: Annotated[float, Meta(ge=0)] | None = None

    def over(self, settings: PolitenessSettings) -> tuple[float | None, float | None]:
        """Requests and bytes a second, as they are in force."""
        requests = settings.requests_per_s if self.requests_per_s is None else self.requests_per_s
        return requests, settings.bytes_per_s if self.bytes_per_s is None else self.bytes_per_s


NONE = Policy()


class Policies(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    hosts: dict[str, Policy] = {}
    sites: dict[str, Policy] = {}
    crawl: CrawlLimits = CrawlLimits()

    def __bool__(self) -> bool:
        return bool(self.hosts or self.sites)

    def of(self, host: Host) -> Policy:
        """What holds for a host: its own policy, and its site's for what that leaves open."""
        if not self:
            return NONE
        own, sites = self.hosts.get(host.name), self.sites.get(host.site)
        if own is None or sites is None:
            return own or (msgspec.structs.replace(sites, max_pages=None) if sites else NONE)
        return Policy(
            delay_s=own.least_delay_s if own.least_delay_s is not None else sites.least_delay_s,
            max_pages=own.max_pages,
            priority=own.priority if own.priority is not None else sites.priority,
            paused=own.paused or sites.paused,
            blocked=own.blocked or sites.blocked,
            trusted=own.trusted or sites.trusted,
            crawl_rate=own.crawl_rate if own.crawl_rate is not None else sites.crawl_rate,
            region=own.region if own.region is not None else sites.region,
            render=own.render if own.render is not None else sites.render,
            proxy=own.proxy if own.proxy is not None else sites.proxy,
        )

    def of_name(self, host: str) -> Policy:
        return self.of(Host(host, site_of(host))) if self else NONE

    def site_rate(self, site: str) -> float | None:
        return self.sites.get(site, NONE).crawl_rate

    def site_pages_max(self, site: str) -> int | None:
        return self.sites.get(site, NONE).max_pages
