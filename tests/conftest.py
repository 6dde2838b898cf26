from __future__ import annotations

from pathlib import Path

import pytest

from gossamer.clock import VirtualClock


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--long", action="store_true", help="run the tests that take minutes, too")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--long"):
        return
    for item in items:
        if "long" in item.keywords:
            item.add_marker(pytest.mark.skip(reason="takes minutes; run with --long"))


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock(seed=1)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path
