"""A plan for a cluster: nodes, brokers, bytes of topics, object store, Valkey, PostgreSQL, and money.

It takes a plan of the crawl itself (planning.py) and adds what several machines need. `FIGURES` is all that was
measured, each with the command that measured it, or where it was taken from: run that again on a quiet machine, and
change the figure here and nowhere else. `ClusterAssumptions` is all that was chosen; each is a flag, with prices.

Machines are counted for the peak, with some that may be away; disks for the end of the crawl, filled to `disk_used`.
A crawler sets its own pace, so a peak is what follows an outage or a pause; design documents take two to three times
the mean.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, fields
from typing import Annotated, Any, get_type_hints

from gossamer.bench.planning import GB, TB, Assumptions, Plan
from gossamer.settings.kinds import DAY_S

HOUR_S = 3600.0
MONTH_S = 30 * DAY_S
GIB = 1 << 30


@dataclass(frozen=True)
class Figure:
    value: float
    meaning: str
    measured_by: str


FIGURES = {
    "cluster_cpu_share": Figure(
        1.07,
        "CPU of two nodes a page, against one machine alone (`gossamer us/page, ratio`)",
        "python -m benchmarks.cluster",
    ),
    "journal_page_bytes": Figure(
        925,
        "of the journal a page with one new URL, packed, one copy (`journal B/page`)",
        "python -m benchmarks.cluster",
    ),
    "journal_url_bytes": Figure(
        95,
        "of the journal for each further new URL: (`tail bytes packed` / pages, less the row above) / 27",
        "python -m benchmarks.restore --urls 1000000",
    ),
    "link_bytes": Figure(
        90,
        "of the topic of links for a link, packed, one copy: of a prototype, 4,526 bytes for 50 (docs/cluster.md)",
        "no command yet",
    ),
    "written_page_bytes": Figure(
        7_550,
        "that a page writes into its store, before packing (`journal_bytes_a_page`)",
        "python -m benchmarks.journal",
    ),
    "broker_cpu_us": Figure(
        254, "of a broker a page, one copy, small requests (`kafka us/page`)", "python -m benchmarks.cluster"
    ),
    "snapshot_url_bytes": Figure(
        79, "of a snapshot for a known URL (`snapshot bytes` / `urls`)", "python -m benchmarks.restore --urls 1000000"
    ),
    "restore_s_a_gb": Figure(
        9,
        "of a restore for each GB of snapshot, over loopback (`restore s` / `snapshot bytes`)",
        "python -m benchmarks.restore --urls 1000000 --tail-pages 0",
    ),
    "replay_pages_per_s": Figure(
        3_400,
        "of the journal that a restore applies (`restore s`, less that without a tail)",
        "python -m benchmarks.restore --urls 1000000",
    ),
    "valkey_page_bytes": Figure(
        511, "of Valkey's memory for a page with near copies; 135 without (0047)", "python -m benchmarks.shared_state"
    ),
    "valkey_cpu_us": Figure(
        149, "of Valkey a page; it has one thread for commands (0047)", "python -m benchmarks.shared_state"
    ),
    "postgres_row_bytes": Figure(
        374,
        "of a row of `pages` with its indexes; taken over, and not measured again for this table",
        "SELECT pg_total_relation_size('pages') / count(*) FROM pages",
    ),
}


@dataclass(frozen=True)
class ClusterAssumptions:
    """What is chosen. A text beside a type is the meaning, for --help and for the result."""

    peak: Annotated[float, "times the mean that machines, brokers and network have to bear"] = 3.0
    spare_share: Annotated[float, "of nodes and brokers on top, that may be away"] = 0.15
    disk_used: Annotated[float, "of disks and memory at the end; the rest is headroom"] = 0.7
    foreign_links: Annotated[float, "of links lead to another site, and so to another partition"] = 0.25
    copies: Annotated[float, "of each topic (cluster.copies)"] = 3.0
    snapshot_s: Annotated[float, "between two snapshots of a partition (cluster.snapshot_s)"] = 3_600.0
    links_keep_s: Annotated[float, "that links are kept (cluster.links_keep_s)"] = 7 * DAY_S
    write_amplification: Annotated[float, "of RocksDB: what compaction writes for a byte that is written"] = 10.0
    node_memory_gb: Annotated[float, "of a node"] = 64.0
    worker_memory_gb: Annotated[float, "of a worker, without filters: 345 MiB for two, and its queues to Kafka"] = 0.3
    broker_cores: Annotated[float, "of a broker"] = 8.0
    broker_mb_s: Annotated[float, "that a broker writes, copies included, on its disks and network"] = 150.0
    broker_disk_tb: Annotated[float, "of a broker"] = 4.0
    valkey_gb: Annotated[float, "of memory of one Valkey"] = 64.0
    commit_s: Annotated[float, "that pages wait for a commit: an object a partition (crawl.commit_s)"] = 0.2
    price_node_h: Annotated[float, "USD an hour of a node, without disks"] = 0.70
    price_broker_h: Annotated[float, "USD an hour of a broker, without disks"] = 0.40
    price_valkey_h: Annotated[float, "USD an hour of a Valkey"] = 0.50
    price_disk_gb: Annotated[float, "USD a GB and month, disks of machines"] = 0.08
    price_object_gb: Annotated[float, "USD a GB and month, object store"] = 0.023
    price_puts: Annotated[float, "USD for 1,000 objects created"] = 0.005


@dataclass(frozen=True)
class ClusterPlan:
    pages: float
    days: float
    pages_per_s: float
    pages_per_s_peak: float
    network_gbit_s_peak: float
    cores_peak: float
    nodes: int
    node_disk_tb: float
    node_memory_gb: float
    partitions: int
    urls_a_partition: float
    journal_mb_s_peak: float
    links_mb_s_peak: float
    journal_kept_tb: float  # all copies
    links_kept_tb: float
    brokers: int
    snapshot_gbit_s: float
    restore_s: float  # of one partition, without the session
    archive_tb: float
    snapshots_tb: float
    objects_a_page: float  # of the archive
    valkey_all_gb: float  # to remember every page
    valkey_servers: int
    valkey_hours: float  # that one server remembers
    valkey_busy_peak: float  # of its one thread
    postgres_tb: float
    usd_nodes: float  # for the days of the crawl, as all that follow
    usd_brokers: float
    usd_valkey: float
    usd_disks: float
    usd_objects: float
    usd_puts: float

    @property
    def usd(self) -> float:
        return math.fsum(getattr(self, field.name) for field in fields(self) if field.name.startswith("usd_"))


def cluster_plan(crawl: Plan, given: Assumptions, chosen: ClusterAssumptions) -> ClusterPlan:
    """`crawl`: the plan of its pages in `given.days`."""
    figure = {name: each.value for name, each in FIGURES.items()}
    peak_per_s = crawl.pages_per_s * chosen.peak
    cores = crawl.cores * figure["cluster_cpu_share"] * chosen.peak
    gbit_s = crawl.network_gbit_s * chosen.peak
    journal_bytes = figure["journal_page_bytes"] + max(0.0, given.new_urls_a_page - 1) * figure["journal_url_bytes"]
    links_bytes = given.links_a_page * chosen.foreign_links * figure["link_bytes"]
    state_bytes = crawl.state_tb * TB
    written_per_s = crawl.pages_per_s * figure["written_page_bytes"] * chosen.write_amplification
    snapshot_per_s = min(state_bytes / chosen.snapshot_s, written_per_s)
    # What a snapshot brings beyond pages goes over the same wires, in the mean.
    nodes = _enough(max(cores / given.cores, (gbit_s + snapshot_per_s * 8 / 1e9) / given.network_gbit_s), chosen)
    nodes = max(2, nodes)  # a cluster is for the death of one
    workers = nodes * given.cores
    partitions = 1 << math.ceil(math.log2(4 * workers))
    urls = crawl.urls_known / partitions
    tail_pages = crawl.pages_per_s / partitions * chosen.snapshot_s
    snapshot_gb = urls * figure["snapshot_url_bytes"] / GB
    restore_s = snapshot_gb * figure["restore_s_a_gb"] + tail_pages / figure["replay_pages_per_s"]

    journal_per_s, links_per_s = peak_per_s * journal_bytes, peak_per_s * links_bytes
    journal_kept = crawl.pages_per_s * journal_bytes * 2 * chosen.snapshot_s * chosen.copies
    kept_s = min(chosen.links_keep_s, given.days * DAY_S)
    links_kept = crawl.pages_per_s * links_bytes * kept_s * chosen.copies
    by_bytes = (journal_per_s + links_per_s) * chosen.copies / (chosen.broker_mb_s * 1e6)
    by_cpu = peak_per_s * figure["broker_cpu_us"] * chosen.copies / 1e6 / chosen.broker_cores
    by_disk = (journal_kept + links_kept) / (chosen.broker_disk_tb * TB * chosen.disk_used)
    brokers = max(_enough(max(by_bytes, by_cpu, by_disk), chosen), math.ceil(chosen.copies))

    # A commit writes an object for each partition that had a page meanwhile; pages come by chance. At most: where the
    # store is slow, or the machine busy, commits are rarer (`objects/page` of benchmarks.cluster).
    objects_per_s = partitions / chosen.commit_s * -math.expm1(-crawl.pages_per_s / partitions * chosen.commit_s)
    valkey_all = crawl.pages_a_month * figure["valkey_page_bytes"]
    one_valkey = chosen.valkey_gb * GB * chosen.disk_used
    # Two valid snapshots, and what they replaced within a day: files go when they are a day old.
    snapshots = 2 * state_bytes + min(snapshot_per_s * DAY_S, state_bytes * DAY_S / chosen.snapshot_s)
    postgres = crawl.pages_a_month * figure["postgres_row_bytes"]
    seconds = given.days * DAY_S
    months = seconds / MONTH_S
    disks_gb = (state_bytes + journal_kept + links_kept + postgres) / GB / chosen.disk_used
    return ClusterPlan(
        pages=crawl.pages_a_month,
        days=given.days,
        pages_per_s=crawl.pages_per_s,
        pages_per_s_peak=peak_per_s,
        network_gbit_s_peak=gbit_s,
        cores_peak=cores,
        nodes=nodes,
        node_disk_tb=state_bytes / TB / nodes / chosen.disk_used,
        node_memory_gb=(crawl.filters_gb / nodes + given.cores * chosen.worker_memory_gb) / chosen.disk_used,
        partitions=partitions,
        urls_a_partition=urls,
        journal_mb_s_peak=journal_per_s / 1e6,
        links_mb_s_peak=links_per_s / 1e6,
        journal_kept_tb=journal_kept / TB,
        links_kept_tb=links_kept / TB,
        brokers=brokers,
        snapshot_gbit_s=snapshot_per_s * 8 / 1e9,
        restore_s=restore_s,
        archive_tb=crawl.archive_tb,
        snapshots_tb=snapshots / TB,
        valkey_all_gb=valkey_all / GB,
        valkey_servers=math.ceil(valkey_all / one_valkey),
        valkey_hours=one_valkey / figure["valkey_page_bytes"] / crawl.pages_per_s / HOUR_S,
        valkey_busy_peak=peak_per_s * figure["valkey_cpu_us"] / 1e6,
        postgres_tb=postgres / TB / chosen.disk_used,
        usd_nodes=nodes * seconds / HOUR_S * chosen.price_node_h,
        usd_brokers=brokers * seconds / HOUR_S * chosen.price_broker_h,
        usd_valkey=seconds / HOUR_S * chosen.price_valkey_h,
        usd_disks=disks_gb * months * chosen.price_disk_gb,
        # It fills evenly, so half of the archive is there in the mean.
        usd_objects=(crawl.archive_tb * TB / 2 + snapshots) / GB * months * chosen.price_object_gb,
        objects_a_page=objects_per_s / crawl.pages_per_s,
        usd_puts=objects_per_s * seconds / 1000 * chosen.price_puts,
    )


def _enough(machines: float, chosen: ClusterAssumptions) -> int:
    return max(1, math.ceil(machines * (1 + chosen.spare_share)))


ROWS: tuple[tuple[str, str, str], ...] = (
    ("pages_per_s", "pages a second, mean", "{:,.0f}"),
    ("pages_per_s_peak", "at the peak", "{:,.0f}"),
    ("network_gbit_s_peak", "network at the peak, Gbit/s", "{:,.2f}"),
    ("cores_peak", "cores at the peak", "{:,.1f}"),
    ("nodes", "nodes, with spare ones", "{:,}"),
    ("node_disk_tb", "disk of a node, TB", "{:,.2f}"),
    ("node_memory_gb", "memory of a node, GB", "{:,.0f}"),
    ("partitions", "partitions", "{:,}"),
    ("urls_a_partition", "known URLs of a partition at the end", "{:,.0f}"),
    ("restore_s", "restore of a partition, s (after the session)", "{:,.0f}"),
    ("journal_mb_s_peak", "journal at the peak, MB/s, one copy", "{:,.1f}"),
    ("links_mb_s_peak", "links at the peak, MB/s, one copy", "{:,.1f}"),
    ("journal_kept_tb", "journal on brokers, TB, all copies", "{:,.2f}"),
    ("links_kept_tb", "links on brokers, TB, all copies", "{:,.2f}"),
    ("brokers", "brokers, with spare ones", "{:,}"),
    ("archive_tb", "archive at the end, TB", "{:,.0f}"),
    ("objects_a_page", "objects of the archive a page, at most", "{:,.2f}"),
    ("snapshots_tb", "snapshots at the end, TB", "{:,.1f}"),
    ("snapshot_gbit_s", "snapshots at the end, Gbit/s", "{:,.2f}"),
    ("valkey_all_gb", "Valkey that remembers all pages, GB", "{:,.0f}"),
    ("valkey_servers", "that would be servers", "{:,}"),
    ("valkey_hours", "one Valkey remembers, hours", "{:,.1f}"),
    ("valkey_busy_peak", "one Valkey at the peak, of its thread", "{:.0%}"),
    ("postgres_tb", "PostgreSQL, TB", "{:,.2f}"),
    ("usd_nodes", "USD: nodes", "{:,.0f}"),
    ("usd_brokers", "USD: brokers", "{:,.0f}"),
    ("usd_valkey", "USD: Valkey, one", "{:,.0f}"),
    ("usd_disks", "USD: disks", "{:,.0f}"),
    ("usd_objects", "USD: object store", "{:,.0f}"),
    ("usd_puts", "USD: objects created, at most", "{:,.0f}"),
    ("usd", "USD: all of it", "{:,.0f}"),
)


def faults(plan: ClusterPlan, given: Assumptions, chosen: ClusterAssumptions) -> list[str]:
    """What this plan cannot do as it stands."""
    found = []
    if plan.valkey_servers > 1:
        found.append(
            f"one Valkey cannot remember all pages: copies of what was seen more than {plan.valkey_hours:,.1f} hours "
            "before are stored again (decisions/0047 has what would be built instead)"
        )
    if plan.valkey_busy_peak > 1:
        found.append("one Valkey is too slow for the peak: nodes would judge by themselves meanwhile")
    if plan.node_memory_gb > chosen.node_memory_gb:
        found.append(f"a node needs {plan.node_memory_gb:,.0f} GB of memory: take larger ones, or more")
    if plan.usd_puts > plan.usd / 2:
        found.append("creating objects costs more than all else: a longer crawl.commit_s makes fewer of them")
    if plan.partitions > 4096:
        found.append("crawl.partitions is at most 4,096: take fewer and larger nodes")
    return found


def facts(plan: ClusterPlan, given: Assumptions, chosen: ClusterAssumptions) -> dict[str, Any]:
    return {
        **asdict(plan),
        "usd": plan.usd,
        "faults": faults(plan, given, chosen),
        "cluster_assumptions": asdict(chosen),
        "figures": {name: asdict(each) for name, each in FIGURES.items()},
    }


def meanings() -> dict[str, str]:
    hints = get_type_hints(ClusterAssumptions, include_extras=True)
    return {field.name: hints[field.name].__metadata__[0] for field in fields(ClusterAssumptions)}


def text(plan: ClusterPlan, given: Assumptions, chosen: ClusterAssumptions) -> str:
    lines = [f"{plan.pages:,.0f} pages in {plan.days:g} days, on a cluster", ""]
    lines += [f"{label:46}{form.format(getattr(plan, name)):>18}" for name, label, form in ROWS]
    lines += [f"! {fault}" for fault in faults(plan, given, chosen)]
    lines += ["", "Besides what one machine was measured to do (`gossamer plan`), this rests on:"]
    lines += [f"  {each.value:>8,g}  {each.meaning}; {each.measured_by}" for each in FIGURES.values()]
    lines += ["and on these assumptions; each is a flag, and prices are nobody's offer:"]
    about = meanings()
    lines += [
        f"  --{name.replace('_', '-'):20} {value:>10,g}  {about[name]}" for name, value in asdict(chosen).items()
    ]
    return "\n".join(lines)
