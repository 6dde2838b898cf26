"""What stands in the crawl's folder beside its pages: settings, seeds, policies, and the end of its log."""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

from msgspec import Meta

from gossamer import config
from gossamer.api import folder_shapes as shapes
from gossamer.api.context import Context
from gossamer.api.route import Query
from gossamer.api.routes.policies import policy_shape
from gossamer.config import Row
from gossamer.seeds import SeedList

LOG_BYTES_MAX = 256 << 10
Place = Annotated[str, Meta(pattern=r"^[0-9]{1,15}$", description="as an earlier answer gave it")]


class ListQuery(Query):
    cursor: Place | None = None
    limit: Annotated[int, Meta(ge=1, le=1000)] = 100


class LogQuery(Query):
    limit: Annotated[int, Meta(ge=1, le=1000, description="the last so many lines")] = 200


async def settings(context: Context) -> shapes.SettingsList:
    """As the crawl was last started with, or as the next start would have them."""
    configuration = await context.views.in_thread(lambda: config.load(context.folder.path, environment={}))
    defaults = {row.key: row.value for row in config.load(None, environment={}).rows()}
    return shapes.SettingsList(
        [
            shapes.Setting(row.key, config.as_toml(shown(row)), row.value == defaults[row.key], row.meaning)
            for row in configuration.rows()
        ]
    )


def shown(row: Row) -> object:
    """The address of a webhook often is a secret: whoever knows it can write there."""
    if row.key == "alerts.webhook" and "://" in str(row.value):
        parts = urlsplit(str(row.value))
        return f"{parts.scheme}://{parts.hostname}/..."
    return row.value


async def seeds(context: Context, query: ListQuery) -> shapes.SeedsList:
    def look() -> shapes.SeedsList:
        seeds = SeedList(context.folder.path)
        start = int(query.cursor or 0)
        # The list only grows, so a position stays what it was; one that nobody was given would be inside a line.
        found = list(islice(seeds.after(start), query.limit)) if start <= seeds.bytes else []
        entries = [shapes.SeedEntry(seed.url, seed.priority, seed.max_depth) for seed, _ in found]
        more = found and found[-1][1] < seeds.bytes
        return shapes.SeedsList(entries, str(found[-1][1]) if more else None)

    return await context.views.in_thread(look)


async def policies(context: Context, query: ListQuery) -> shapes.PoliciesList:
    """Sites first, then hosts, each by name."""
    known = await context.views.in_thread(context.folder.policies)
    entries = [shapes.PolicyEntry(name, "site", policy_shape(known.sites[name])) for name in sorted(known.sites)]
    entries += [shapes.PolicyEntry(name, "host", policy_shape(known.hosts[name])) for name in sorted(known.hosts)]
    start = int(query.cursor or 0)
    end = start + query.limit
    return shapes.PoliciesList(entries[start:end], str(end) if end < len(entries) else None)


async def log(context: Context, query: LogQuery) -> shapes.LogTail:
    def look() -> shapes.LogTail:
        file = context.tree.log.file
        if not file or context.crawl.is_whole_cluster:  # that of each node is on its machine
            return shapes.LogTail(None, [])
        with Path(file).open("rb") as lines:
            end = lines.seek(0, 2)
            lines.seek(max(0, end - LOG_BYTES_MAX))
            found = lines.read(LOG_BYTES_MAX).decode(errors="replace").splitlines()
        is_cut = end > LOG_BYTES_MAX
        return shapes.LogTail(file, found[is_cut:][-query.limit :])

    return await context.views.in_thread(look)
