"""Is anything missing? Every behaviour has its row, and every row's test is there."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.cases import folder
from tests.hostile.behaviours.rows import Played, Proven, Row, Unplayable
from tests.hostile.behaviours.table import COUNT, ROWS

HERE = Path(__file__).parent


def test_every_behaviour_has_exactly_one_row() -> None:
    assert [row.number for row in ROWS] == list(range(1, COUNT + 1))


def test_the_public_list_has_no_more_than_these() -> None:
    lines = (folder() / "http" / "hostile_behaviours.md").read_text(encoding="utf-8").splitlines()
    numbers = [cells[1].strip() for line in lines if len(cells := line.split("|")) > 2]
    assert [int(number) for number in numbers if number.isdecimal()] == [row.number for row in ROWS]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.number:03}")
def test_a_row_is_played_or_proven_or_says_why_not(row: Row) -> None:
    match row:
        case Played(ways=ways):
            assert ways and all(play.wanted for play in ways.values())
        case Proven(tests=tests):
            assert tests
            for test in tests:
                file, _, name = test.partition("::")
                assert name in names_of_tests(HERE / file), f"there is no {test}"
        case Unplayable(why=why):
            assert why


def names_of_tests(path: Path) -> set[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}
