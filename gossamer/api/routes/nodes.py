"""The nodes of a cluster and its partitions: who owns what, and how far its state is elsewhere."""

from __future__ import annotations

from gossamer.api import node_shapes as shapes
from gossamer.api.context import Context
from gossamer.api.route import NoAnswer
from gossamer.messages.node_messages import ClusterNow, NodeNow, owners
from gossamer.text import moment


async def nodes(context: Context) -> shapes.Nodes:
    cluster = await context.crawl.cluster()
    if cluster is None:
        raise NoAnswer(404, "not_a_cluster", "this is a crawl on one machine, or a node that does not run")
    age_s = context.views.age_s
    return shapes.Nodes(
        at=moment(cluster.at) or "",
        cluster=cluster.name,
        is_whole=cluster.is_whole,
        coordinator=cluster.coordinator or None,
        links_dead=cluster.links_dead,
        trouble=cluster.trouble or None,
        look_age_s=round(age_s, 1) if age_s is not None else None,
        look_trouble=context.views.trouble or None,
        nodes=[node_shape(node, cluster) for node in cluster.nodes],
        partitions=partition_shapes(cluster),
    )


def node_shape(node: NodeNow, cluster: ClusterNow) -> shapes.Node:
    keeping = node.keeping
    return shapes.Node(
        name=node.name,
        state=node.state,
        heard_at=moment(node.at) or "",
        silent_s=round(node.silent_s, 1),
        started_at=moment(node.started_at) or "",
        version=node.version,
        workers=node.workers,
        memory_bytes=node.memory_bytes,
        pages=sum(each.totals.pages for each in node.partitions),
        pages_per_s=round(node.pages_per_s, 2),
        in_flight=node.in_flight,
        partitions=[each.number for each in node.partitions],
        opening=node.opening,
        held_up=node.held_up or None,
        shared_away=node.shared_away or None,
        damage=[shapes.Damage(number, text) for number, text in sorted(node.damage.items())],
        links_behind=sum(each.kept.behind for each in node.partitions),
        unacknowledged_bytes=sum(each.kept.unacknowledged_bytes for each in node.partitions),
        restores=keeping.restores,
        restored_s=round(keeping.restored_s, 3),
        restored_bytes=keeping.restored_bytes,
        snapshots=keeping.snapshots,
        snapshot_bytes=keeping.snapshot_bytes,
        rebalances=node.rebalances,
        losses=node.losses,
        owned_for_s=round(node.owned_for_s, 1),
        links_dead=keeping.links_dead,
        coordinates=node.name == cluster.coordinator,
    )


def partition_shapes(cluster: ClusterNow) -> list[shapes.Partition]:
    """All of the crawl, where all nodes are known."""
    owned = owners(cluster.nodes)
    damage = {number: text for node in cluster.nodes for number, text in node.damage.items()}
    shown = []
    for number in range(cluster.partitions) if cluster.is_whole else sorted({*owned, *damage}):
        if number not in owned:
            shown.append(shapes.Partition(number, damage=damage.get(number)))
            continue
        node, each = owned[number]
        kept = each.kept
        age_s = max(0.0, cluster.at - kept.snapshot_at) if kept.snapshot_at else None
        shown.append(
            shapes.Partition(
                partition=number,
                owner=node.name if node.state != "missing" else None,
                last_owner=node.name,
                epoch=each.epoch,
                pages=each.totals.pages,
                queued=each.totals.queued,
                links_behind=kept.behind,
                unacknowledged_bytes=kept.unacknowledged_bytes,
                snapshot_at=moment(kept.snapshot_at) if kept.snapshot_at else None,
                snapshot_age_s=round(age_s, 1) if age_s is not None else None,
                snapshot_bytes=kept.snapshot_bytes if kept.snapshot_at else None,
                restored=kept.restored or None,
                restored_s=round(kept.restored_s, 3) if kept.restored else None,
                damage=damage.get(number),
            )
        )
    return shown
