"""The plan of a cluster is arithmetic on what was measured: by hand for one size, and every flag changes it."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, fields, replace

import pytest

from gossamer import cli
from gossamer.bench.cluster_plan import FIGURES, ClusterAssumptions, ClusterPlan, cluster_plan, faults
from gossamer.bench.planning import MEASURED, Assumptions, plan

GIVEN, CHOSEN = Assumptions(), ClusterAssumptions()


def planned(pages: float, given: Assumptions = GIVEN, chosen: ClusterAssumptions = CHOSEN) -> ClusterPlan:
    return cluster_plan(plan(pages, MEASURED, given), given, chosen)


def test_ten_billion_pages_in_thirty_days_by_hand() -> None:
    """3,858 pages a second and three times that at the peak, as design documents have it."""
    found = planned(10e9)
    assert (round(found.pages_per_s), round(found.pages_per_s_peak)) == (3858, 11574)
    journal = FIGURES["journal_page_bytes"].value + 5.5 * FIGURES["journal_url_bytes"].value
    assert found.journal_mb_s_peak == pytest.approx(11574.07 * journal / 1e6, rel=1e-4)
    assert found.links_mb_s_peak == pytest.approx(11574.07 * 62 * 0.25 * 90 / 1e6, rel=1e-4)
    assert found.journal_kept_tb == pytest.approx(3858.02 * journal * 2 * 3600 * 3 / 1e12, rel=1e-4)
    assert found.valkey_all_gb == pytest.approx(5110)
    assert found.valkey_servers == math.ceil(5110 / (64 * 0.7))
    assert found.postgres_tb == pytest.approx(10e9 * 374 / 1e12 / 0.7)
    assert found.usd == pytest.approx(sum(value for name, value in asdict(found).items() if name.startswith("usd_")))


def test_nodes_bear_the_peak_while_some_are_away() -> None:
    found = planned(10e9)
    away = math.floor(found.nodes * CHOSEN.spare_share)
    assert (found.nodes - away) * GIVEN.cores >= found.cores_peak
    assert found.partitions >= 4 * found.nodes * GIVEN.cores and found.partitions.bit_count() == 1
    assert found.brokers >= CHOSEN.copies


def test_a_snapshot_never_uploads_more_than_was_written_nor_than_there_is() -> None:
    often, seldom = (planned(10e9, chosen=replace(CHOSEN, snapshot_s=each)) for each in (60, 30 * 86_400))
    written = often.pages_per_s * FIGURES["written_page_bytes"].value * CHOSEN.write_amplification
    assert often.snapshot_gbit_s == pytest.approx(written * 8 / 1e9)
    state = plan(10e9, MEASURED, GIVEN).state_tb
    assert seldom.snapshot_gbit_s == pytest.approx(state * 1e12 / (30 * 86_400) * 8 / 1e9)


def test_an_object_is_for_a_page_or_for_many() -> None:
    assert planned(1e6).objects_a_page == pytest.approx(1, abs=0.01)  # hardly ever two in one commit
    busy = planned(10e9, chosen=replace(CHOSEN, commit_s=10))
    assert busy.objects_a_page == pytest.approx(busy.partitions / 10 / busy.pages_per_s, rel=0.01)


@pytest.mark.parametrize("name", [field.name for field in fields(ClusterAssumptions)])
def test_every_assumption_changes_the_result(name: str) -> None:
    factor = 0.01 if name in ("broker_cores", "broker_mb_s", "broker_disk_tb", "write_amplification") else 0.5
    changed = replace(CHOSEN, **{name: getattr(CHOSEN, name) * factor})
    if name == "node_memory_gb":  # a bound, and no quantity
        changed = replace(CHOSEN, node_memory_gb=8)
        assert len(faults(planned(10e9), GIVEN, changed)) > len(faults(planned(10e9), GIVEN, CHOSEN))
        return
    if name == "spare_share":
        changed = replace(CHOSEN, spare_share=1.0)
    assert planned(15e9) != planned(15e9, chosen=changed)


def test_what_cannot_work_is_said() -> None:
    assert [fault for fault in faults(planned(10e9), GIVEN, CHOSEN) if "remember" in fault]
    assert [fault for fault in faults(planned(10e9), GIVEN, CHOSEN) if "too slow" in fault]
    assert not faults(planned(1e7), GIVEN, CHOSEN)


def test_the_command_prints_text_and_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["plan", "--pages", "10e9", "--days", "30"]) == 0
    said = capsys.readouterr().out
    assert "10,000,000,000 pages in 30 days" in said and "brokers" in said and "USD: all of it" in said
    assert all(f"--{field.name.replace('_', '-')} " in said for field in fields(ClusterAssumptions))
    assert all(each.measured_by in said for each in FIGURES.values())
    assert cli.run(["plan", "--pages", "1e9", "--peak", "2", "--price-node-h", "1", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    expected = planned(1e9, chosen=replace(CHOSEN, peak=2, price_node_h=1))
    assert {name: facts[name] for name in asdict(expected)} == asdict(expected)
    assert facts["cluster_assumptions"]["peak"] == 2 and facts["figures"]["link_bytes"]["measured_by"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--pages", "1e9", "--peak", "0"], "--peak is 0"),
        (["--pages", "1e9", "--pages-per-month", "1e9"], "give one"),
        (["--pages", "0"], "0 pages need no plan"),
    ],
)
def test_a_plan_that_makes_no_sense_is_refused(
    words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    try:
        code = cli.run(["plan", *words])
    except SystemExit as end:
        code = int(end.code or 0)
    assert code == 2 and said in capsys.readouterr().err
