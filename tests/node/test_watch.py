"""Nodes as one crawl: what is added up, what counts once, and what goes over the board."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from gossamer.frontier.disk.tables import Totals
from gossamer.messages.control_messages import Now, RestingHost
from gossamer.messages.node_messages import ClusterNow, Kept, NodeNow, PartitionNow
from gossamer.node.report import Ended
from gossamer.node.status import status_facts, status_lines
from gossamer.node.watch import Watched, for_board, packed, together, totals_of
from tests.api.test_metrics import NOW


def cluster(*nodes: NodeNow, **more: object) -> ClusterNow:
    return replace(ClusterNow("news", 2000.0, 3, nodes, "a", 0, is_whole=True), **more)


def partition(number: int, epoch: int, **totals: Any) -> PartitionNow:
    return PartitionNow(number, epoch, 0, packed(Totals(**totals)))


def node(name: str, *partitions: PartitionNow, **more: object) -> NodeNow:
    return replace(NodeNow(name, 2000.0, 1000.0, partitions), **more)


def test_rates_are_added_up_and_a_partition_that_moves_counts_once() -> None:
    whole = cluster(
        node("a", partition(0, 1, pages=50), partition(1, 1, pages=7)), node("b", partition(0, 2, pages=60))
    )
    now = together({"a": NOW, "b": NOW}, whole, "", None)
    assert now is not None
    assert (now.totals.pages, now.pages_per_s, now.in_flight) == (67, 2.0, 8)
    assert now.errors == {"dns": 4, "gone": 2} and now.fetch_s[:2] == [6, 4] and now.queue_levels == [0, 4, 2]
    assert [(worker.node, worker.number) for worker in now.workers] == [("a", 0), ("a", 2), ("b", 0), ("b", 2)]
    assert now.dns.asked == 20 and now.started_at == NOW.started_at
    assert together({}, whole, "", None) is None


def test_the_whole_is_paused_where_an_operator_wants_it_or_where_nobody_can_go_on() -> None:
    held = replace(NOW, paused="the disk is full")
    whole = cluster(node("a"), node("b"))

    def paused(one: Now, other: Now, why: str) -> str:
        now = together({"a": one, "b": other}, whole, why, None)
        assert now is not None
        return now.paused

    assert paused(NOW, held, "") == ""
    assert paused(held, held, "") == "the disk is full"
    assert paused(NOW, NOW, "as asked") == "as asked"


def test_what_goes_over_the_board_is_small_and_comes_back() -> None:
    many = tuple(RestingHost(f"h{number}.test", 1.0) for number in range(1000))
    totals = Totals(pages=1, reasons={"dns": 3})
    told = replace(
        NOW, totals=totals, resting=many, cluster=cluster(node("a", PartitionNow(0, 1, 5, packed(totals))))
    )
    sent = msgspec.msgpack.encode(for_board(told))
    assert len(sent) < 2000
    back = msgspec.msgpack.decode(sent, type=Now)
    assert back.cluster == told.cluster and back.workers == NOW.workers
    assert totals_of(back.cluster or cluster()).reasons == {"dns": 3}


def test_status_says_who_is_missing_what_nobody_owns_and_what_could_not_be_read() -> None:
    whole = cluster(
        node("a", partition(0, 1, pages=5), shared_away="Valkey does not answer", rebalances=2),
        node("b", partition(1, 1), silent_s=30.0),
        links_dead=4,
    )
    facts = status_facts(Watched(None, whole, None, ""))
    assert [each["owner"] for each in facts["partitions"]] == ["a", None, None]
    text = "\n".join(status_lines(Path("cluster.toml"), facts))
    assert "cluster.toml: at work, 2 nodes, coordinated by a" in text and "5 pages" in text
    assert "not heard of for 30 s" in text and "Valkey does not answer" in text and "2 rebalances" in text
    assert "nobody owns 2 partitions: 1, 2" in text and "4 messages of links could not be read" in text
    over = status_facts(Watched(None, whole, Ended("complete", 2000.0, "a"), ""))
    assert "nobody owns" not in "\n".join(status_lines(Path("cluster.toml"), over))


def test_status_says_the_versions_of_nodes_while_they_differ() -> None:
    behind = replace(partition(0, 1), kept=replace(Kept(), behind=1))
    for versions, is_said in ((("1.0", "1.0"), False), (("1.0", "1.1"), True)):
        whole = cluster(*(node(name, behind, version=each) for name, each in zip("ab", versions, strict=True)))
        lines = list(status_lines(Path("cluster.toml"), status_facts(Watched(None, whole, None, ""))))
        assert [f"version {each}" in line for each, line in zip(versions, lines[3:5], strict=True)] == [is_said] * 2
        assert "1 message of links behind" in lines[3]
