"""A page whose links were told apart, as the native reader does it; without that reader."""

from __future__ import annotations

from gossamer.records import LinksApart, Page
from gossamer.url.site import origin_of


class PageApart(Page, frozen=True):
    @property
    def links_apart(self) -> LinksApart:  # type: ignore[override]
        home = origin_of(self.url) + "/"
        own = [link for link in self.links if link.url.startswith(home)]
        others = [link for link in self.links if not link.url.startswith(home)]
        return LinksApart(
            [link.url for link in own], [link.rel for link in own], [link.context for link in own], others
        )
