"""What a report says of runs, and how it is drawn."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest

from gossamer.bench import nginx, picture
from gossamer.bench.crawler import Crawler, Missing
from gossamer.bench.measuring import Run
from gossamer.bench.mix import Mix
from gossamer.bench.nginx import Visits
from gossamer.bench.report import Facts, Report, machine, text
from gossamer.bench.running import Usage


def run_of(name: str, per_s: float, cpu_s: float = 5.0) -> Run:
    usage = Usage(10.0, cpu_s, 200 * 1024**2, 2_000_000, 1_000_000, 0, was_stopped=False, said="")
    return Run(name, usage, Visits(1000, 1010, 21_000_000, 9.0, per_s))


@pytest.fixture
def facts() -> Facts:
    crawlers = [Crawler(name, "1.0", "as it comes", lambda site: []) for name in ("gossamer", "scrapy", "wget2")]
    rounds = [
        [run_of("gossamer", ours), run_of("scrapy", 100.0), run_of("wget2", 2000.0)]
        for ours in (2000.0, 2500.0, 4000.0)
    ]
    missing = [Missing("crawlee", "no index")]
    return Report(Mix(), 30.0, "1.22", crawlers, missing, rounds, 15_000.0, machine=machine()).facts()


def test_the_names_that_programs_rely_on_are_there(facts: Facts) -> None:
    assert facts["pages_per_s"] == 2500
    assert facts["ratios"] == {"scrapy": 25, "wget2": 1.25, "crawlee": None}
    assert json.loads(json.dumps(facts)) == facts


def test_a_ratio_is_taken_in_each_round_and_has_its_spread(facts: Facts) -> None:
    assert facts["ratios_spread"] == {"scrapy": [20, 40], "wget2": [1, 2]}


def test_what_was_used_is_a_page(facts: Facts) -> None:
    row = facts["crawlers"]["gossamer"]
    assert row["cpu_us_per_page"] == 5000
    assert row["written_bytes_per_page"] == 2000
    assert row["pages_per_s_whole_run"] == 100


def test_the_text_names_settings_and_who_is_missing_and_why(facts: Facts) -> None:
    said = text(facts)
    assert "crawlee: not measured. no index" in said
    assert "25.00 times (20.00 - 40.00)" in said
    assert "scrapy 1.0: as it comes" in said


def test_cpu_a_page_comes_before_pages_a_second_in_every_form(facts: Facts) -> None:
    names = list(facts)
    assert names.index("cpu_us_per_page") < names.index("cpu_ratios") < names.index("pages_per_s")
    row = list(facts["crawlers"]["gossamer"])
    assert row.index("cpu_us_per_page") < row.index("pages_per_s")
    (head,) = [line for line in text(facts).splitlines() if "CPU/page" in line]
    assert head.index("CPU/page") < head.index("gossamer uses of it") < head.index("pages/s")


def test_a_ratio_of_cpu_is_ours_over_theirs_in_the_rounds_that_both_have() -> None:
    crawlers = [Crawler(name, "1.0", "as it comes", lambda site: []) for name in ("gossamer", "gossamer=before")]
    rounds = [
        [run_of("gossamer", 10.0, 2.0), run_of("gossamer=before", 10.0, 4.0)],
        [run_of("gossamer", 10.0, 9.0)],
        [run_of("gossamer=before", 10.0, 5.0), run_of("gossamer", 10.0, 3.0)],
    ]
    facts = Report(Mix(), 30.0, "1.22", crawlers, [], rounds, None, machine=machine()).facts()
    assert facts["cpu_ratios_rounds"] == {"gossamer=before": [0.5, 0.6]}
    assert facts["cpu_ratios"] == {"gossamer=before": 0.55}
    assert facts["cpu_ratios_spread"] == {"gossamer=before": [0.5, 0.6]}
    assert "gossamer=before: median 55.0%, least 50.0%, most 60.0%; by round 50.0%, 60.0%" in text(facts)


def test_runs_that_were_stopped_or_ended_badly_are_told() -> None:
    usage = Usage(10.0, 5.0, 1, 1, 1, 1, was_stopped=True, said="")
    visits = run_of("gossamer", 1.0).visits
    runs = [Run("gossamer", usage, visits), Run("gossamer", replace(usage, was_stopped=False), visits)]
    crawlers = [Crawler("gossamer", "1.0", "", lambda site: [])]
    said = text(Report(Mix(), 30.0, "", crawlers, [], [[run] for run in runs], None, machine=machine()).facts())
    assert "gossamer: 1 of its runs were stopped at the limit, after some 1,000 pages" in said
    assert "gossamer: 1 of its runs ended with an error" in said


def test_the_picture_has_a_bar_for_each_in_proportion(facts: Facts) -> None:
    drawn = ElementTree.fromstring(picture.svg(facts))
    bars = [float(bar.attrib["width"]) for bar in drawn.iter("{http://www.w3.org/2000/svg}rect")][1:]
    assert len(bars) == 4
    assert bars[0] / bars[1] == pytest.approx(25, rel=0.05)
    assert max(bars) == bars[3]


def test_the_log_counts_pages_once_and_robots_never(tmp_path: Path) -> None:
    log = tmp_path / "access.log"
    pages = [f"{100 + number / 10:.3f} 200 21000 127.1.0.1 /p/{number}" for number in range(100)]
    others = ["99.900 200 50 127.1.0.1 /robots.txt\t", "109.950 404 50 127.1.0.1 /x", "109.960 200 9 127.1.0.1 /p/3"]
    log.write_text("\n".join([others[0], *pages, *others[1:]]) + "\n")
    visits = nginx.visits(log)
    assert visits.pages == len(visits.moments) == 100
    assert visits.requests == 103
    assert visits.steady_per_s == pytest.approx(10, rel=0.01)


def test_a_log_without_a_page_has_no_pace(tmp_path: Path) -> None:
    (tmp_path / "access.log").write_text("")
    assert nginx.visits(tmp_path / "access.log").steady_per_s == 0
