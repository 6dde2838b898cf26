"""Metrics of a cluster: at a server of the whole those of all nodes, at that of a node's folder its own.

What a node tells of itself is since it started. A node that is not heard of any more keeps its last figures, as long
as some partition is still its own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import get_args

from gossamer.api.metric import Facts, Value, Values, by, counter, gauge
from gossamer.messages.node_messages import ClusterNow, NodeNow, NodeState, PartitionNow, owners


def of_cluster(value: Callable[[ClusterNow], Values]) -> Value:
    return lambda facts: value(facts.cluster) if facts.cluster is not None else None


def of_nodes(value: Callable[[NodeNow], float]) -> Value:
    return of_cluster(lambda cluster: by("node", {node.name: value(node) for node in cluster.nodes}))


def of_partitions(value: Callable[[PartitionNow, ClusterNow], float | None]) -> Value:
    def values(cluster: ClusterNow) -> Values:
        owned = owners(cluster.nodes)
        known = {number: found for number, (_, each) in owned.items() if (found := value(each, cluster)) is not None}
        return {(("partition", str(number)),): found for number, found in known.items()}

    return of_cluster(values)


def node_states(cluster: ClusterNow) -> Values:
    counts = dict.fromkeys(get_args(NodeState), 0.0)
    for node in cluster.nodes:
        counts[node.state] += 1
    return by("state", counts)


def unowned(cluster: ClusterNow) -> Values:
    if not cluster.is_whole:
        return None
    return cluster.partitions - sum(node.state != "missing" for node, _ in owners(cluster.nodes).values())


def shared_up(facts: Facts) -> Values:
    if facts.cluster is None or not facts.tree.cluster.redis:
        return None
    heard = [node for node in facts.cluster.nodes if node.state != "missing"]
    return by("node", {node.name: not node.shared_away for node in heard})


def links_dead(cluster: ClusterNow) -> Values:
    here = sum(node.keeping.links_dead for node in cluster.nodes)
    return cluster.links_dead if cluster.is_whole else here


def snapshot_age(partition: PartitionNow, cluster: ClusterNow) -> float | None:
    taken_at = partition.kept.snapshot_at
    return max(0.0, cluster.at - taken_at) if taken_at else None


NODE_METRICS = (
    gauge(
        "nodes", "nodes", "nodes of a cluster by their state; missing: not heard of", of_cluster(node_states), "state"
    ),
    gauge("node_up", "flag", "1: it was heard of lately", of_nodes(lambda node: node.state != "missing"), "node"),
    gauge(
        "partitions_unowned", "partitions", "partitions that nobody has open who was heard of", of_cluster(unowned)
    ),
    gauge("node_partitions", "partitions", "partitions open", of_nodes(lambda node: len(node.partitions)), "node"),
    gauge(
        "node_opening_partitions", "partitions", "its own, not open yet", of_nodes(lambda node: node.opening), "node"
    ),
    gauge("node_held_up", "flag", "1: it fetches nothing", of_nodes(lambda node: bool(node.held_up)), "node"),
    gauge(
        "node_owned_seconds",
        "seconds",
        "how long it owns its partitions for certain",
        of_nodes(lambda node: node.owned_for_s),
        "node",
    ),
    counter("node_rebalances_total", "rebalances", "of the group", of_nodes(lambda node: node.rebalances), "node"),
    counter(
        "node_losses_total", "losses", "of all its partitions at once", of_nodes(lambda node: node.losses), "node"
    ),
    counter("node_restores_total", "restores", "of partitions", of_nodes(lambda node: node.keeping.restores), "node"),
    counter(
        "node_restore_seconds_total",
        "seconds",
        "time that all restores took",
        of_nodes(lambda node: node.keeping.restored_s),
        "node",
    ),
    counter(
        "node_restored_bytes_total",
        "bytes",
        "of snapshots that were downloaded",
        of_nodes(lambda node: node.keeping.restored_bytes),
        "node",
    ),
    counter("node_snapshots_total", "snapshots", "taken", of_nodes(lambda node: node.keeping.snapshots), "node"),
    counter(
        "node_snapshot_bytes_total",
        "bytes",
        "of the stores in them",
        of_nodes(lambda node: node.keeping.snapshot_bytes),
        "node",
    ),
    gauge(
        "journal_unacknowledged_bytes",
        "bytes",
        "written, and lost with the node",
        of_nodes(lambda node: sum(each.kept.unacknowledged_bytes for each in node.partitions)),
        "node",
    ),
    gauge("shared_up", "flag", "1: Valkey answers its workers", shared_up, "node"),
    gauge(
        "links_behind",
        "messages",
        "links not applied yet",
        of_partitions(lambda each, _: each.kept.behind),
        "partition",
    ),
    gauge(
        "snapshot_age_seconds", "seconds", "since the last of this owner", of_partitions(snapshot_age), "partition"
    ),
    counter("links_dead_total", "messages", "messages of links that could not be read", of_cluster(links_dead)),
)
