"""How far a frontier is, from its folder, served or not: what its store has for each crawl."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from gossamer.clock import RealClock
from gossamer.frontier.disk.store import RocksStore
from gossamer.urlfrontier.frontier_folder import FrontierFolder
from gossamer.urlfrontier.tables import (
    SERVICE,
    TABLES,
    ServiceRecord,
    counts_in,
    pair_in,
    queue_record,
    service_record,
)


def frontier_facts(path: Path) -> dict[str, Any]:
    FrontierFolder(path).must_be_frontier()
    store = RocksStore(path / "store", TABLES, read_only=True)
    try:
        said = service_record(found) if (found := store.get("meta", SERVICE)) else ServiceRecord()
        crawls: dict[int, dict[str, Any]] = {}
        for key, value in store.scan("crawls"):
            none = dict.fromkeys(("queues", "active_queues", "urls", "in_process", "completed", "blocked_queues"), 0)
            crawls[int.from_bytes(key, "big")] = {"crawl": value.decode(), **none}
        of_queue = {}
        now = RealClock().now()
        figures = dict(store.scan("counts"))
        for key, value in store.scan("queues"):
            record = queue_record(value)
            if not record.is_deleted:
                active, completed, _ = counts_in(figures.get(key, bytes(24)))
                crawl = of_queue[key] = crawls[record.crawl]
                crawl["queues"] += 1
                crawl["active_queues"] += active > 0
                crawl["blocked_queues"] += record.blocked_until > now
                crawl["urls"] += active
                crawl["completed"] += completed
        for key, value in store.scan("leases"):
            if value[:8] in of_queue and pair_in(key)[0] > now * 1e6:
                of_queue[value[:8]]["in_process"] += 1
    finally:
        store.close()
    found_crawls = [crawl for crawl in crawls.values() if crawl["queues"]]
    return {"frontier": str(path), "active": said.is_active, "delay_s": said.delay_s, "crawls": found_crawls}


def frontier_text(facts: dict[str, Any]) -> str:
    lines = [
        f"{facts['frontier']}: a frontier, {'' if facts['active'] else 'not '}active, "
        f"{facts['delay_s']} s between two hand-outs of a queue"
    ]
    lines += [
        "{crawl}: {urls:,} URLs in {active_queues:,} of {queues:,} queues, {in_process:,} in process, "
        "{completed:,} completed, {blocked_queues:,} queues blocked".format(**crawl)
        for crawl in facts["crawls"]
    ]
    return "\n".join(lines)
