"""Metrics are declared once: the answer, the documents and the dashboard for Grafana all keep to the table."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml
from msgspec.structs import replace

from gossamer.api import status_shapes
from gossamer.api.metric import Facts
from gossamer.api.routes.metrics import METRICS, table, text_of
from gossamer.fetch.dns import DnsCounts
from gossamer.fetch.robots import RobotsCounts
from gossamer.frontier.disk.tables import Totals
from gossamer.messages import control_messages
from gossamer.messages.node_messages import ClusterNow, KeepingCounts, Kept, NodeNow, PartitionNow, PartitionTotals
from gossamer.records import Reason
from gossamer.settings import Tree
from gossamer.text import EXPLAINED, TROUBLES

DOCS = Path(__file__).parent.parent.parent / "docs"

NAME = r"[a-z_][a-z0-9_]*"
SAMPLE = re.compile(rf'({NAME})(?:\{{({NAME}="(?:[^"\\\n]|\\.)*"(?:,{NAME}="(?:[^"\\\n]|\\.)*")*)\}})? (\S+)')
SUFFIXES = ("_bucket", "_sum", "_count")


def parsed(text: str) -> dict[str, dict[str, float]]:
    """Metric -> labels -> value, as strictly as Prometheus reads it: help and type first, no line twice."""
    found: dict[str, dict[str, float]] = {}
    kinds: dict[str, str] = {}
    assert text.endswith("\n")
    for line in text.splitlines():
        if line.startswith("# TYPE "):
            _, _, name, kind = line.split()
            kinds[name] = kind
        elif not line.startswith("# HELP "):
            sample = SAMPLE.fullmatch(line)
            assert sample, line
            name = next((sample[1].removesuffix(end) for end in SUFFIXES if sample[1].endswith(end)), sample[1])
            assert name in kinds and (kinds[name] == "histogram") == (name != sample[1]), line
            values = found.setdefault(sample[1], {})
            assert (sample[2] or "") not in values, line
            values[sample[2] or ""] = float(sample[3])
    return found


def facts(now: control_messages.Now | None) -> Facts:
    totals = Totals(known=30, queued=10, waiting=2, pages=12, failed=3, refused=1, duplicates=4, bytes=500, hosts=5)
    totals.turned_away = {"scope": 7}
    return Facts(Tree(), totals, 4, status_shapes.Disk(1000, 200, 300), now)


NOW = control_messages.Now(
    at=2000.0,
    started_at=1000.5,
    totals=Totals(),
    totals_at_start=Totals(),
    pages_today=1,
    pages_per_s=1.0,
    bytes_per_s=2.0,
    errors_per_s=0.0,
    errors={"dns": 2, "gone": 1},
    in_flight=4,
    active_hosts=3,
    queue_levels=[0, 2, 1],
    dns=DnsCounts(asked=10, hits=8, queries=2, query_s=0.25),
    robots=RobotsCounts(asked=9, hits=9),
    fetch_s=[3, 2, *([0] * 9), 1],
    workers=[
        control_messages.WorkerNow(0, 11, "working", 4, 3, [0, 1], 1 << 20, 1.5),
        control_messages.WorkerNow(2, 12, "idle"),
    ],
    memory_bytes=1 << 30,
    disk_free_bytes=1000,
    fetch_s_sum=31.25,
)


def test_figures_are_those_of_the_crawl() -> None:
    found = parsed(text_of(facts(NOW)))
    assert found["gossamer_up"] == {"": 1} and found["gossamer_pages_total"] == {"": 12}
    assert found["gossamer_errors_total"] == {'reason="dns"': 2, 'reason="gone"': 1}
    assert found["gossamer_urls"]['state="queued"'] == 6 and found["gossamer_urls"]['state="in_flight"'] == 4
    assert sum(found["gossamer_urls"].values()) == 30
    assert found["gossamer_queue_hosts"] == {'level="0"': 0, 'level="1"': 2, 'level="2"': 1}
    assert found["gossamer_worker_memory_bytes"] == {'worker="0"': 1 << 20, 'worker="2"': 0}
    assert found["gossamer_workers"]['state="working"'] == 1


def test_answer_times_are_a_proper_histogram() -> None:
    found = parsed(text_of(facts(NOW)))
    buckets = list(found["gossamer_answer_seconds_bucket"].items())
    assert (buckets[0], buckets[-1]) == (('le="0.01"', 3), ('le="+Inf"', 6))
    assert [label for label, _ in buckets[:-1]] == [f'le="{bound:g}"' for bound in control_messages.FETCH_S]
    assert [count for _, count in buckets] == sorted(count for _, count in buckets)
    assert found["gossamer_answer_seconds_count"] == {"": 6} and found["gossamer_answer_seconds_sum"] == {"": 31.25}


def node(name: str, *partitions: PartitionNow, **more: Any) -> NodeNow:
    return NodeNow(name, 1999.0, 1000.0, partitions, keeping=KeepingCounts(restores=3, restored_s=0.5), **more)


CLUSTER = ClusterNow(
    "news",
    2000.0,
    4,
    (
        node(
            "a", PartitionNow(0, 2, 10, PartitionTotals(), Kept(5, 700, 1990.0, 9000)), shared_away="Valkey is away"
        ),
        node("b", PartitionNow(0, 1, 10, PartitionTotals()), PartitionNow(1, 1, 7, PartitionTotals()), silent_s=60.0),
    ),
    "a",
    2,
    is_whole=True,
)


def test_a_cluster_is_told_by_node_and_by_partition_each_of_its_last_owner() -> None:
    with_valkey = replace(Tree(), cluster=replace(Tree().cluster, redis="redis://127.0.0.1"))
    found = parsed(text_of(dataclasses.replace(facts(NOW), tree=with_valkey, cluster=CLUSTER)))
    assert found["gossamer_nodes"]['state="working"'] == found["gossamer_nodes"]['state="missing"'] == 1
    assert found["gossamer_node_up"] == {'node="a"': 1, 'node="b"': 0}
    assert found["gossamer_partitions_unowned"] == {"": 3}  # one is at a node that is missing, two at nobody
    assert found["gossamer_links_behind"] == {'partition="0"': 5, 'partition="1"': 0}
    assert found["gossamer_snapshot_age_seconds"] == {'partition="0"': 10}
    assert found["gossamer_journal_unacknowledged_bytes"] == {'node="a"': 700, 'node="b"': 0}
    assert found["gossamer_node_restore_seconds_total"] == {'node="a"': 0.5, 'node="b"': 0.5}
    assert found["gossamer_shared_up"] == {'node="a"': 0}  # of the other one nobody knows
    assert found["gossamer_links_dead_total"] == {"": 2}
    assert not any(name.startswith("gossamer_node") for name in parsed(text_of(facts(NOW))))  # on one machine


def test_what_is_not_known_is_left_out() -> None:
    found = parsed(text_of(facts(None)))
    assert found["gossamer_up"] == {"": 0} and found["gossamer_pages_total"] == {"": 12}
    assert "gossamer_paused" not in found and "gossamer_dns_hits_total" not in found


def test_every_metric_has_a_name_that_says_its_unit() -> None:
    names = [metric.name for metric in METRICS]
    assert len(names) == len(set(names))
    for metric in METRICS:
        assert re.fullmatch(rf"gossamer_{NAME}", metric.name) and metric.meaning
        assert metric.name.endswith("_total") == (metric.kind == "counter"), metric.name
        for unit in ("bytes", "seconds", "ratio"):
            assert (metric.unit == unit) == (unit in metric.name), metric.name
    assert set(EXPLAINED) == set(Reason)


def test_the_documents_list_every_metric() -> None:
    assert table() in (DOCS / "metrics.md").read_text(encoding="utf-8")


def expressions(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        yield from (text for name, text in value.items() if name in ("expr", "query") and isinstance(text, str))
        value = list(value.values())
    if isinstance(value, list):
        for one in value:
            yield from expressions(one)


def test_grafana_asks_for_what_there_is_and_for_all_of_it() -> None:
    dashboard = json.loads((DOCS / "grafana.json").read_text(encoding="utf-8"))
    asked = {name for text in expressions(dashboard) for name in re.findall(r"gossamer_\w+", text)}
    declared = {metric.name for metric in METRICS}
    histograms = {metric.name for metric in METRICS if metric.kind == "histogram"}
    answered = declared - histograms | {name + end for name in histograms for end in SUFFIXES}
    assert asked <= answered
    assert answered - asked <= {"gossamer_info"}
    places = [tuple(panel["gridPos"].values()) for panel in dashboard["panels"]]
    assert len(places) == len(set(places)) and len({panel["id"] for panel in dashboard["panels"]}) == len(places)


def test_alert_rules_ask_for_metrics_labels_and_values_that_exist() -> None:
    rules = yaml.safe_load((DOCS / "prometheus-rules.yml").read_text(encoding="utf-8"))["groups"][0]["rules"]
    labels = {metric.name: set(metric.labels) for metric in METRICS}
    samples = parsed(text_of(facts(NOW)))
    assert len({rule["alert"] for rule in rules}) == len(rules) >= 6
    for rule in rules:
        assert rule["labels"]["severity"] in ("info", "warning", "critical")
        assert rule["annotations"].keys() == {"summary", "description"}
        found = re.findall(r'(gossamer_\w+)(?:\{(\w+)=~?"([^"]+)"\})?', rule["expr"])
        assert found, rule["alert"]
        for name, label, values in found:
            assert name in labels and (not label or label in labels[name]), rule["alert"]
            for value in values.split("|") if label and label != "reason" else ():
                assert f'{label}="{value}"' in samples[name], f"{rule['alert']}: {value}"
            if label == "reason":
                assert set(values.split("|")) == {str(reason) for reason in TROUBLES}
