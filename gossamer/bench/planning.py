"""A plan for a crawl of the web: from figures of one machine to machines, network, storage and state.

`plan` is arithmetic and nothing else. Everything that it takes for granted is a field of `Assumptions`, is printed
with the result, and can be changed by a flag of the same name. What was measured comes from reports of
`gossamer bench --save` at one page size or more; without, from `MEASURED`. docs/plan.md holds the results against
crawls that others have published.

What a page costs is a line through the measured points: so much for any page, and so much for each byte. With one
point only, `SIZE_SHARE` of it is taken to grow with the page.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import Annotated, Any, get_type_hints

GB, TB = 1e9, 1e12
SIZE_SHARE = 0.7  # of the cost of a page of 21 KB: parsing, text, SimHash, digests and compression go by the byte
MIXES = (1e9, 10e9, 15e9)  # pages a month that are shown when nothing is asked for


@dataclass(frozen=True)
class Point:
    page_bytes: float
    cpu_us: float  # a page, of the crawler alone


@dataclass(frozen=True)
class Measured:
    said: str  # where the figures come from
    points: tuple[Point, ...]


MEASURED = Measured(
    "built in: `gossamer bench` for each size, plain HTTP, on 2 shared cores of an AMD EPYC (docs/performance.md)",
    (Point(21_000, 2_334), Point(100_000, 5_151)),
)


@dataclass(frozen=True)
class Assumptions:
    """What is taken for granted. A text beside a type is the meaning, for --help and for the result."""

    days: Annotated[float, "a month"] = 30.0
    page_bytes: Annotated[float, "of a page, unpacked"] = 100_000.0
    wire_share: Annotated[float, "of those bytes go over the wire: pages are mostly sent packed"] = 0.3
    head_bytes: Annotated[float, "over the wire a page besides: heads, packets, DNS"] = 3_000.0
    tls_share: Annotated[float, "of pages over TLS"] = 0.95
    connections_a_page: Annotated[float, "new ones; the rest are kept from the page before"] = 0.5
    handshake_cpu_us: Annotated[float, "of a new TLS connection (docs/performance.md)"] = 1_270.0
    handshake_bytes: Annotated[float, "over the wire for a new TLS connection"] = 6_000.0
    links_a_page: Annotated[float, "that are looked at (IRLbot: 394 billion from 6.3 billion pages)"] = 62.0
    link_cpu_us: Annotated[float, "of a link beyond the 20 of a measured page"] = 20.0
    new_urls_a_page: Annotated[float, "found for the first time (IRLbot: 41 billion from 6.3 billion)"] = 6.5
    duplicate_share: Annotated[float, "of pages, whose body is not stored again"] = 0.3
    packed_share: Annotated[float, "of a body's bytes are left in the archive"] = 0.25
    record_bytes: Annotated[float, "in the archive a page besides its body: heads, links"] = 3_500.0
    url_bytes: Annotated[float, "of state on disk for a known URL (docs/performance.md)"] = 77.0
    page_state_bytes: Annotated[float, "of state on disk for a page that was fetched, besides"] = 250.0
    filter_bytes: Annotated[float, "of memory for a known URL, in the filter before the store"] = 1.3
    fingerprint_bytes: Annotated[float, "on disk for the digest, SimHash and sketch of a page"] = 250.0
    delay_s: Annotated[float, "a host is left alone after an answer"] = 1.0
    latency_s: Annotated[float, "from a request to the end of its answer"] = 0.5
    failed_share: Annotated[float, "of requests that give no page, and cost as much as a quarter of one"] = 0.2
    cores: Annotated[float, "of a machine, each as fast as one that was measured"] = 16.0
    network_gbit_s: Annotated[float, "of a machine"] = 10.0
    machine_used: Annotated[
        float, "of cores and network in the mean: the rest is for peaks and for machines that fail"
    ] = 0.6


@dataclass(frozen=True)
class Plan:
    pages_a_month: float
    pages_per_s: float
    cpu_us_a_page: float
    cores: float  # busy, in the mean
    machines: int
    network_gbit_s: float
    fetched_tb: float  # a month, over the wire
    archive_tb: float  # a month
    urls_known: float  # after the month
    state_tb: float  # frontier, known URLs and page records, on all machines
    filters_gb: float  # memory, on all machines
    fingerprints_gb: float
    requests_in_flight: float
    hosts_in_turn: float  # that have to have work at any moment, for the delay to be kept
    links_per_s: float


def cost_us(measured: Measured, page_bytes: float) -> float:
    """By the line through the points, of least squares where there are more than two."""
    points = measured.points
    mean_bytes = sum(point.page_bytes for point in points) / len(points)
    mean_us = sum(point.cpu_us for point in points) / len(points)
    spread = sum((point.page_bytes - mean_bytes) ** 2 for point in points)
    if spread:
        slope = sum((point.page_bytes - mean_bytes) * (point.cpu_us - mean_us) for point in points) / spread
    else:
        slope = SIZE_SHARE * mean_us / mean_bytes
    return max(0.0, mean_us - slope * mean_bytes) + max(0.0, slope) * page_bytes


def plan(pages_a_month: float, measured: Measured, given: Assumptions) -> Plan:
    seconds = given.days * 86_400
    pages_per_s = pages_a_month / seconds
    handshakes_a_page = given.tls_share * given.connections_a_page
    cpu_us = (
        cost_us(measured, given.page_bytes)
        + handshakes_a_page * given.handshake_cpu_us
        + max(0.0, given.links_a_page - 20) * given.link_cpu_us
    )
    cpu_us *= 1 + given.failed_share / (1 - given.failed_share) / 4
    cores = pages_per_s * cpu_us / 1e6
    wire_bytes = given.page_bytes * given.wire_share + given.head_bytes + handshakes_a_page * given.handshake_bytes
    gbit_s = pages_per_s * wire_bytes * 8 / 1e9
    by_cpu = cores / (given.cores * given.machine_used)
    by_network = gbit_s / (given.network_gbit_s * given.machine_used)
    urls_known = pages_a_month * (1 + given.new_urls_a_page)
    stored_bytes = given.page_bytes * given.packed_share * (1 - given.duplicate_share) + given.record_bytes
    return Plan(
        pages_a_month=pages_a_month,
        pages_per_s=pages_per_s,
        cpu_us_a_page=cpu_us,
        cores=cores,
        machines=-int(-max(by_cpu, by_network) // 1),  # rounded up
        network_gbit_s=gbit_s,
        fetched_tb=pages_a_month * wire_bytes / TB,
        archive_tb=pages_a_month * stored_bytes / TB,
        urls_known=urls_known,
        state_tb=(urls_known * given.url_bytes + pages_a_month * given.page_state_bytes) / TB,
        filters_gb=urls_known * given.filter_bytes / GB,
        fingerprints_gb=pages_a_month * given.fingerprint_bytes / GB,
        requests_in_flight=pages_per_s / (1 - given.failed_share) * given.latency_s,
        hosts_in_turn=pages_per_s / (1 - given.failed_share) * (given.delay_s + given.latency_s),
        links_per_s=pages_per_s * given.links_a_page,
    )


def measured_in(reports: dict[str, dict[str, Any]]) -> Measured:
    """From reports of `gossamer bench`, by the names of their files."""
    points = tuple(
        Point(report["mix"]["page_bytes"], report["crawlers"]["gossamer"]["cpu_us_per_page"])
        for report in reports.values()
    )
    return Measured(", ".join(reports), points)


def meanings() -> dict[str, str]:
    hints = get_type_hints(Assumptions, include_extras=True)
    return {field.name: hints[field.name].__metadata__[0] for field in fields(Assumptions)}


ROWS: tuple[tuple[str, str, str], ...] = (
    ("pages_per_s", "pages a second", "{:,.0f}"),
    ("cpu_us_a_page", "CPU a page, µs", "{:,.0f}"),
    ("cores", "cores at work", "{:,.1f}"),
    ("machines", "machines", "{:,}"),
    ("network_gbit_s", "network, Gbit/s", "{:,.2f}"),
    ("fetched_tb", "over the wire, TB a month", "{:,.0f}"),
    ("archive_tb", "archive, TB a month", "{:,.0f}"),
    ("urls_known", "known URLs after a month", "{:,.0f}"),
    ("state_tb", "frontier and page records, TB", "{:,.2f}"),
    ("filters_gb", "filters of known URLs, GB of memory", "{:,.1f}"),
    ("fingerprints_gb", "fingerprints of content, GB", "{:,.0f}"),
    ("links_per_s", "links a second", "{:,.0f}"),
    ("requests_in_flight", "requests in flight", "{:,.0f}"),
    ("hosts_in_turn", "hosts with work at any moment", "{:,.0f}"),
)


def text(plans: list[Plan], measured: Measured, given: Assumptions) -> str:
    width = max(len(label) for _, label, _ in ROWS)
    lines = [" " * width + "".join(f"{f'{each.pages_a_month / 1e9:g} billion':>18}" for each in plans)]
    for name, label, form in ROWS:
        lines.append(f"{label:{width}}" + "".join(f"{form.format(getattr(each, name)):>18}" for each in plans))
    lines += ["", "Pages a month in the head. This rests on what was measured:", f"  {measured.said}"]
    lines += [
        f"  a page of {point.page_bytes:,.0f} bytes: {point.cpu_us:,.0f} µs of CPU" for point in measured.points
    ]
    lines += ["and on these assumptions; each is a flag:"]
    about = meanings()
    lines += [
        f"  --{name.replace('_', '-'):20} {value:>10,g}  {about[name]}" for name, value in asdict(given).items()
    ]
    return "\n".join(lines)
