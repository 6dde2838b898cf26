"""`gossamer status cluster.toml`: the whole crawl, its nodes and its partitions, as facts and as lines."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from gossamer.messages.node_messages import ClusterNow, NodeNow, owners
from gossamer.node.watch import Watched, totals_of
from gossamer.text import counted, size, span, time_of_day

COUNTED = ("pages", "bytes", "hosts", "queued", "waiting", "resting", "failed", "refused", "duplicates")


def status_facts(watched: Watched) -> dict[str, Any]:
    cluster, totals = watched.cluster, totals_of(watched.cluster)
    return {
        **{name: getattr(totals, name) for name in COUNTED},
        "ended": watched.ended.why if watched.ended is not None else "",
        "paused": watched.paused,
        "in_flight": sum(node.in_flight for node in cluster.nodes if node.state != "missing"),
        "coordinator": cluster.coordinator,
        "links_dead": cluster.links_dead,
        "nodes": [node_facts(node) for node in cluster.nodes],
        "partitions": partition_facts(cluster),
    }


def node_facts(node: NodeNow) -> dict[str, Any]:
    return {
        "node": node.name,
        "state": node.state,
        "at": node.at,
        "silent_s": round(node.silent_s, 1),
        "started_at": node.started_at,
        "partitions": [each.number for each in node.partitions],
        "opening": node.opening,
        "pages": sum(each.totals.pages for each in node.partitions),
        "pages_per_s": round(node.pages_per_s, 1),
        "in_flight": node.in_flight,
        "workers": node.workers,
        "memory_bytes": node.memory_bytes,
        "held_up": node.held_up,
        "shared_away": node.shared_away,
        "damage": {str(number): text for number, text in node.damage.items()},
        "links_behind": sum(each.kept.behind for each in node.partitions),
        "unacknowledged_bytes": sum(each.kept.unacknowledged_bytes for each in node.partitions),
        "restores": node.keeping.restores,
        "restored_s": round(node.keeping.restored_s, 3),
        "restored_bytes": node.keeping.restored_bytes,
        "snapshots": node.keeping.snapshots,
        "snapshot_bytes": node.keeping.snapshot_bytes,
        "rebalances": node.rebalances,
        "losses": node.losses,
        "owned_for_s": round(node.owned_for_s, 1),
        "version": node.version,
    }


def partition_facts(cluster: ClusterNow) -> list[dict[str, Any]]:
    """Of all partitions of the crawl, those without an owner included."""
    owned = owners(cluster.nodes)
    damage = {number: text for node in cluster.nodes for number, text in node.damage.items()}
    facts: list[dict[str, Any]] = []
    for number in range(cluster.partitions) if cluster.is_whole else owned:
        found: dict[str, Any] = {"partition": number, "owner": None, "damage": damage.get(number, "")}
        if number in owned:
            node, each = owned[number]
            found |= {
                "owner": node.name if node.state != "missing" else None,
                "last_owner": node.name,
                "epoch": each.epoch,
                "pages": each.totals.pages,
                "queued": each.totals.queued,
                "links_behind": each.kept.behind,
                "unacknowledged_bytes": each.kept.unacknowledged_bytes,
                "snapshot_at": each.kept.snapshot_at or None,
                "snapshot_bytes": each.kept.snapshot_bytes,
                "restored": each.kept.restored,
                "restored_s": round(each.kept.restored_s, 3),
            }
        facts.append(found)
    return facts


def status_lines(file: Path, facts: dict[str, Any]) -> Iterator[str]:
    ended, paused, nodes = facts["ended"], facts["paused"], facts["nodes"]
    state = f"over ({ended})" if ended else f"paused: {paused}" if paused else "at work"
    coordinator = f", coordinated by {facts['coordinator']}" if facts["coordinator"] else ""
    yield f"{file}: {state}, {counted(len(nodes), 'node')}{coordinator}"
    yield f"  {counted(facts['pages'], 'page')}, {size(facts['bytes'])}, {counted(facts['hosts'], 'host')}"
    yield f"  {facts['queued']:,} queued, {facts['waiting']:,} waiting, {facts['in_flight']:,} in flight"
    differ = len({node["version"] for node in nodes}) > 1  # they are being updated, one after the other
    for node in nodes:
        yield node_line(node, says_version=differ)
        if node["shared_away"]:
            yield f"    {node['shared_away']}"
        for number, text in node["damage"].items():
            yield f"  DAMAGE: partition {number}: {text}"
    unowned = [each["partition"] for each in facts["partitions"] if each["owner"] is None and not each["damage"]]
    if unowned and not ended:
        yield f"  nobody owns {counted(len(unowned), 'partition')}: {', '.join(map(str, unowned[:20]))}"
    if facts["links_dead"]:
        dead = counted(facts["links_dead"], "message")
        yield f"  {dead} of links could not be read, and were set aside in a topic of their own (links-dead)"


def node_line(node: dict[str, Any], *, says_version: bool) -> str:
    notes = [
        f"version {node['version']}" if says_version else "",
        f"{node['opening']} more are being opened" if node["opening"] else "",
        f"{counted(node['links_behind'], 'message')} of links behind" if node["links_behind"] else "",
        counted(node["restores"], "restore") if node["restores"] else "",
        counted(node["rebalances"], "rebalance") if node["rebalances"] else "",
        f"not heard of for {span(node['silent_s'])}" if node["state"] == "missing" else "",
    ]
    held_up = f"; {node['held_up']}" if node["held_up"] else ""
    return (
        f"  {node['node']}: {counted(len(node['partitions']), 'partition')}, {node['pages_per_s']:,.1f} pages/s, "
        f"{counted(node['in_flight'], 'URL')} in flight, {size(node['memory_bytes'])}, since "
        f"{time_of_day(node['started_at'], node['at'])}{''.join(f', {note}' for note in notes if note)}{held_up}"
    )
