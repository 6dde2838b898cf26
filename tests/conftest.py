from __future__ import annotations

import signal
from pathlib import Path

import pytest

from gossamer.clock import VirtualClock

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as a shell leaves it to what it starts in the background
    signal.signal(signal.SIGINT, signal.default_int_handler)  # what the tests start hears of Ctrl-C


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
