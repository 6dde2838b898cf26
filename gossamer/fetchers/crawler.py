"""The gRPC service at the address where fetchers join: which workers there are, and reports beside a stream."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from gossamer.fetchers import fetchers_pb2
from gossamer.messages.control_messages import FetchReport


class CrawlerService:
    """The servicer of `gossamer.Crawler`."""

    def __init__(
        self, crawl: str, ports: Callable[[], list[int]], report: Callable[[FetchReport], Awaitable[str]]
    ) -> None:
        """`ports`: at which workers give jobs now. `report`: why a report changes nothing, or nothing."""
        self._crawl = crawl
        self._ports = ports
        self._report = report

    async def Workers(self, _: Any, __: Any) -> Any:
        return fetchers_pb2.WorkersThere(crawl=self._crawl, ports=self._ports())

    async def Report(self, sent: Any, _: Any) -> Any:
        reason = await self._report(
            FetchReport(
                crawl=sent.crawl,
                lease=sent.lease,
                epoch=sent.epoch,
                url=sent.url,
                status=sent.status,
                content_hash=sent.content_hash,
                body_bytes=sent.body_bytes,
                links=tuple(sent.links),
                body=sent.body,
                content_type=sent.content_type,
                location=sent.location,
                error=sent.error,
            )
        )
        return fetchers_pb2.ReportTaken(taken=not reason, reason=reason)
