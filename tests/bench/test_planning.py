"""The plan is arithmetic: what it takes for granted is printed, and each of it changes the result."""

from __future__ import annotations

import json
from dataclasses import asdict, fields, replace
from pathlib import Path

import pytest

from gossamer import cli
from gossamer.bench.planning import MEASURED, Assumptions, Measured, Point, cost_us, measured_in, plan

ASSUMED = Assumptions()


def test_ten_times_the_pages_need_ten_times_of_everything() -> None:
    one, ten = plan(1e9, MEASURED, ASSUMED), plan(10e9, MEASURED, ASSUMED)
    for name in ("pages_per_s", "cores", "network_gbit_s", "archive_tb", "state_tb", "filters_gb", "urls_known"):
        assert getattr(ten, name) == pytest.approx(10 * getattr(one, name))
    assert ten.cpu_us_a_page == one.cpu_us_a_page


def test_the_textbook_figures_come_out() -> None:
    """10 billion pages of 100 KB, unpacked: 3,858 pages a second and a petabyte a month."""
    textbook = replace(
        ASSUMED,
        page_bytes=100_000,
        wire_share=1,
        head_bytes=0,
        handshake_bytes=0,
        packed_share=1,
        duplicate_share=0,
        record_bytes=0,
    )
    found = plan(10e9, MEASURED, textbook)
    assert round(found.pages_per_s) == 3858
    assert found.network_gbit_s == pytest.approx(3.09, abs=0.01)
    assert found.archive_tb == pytest.approx(1000)


def test_machines_are_whole_and_enough() -> None:
    found = plan(1e9, MEASURED, ASSUMED)
    assert found.machines >= found.cores / (ASSUMED.cores * ASSUMED.machine_used)
    assert plan(1.0, MEASURED, ASSUMED).machines == 1


def test_a_thin_network_needs_machines_too() -> None:
    thin = replace(ASSUMED, network_gbit_s=0.1)
    found = plan(10e9, MEASURED, thin)
    assert found.machines == -int(-found.network_gbit_s / (0.1 * thin.machine_used) // 1)


@pytest.mark.parametrize("name", [field.name for field in fields(Assumptions)])
def test_every_assumption_changes_the_result(name: str) -> None:
    usual = plan(15e9, MEASURED, ASSUMED)
    other = plan(15e9, MEASURED, replace(ASSUMED, **{name: getattr(ASSUMED, name) * 0.5}))
    # A machine with half the network has still enough of it; with a hundredth it has not.
    if name == "network_gbit_s":
        other = plan(15e9, MEASURED, replace(ASSUMED, network_gbit_s=0.1))
    assert usual != other


def test_two_measured_sizes_tell_what_a_byte_costs() -> None:
    measured = Measured("here", (Point(20_000, 1_000), Point(100_000, 3_000)))
    assert cost_us(measured, 20_000) == pytest.approx(1_000)
    assert cost_us(measured, 60_000) == pytest.approx(2_000)


def test_with_one_size_a_larger_page_still_costs_more() -> None:
    measured = Measured("here", (Point(20_000, 1_000),))
    assert cost_us(measured, 20_000) == pytest.approx(1_000)
    assert 1_000 < cost_us(measured, 40_000) < 2_000


def report_of(page_bytes: int, cpu_us: float) -> dict[str, object]:
    return {"mix": {"page_bytes": page_bytes}, "crawlers": {"gossamer": {"cpu_us_per_page": cpu_us}}}


def test_the_command_takes_reports_and_assumptions(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    report = tmp_path / "bench.json"
    report.write_text(json.dumps(report_of(21_000, 700.0)))
    words = ["plan", "--pages-per-month", "10e9", "--measured", str(report), "--page-bytes", "21000", "--json"]
    assert cli.run(words) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["assumptions"] == asdict(replace(ASSUMED, page_bytes=21_000))
    expected = plan(10e9, measured_in({str(report): report_of(21_000, 700.0)}), replace(ASSUMED, page_bytes=21_000))
    assert facts["plans"] == [asdict(expected)]


def test_the_command_shows_three_sizes_and_every_assumption(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["plan"]) == 0
    said = capsys.readouterr().out
    assert all(size in said for size in ("1 billion", "10 billion", "15 billion"))
    assert all(f"--{field.name.replace('_', '-')} " in said for field in fields(Assumptions))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--measured", "nowhere.json"], "cannot be read"),
        (["--cores", "0"], "--cores is 0"),
        (["--failed-share", "1"], "below 1"),
    ],
)
def test_a_plan_that_makes_no_sense_is_refused(
    words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.run(["plan", *words]) == 2
    assert said in capsys.readouterr().err


def test_a_file_that_is_no_report_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "x.json").write_text("[1, 2]")
    assert cli.run(["plan", "--measured", str(tmp_path / "x.json")]) == 2
    assert "not a report" in capsys.readouterr().err
