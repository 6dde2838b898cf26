"""Promises about the project itself: what the lock files pin, how long a file is, where time and chance come from."""

from __future__ import annotations

import ast
import os
import re
import tomllib
from collections import Counter
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from gossamer.records import Reason

ROOT = Path(__file__).parent.parent
LINES_MAX = 400  # a longer file usually hides a second noun; where not, it says why at its top
LINES_EVER_MAX = 500
FILES_MAX = 24  # of a folder: more are not found by their names


def python_files(*folders: str) -> list[Path]:
    return sorted(path for folder in folders for path in (ROOT / folder).rglob("*.py"))


@cache
def pyproject() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


# --- Size and files ---


def test_no_file_is_longer_than_a_person_reads_at_once() -> None:
    lengths = {
        path.relative_to(ROOT): len(path.read_text(encoding="utf-8").splitlines())
        for path in python_files("gossamer", "tests", "benchmarks", "examples")
    }
    assert lengths
    too_long = {
        str(path): length
        for path, length in lengths.items()
        if length > LINES_MAX
        and (length > LINES_EVER_MAX or "Longer than 400 lines: " not in (ROOT / path).read_text(encoding="utf-8"))
    }
    assert not too_long


def test_no_folder_has_more_files_than_a_person_looks_through() -> None:
    counts = Counter(path.parent.relative_to(ROOT) for path in python_files("gossamer", "tests", "benchmarks"))
    assert not {str(folder): count for folder, count in counts.items() if count > FILES_MAX}


def test_the_files_that_pyproject_names_exist() -> None:
    project = pyproject()["project"]
    for name in [project["readme"], *project["license-files"], pyproject()["tool"]["hatch"]["version"]["path"]]:
        assert (ROOT / name).is_file(), name


@pytest.mark.parametrize("script", ["run", ".ci/run"])
def test_the_scripts_can_be_run(script: str) -> None:
    assert os.access(ROOT / script, os.X_OK)


def test_links_between_documents_lead_somewhere() -> None:
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    broken = [
        f"{page.relative_to(ROOT)}: {target}"
        for page in pages
        for target in re.findall(r"\]\(([^)\s#]+)[^)]*\)", page.read_text(encoding="utf-8"))
        if "://" not in target and not target.startswith("mailto:") and not (page.parent / target).exists()
    ]
    assert not broken


@pytest.mark.parametrize("page", ["ARCHITECTURE.md", "CONTRIBUTING.md"])
def test_the_map_names_files_that_exist(page: str) -> None:
    named = re.findall(r"`((?:gossamer/|tests/)?[a-z_0-9/]+(?:\.py|/))`", (ROOT / page).read_text(encoding="utf-8"))
    assert named
    missing = [name for name in named if not (ROOT / name).exists() and not (ROOT / "gossamer" / name).exists()]
    assert not missing


def test_no_walk_comes_back_to_a_file() -> None:
    """A newcomer who follows a URL, a pause or a death reads each file once, in the order in which things happen."""
    walks = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8").partition(" walks\n")[2].partition("\n## ")[0]
    told = walks.split("\n**")[1:]
    assert len(told) == 4
    for walk in told:
        files = re.findall(r"`([a-z_/]+\.py)`", walk)
        assert len(files) > 5 and sorted(files) == sorted(set(files)), walk.partition("**")[0]


@pytest.mark.parametrize("path", python_files("benchmarks"), ids=lambda path: path.stem)
def test_a_benchmark_imports_what_exists(path: Path) -> None:
    """Nothing else runs most of them."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("gossamer"):
            module = import_module(node.module)
            for name in node.names:
                assert hasattr(module, name.name) or find_spec(f"{node.module}.{name.name}"), f"line {node.lineno}"


# --- What is installed ---


@cache
def pinned(lock: str) -> dict[str, str]:
    """Each package of a lock file with its version."""
    text = (ROOT / lock).read_text(encoding="utf-8").replace("\\\n", " ")
    entries = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    pins: dict[str, str] = {}
    for entry in entries:
        found = re.match(r"([A-Za-z0-9._-]+)==(\S+) .*--hash=sha256:[0-9a-f]{64}", entry)
        assert found, f"{lock}: without a version and a hash: {entry[:60]}"
        pins[canonicalize_name(found[1])] = found[2]
    return pins


@pytest.mark.parametrize(
    ("lock", "wanted"),
    [
        ("requirements.lock", pyproject()["project"]["dependencies"]),
        ("requirements.lock", pyproject()["project"]["optional-dependencies"]["cluster"]),
        ("requirements.lock", pyproject()["project"]["optional-dependencies"]["parquet"]),
        ("requirements.lock", pyproject()["project"]["optional-dependencies"]["services"]),
        ("requirements-dev.lock", pyproject()["dependency-groups"]["dev"]),
    ],
)
def test_a_lock_file_pins_all_that_pyproject_wants_in_a_version_that_it_accepts(lock: str, wanted: list[str]) -> None:
    for requirement in map(Requirement, wanted):
        version = pinned(lock).get(canonicalize_name(requirement.name))
        assert version is not None, f"{requirement.name} is not in {lock}"
        assert requirement.specifier.contains(version), f"{lock} has {requirement.name} {version}"


def test_whoever_installs_the_development_lock_has_the_runtime_lock_too() -> None:
    # `run` relies on it, and the tests mean little where they run on other versions than the users do.
    assert pinned("requirements.lock").items() <= pinned("requirements-dev.lock").items()


# --- Where time, chance and configuration come from ---

TIME_AND_CHANCE = re.compile(
    r"time\.(time|monotonic|perf_counter)(_ns)?|time\.sleep|asyncio\.sleep|datetime\.(datetime|date)\.(now|utcnow|today)"
    r"|random\.(?!Random\b)\w+|random\.Random\(\)"  # a generator with a seed is nobody's chance
)
CONFIGURATION = re.compile(r"os\.environb?|os\.getenvb?|tomllib\.loads?")
OWN_CLOCK = {
    "clock.py",  # the one object that time and chance come from
    "synthetic_web/server.py",  # plays slow servers on real sockets, for programs with clocks of their own
    "local_servers/process.py",  # waits for processes of others to be ready
    "local_servers/kafka.py",
}
OWN_ENVIRONMENT = {
    "config.py",
    "visitor/credentials.py",  # a file of secrets, and variables that its author names: they are no settings
    "visitor/proxies.py",  # variables that every program knows, where the settings say so
    "process/which_reader.py",  # a switch of the installation, which `--version` asks before there is a configuration
    "local_servers/process.py",  # what a process is started with
    "local_servers/kafka_jars.py",  # where Java, Maven and the user's cache are, by the names that all programs use
}


def uses(source: str, wanted: re.Pattern[str]) -> Iterator[tuple[int, str]]:
    """Where a module uses what it imported, by its full name; with brackets where it is called with nothing."""
    nodes = list(ast.walk(ast.parse(source)))
    full: dict[str, str] = {}  # the local name of something imported, and what it is
    for node in nodes:
        if isinstance(node, ast.Import):
            full |= {name.asname or name.name: name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            full |= {name.asname or name.name: f"{node.module}.{name.name}" for name in node.names}
    arguments = {
        node.func: [ast.unparse(value) for value in node.args] for node in nodes if isinstance(node, ast.Call)
    }
    for node in nodes:
        if not isinstance(node, ast.Name | ast.Attribute):
            continue
        first, dot, rest = ast.unparse(node).partition(".")
        name = full.get(first, "") + dot + rest
        if name == "asyncio.sleep" and arguments.get(node) == ["0"]:
            continue  # waits for nobody's clock: it lets the others have a turn
        if name == "random.Random" and arguments.get(node) == []:
            name += "()"
        if wanted.fullmatch(name):
            yield node.lineno, name


def offences(wanted: re.Pattern[str], allowed: set[str]) -> list[str]:
    return [
        f"{path.relative_to(ROOT)}:{line}: {name}"
        for path in python_files("gossamer")
        if str(path.relative_to(ROOT / "gossamer")) not in allowed
        for line, name in uses(path.read_text(encoding="utf-8"), wanted)
    ]


def test_time_and_chance_come_from_the_clock_that_is_handed_in() -> None:
    assert not offences(TIME_AND_CHANCE, OWN_CLOCK)


def test_only_config_reads_the_environment_and_configuration_files() -> None:
    assert not offences(CONFIGURATION, OWN_ENVIRONMENT)


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("import time\nx = time.time()", [(2, "time.time")]),
        ("from time import monotonic as m\nx = m()", [(2, "time.monotonic")]),
        ("import asyncio\nasync def f():\n    await asyncio.sleep(1)", [(3, "asyncio.sleep")]),
        ("import asyncio\nasync def f():\n    await asyncio.sleep(0)", []),
        ("import random\nrandom.shuffle([])", [(2, "random.shuffle")]),
        ("import random\nrandom.Random(7).shuffle([])", []),
        ("import random\nrandom.Random()", [(2, "random.Random()")]),
        ("import random\ndef f(chance: random.Random): ...", []),
        ("from datetime import datetime\ndatetime.now()", [(2, "datetime.datetime.now")]),
        ("import time\ntime.gmtime(0)", []),
        ("def f(clock):\n    clock.random.random()", []),
    ],
)
def test_a_call_past_the_clock_is_found(source: str, found: list[tuple[int, str]]) -> None:
    assert list(uses(source, TIME_AND_CHANCE)) == found


@pytest.mark.parametrize("source", ["import os\nos.environ['X']", "from os import getenv\ngetenv('X')"])
def test_a_look_at_the_environment_is_found(source: str) -> None:
    assert [line for line, _ in uses(source, CONFIGURATION)] == [2]


def test_the_documents_name_every_reason() -> None:
    text = (ROOT / "docs" / "fetching.md").read_text()
    assert [reason for reason in Reason if f"`{reason}`" not in text] == []
