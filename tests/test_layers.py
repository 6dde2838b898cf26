"""Imports point one way, as ARCHITECTURE.md draws it: a stage can be read, tested and replaced by itself.

The table below is the whole rule. A module that is not in it has no place yet, and the test says so.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

PACKAGE = Path(__file__).parent.parent / "gossamer"

WORDS = {
    "headers",
    "reasons",
    "records",
    "rendered",
    "visit_history",
    "rate_limiter",
    "text",
    "resemblance",
    "interfaces",
    "settings",
    "config",
    "clock",
    "levels",
    "outlinks",
    "bounds",
    "questions",
    "atomic",
    "shortage",
    "url",
    "visitor",
}
STAGES = {"frontier", "fetch", "process", "render", "schedule"}
BACKENDS = {"archive", "cluster"}
# From the bottom to the top: each room knows those before it, and none behind it.
MACHINE = (
    "folder",
    "seeds",
    "runtime",
    "messages",
    "access",
    "rpc",
    "fetchers",
    "worker",
    "inspect",
    "export",
    "maintenance",
    "supervisor",
    "node",
    "api",
    "urlfrontier",
    "library",
    "demo",
    "bench",
    "commands",
    "cli",
    "__main__",
)


class Rule(NamedTuple):
    may_import: set[str]  # besides itself
    why: str


LAYERS: dict[str, Rule] = {
    **dict.fromkeys(WORDS, Rule(WORDS, "words know nothing above them")),
    **dict.fromkeys(STAGES, Rule(WORDS, "stages know words only, and never each other")),
    **dict.fromkeys(BACKENDS, Rule(WORDS, "backends know words only; they implement interfaces")),
    "loop": Rule(WORDS, "the loop knows the stages through interfaces.py only"),
    "local_servers": Rule(set(), "the servers are those that anybody else has, and share no code with the crawler"),
    "synthetic_web": Rule({"clock", "records"}, "the test web is a judge, and shares no code with the crawler"),
    **{
        room: Rule(
            WORDS | STAGES | BACKENDS | {"loop", "local_servers", "synthetic_web", *MACHINE[:place]},
            f"{room} may name the stages, the backends and the rooms below it in the table",
        )
        for place, room in enumerate(MACHINE)
    },
    "__init__": Rule(
        set(), "the package itself brings nothing along; what it offers is imported when it is asked for"
    ),
}


class Import(NamedTuple):
    line: int
    module: str  # in full: gossamer.fetch.robots


def imports(source: str, module: str) -> Iterator[Import]:
    """What of the package a module imports, wherever in its text: a late import is an import too."""
    package = module.removesuffix(".__init__") if module.endswith("__init__") else module.rpartition(".")[0]
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            for name in node.names:
                yield Import(node.lineno, name.name)
        elif isinstance(node, ast.ImportFrom):
            parents = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            origin = ".".join([*parents, *([node.module] if node.module else [])])
            for name in node.names:
                yield Import(node.lineno, f"{origin}.{name.name}")


def layer(module: str) -> str:
    """`fetch` for gossamer.fetch.robots."""
    return module.split(".")[1]


def offences(source: str, module: str) -> list[str]:
    name, file = layer(module), module.replace(".", "/") + ".py"
    if name not in LAYERS:
        return [f"{file}: is in no layer; give it a place in the table of tests/test_layers.py"]
    rule = LAYERS[name]
    return [
        f"{file}:{line}: imports {imported}, but {rule.why}"
        for line, imported in imports(source, module)
        if imported.startswith("gossamer.")
        and imported != "gossamer.__version__"
        and layer(imported) not in rule.may_import | {name}
    ]


MODULES = {
    ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts): path for path in sorted(PACKAGE.rglob("*.py"))
}


@pytest.mark.parametrize("module", MODULES)
def test_imports_point_one_way(module: str) -> None:
    found = offences(MODULES[module].read_text(encoding="utf-8"), module)
    assert not found, "\n" + "\n".join(found)


@pytest.mark.parametrize("room", ["disk", "rules"])
def test_the_lower_rooms_of_the_frontier_know_nothing_of_the_upper_one(room: str) -> None:
    of_room = {module: path for module, path in MODULES.items() if module.startswith(f"gossamer.frontier.{room}.")}
    found = [name for module, path in of_room.items() for _, name in imports(path.read_text("utf-8"), module)]
    assert of_room and not [
        name
        for name in found
        if name.startswith("gossamer.frontier.") and not name.startswith(f"gossamer.frontier.{room}.")
    ]


def test_no_module_is_imported_by_what_it_imports() -> None:
    """However many files a circle has: whoever reads one of them would have to read them all."""
    knows = {
        module: {
            found
            for _, name in imports(path.read_text(encoding="utf-8"), module)
            for found in (name, name.rpartition(".")[0])
            if found in MODULES and found != module
        }
        for module, path in MODULES.items()
    }
    while done := {module for module, others in knows.items() if not others & knows.keys()} | (
        knows.keys() - set().union(*knows.values())
    ):
        knows = {module: others for module, others in knows.items() if module not in done}
    assert not {module: sorted(others & knows.keys()) for module, others in knows.items()}


def test_an_import_inside_a_function_says_how_much_time_it_spares() -> None:
    """A guard for type checkers hides a circle. An import that is put off costs a reader: it has to be worth it, or
    is of a package that may not be there (an extra)."""
    found = []
    for path in MODULES.values():
        source = path.read_text(encoding="utf-8")
        lines = source.splitlines()
        found += [f"{path}: TYPE_CHECKING"] * ("TYPE_CHECKING" in source)
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                late = [inner for inner in ast.walk(node) if isinstance(inner, ast.Import | ast.ImportFrom)]
                found += [
                    f"{path}:{each.lineno}"
                    for each in late
                    if not re.search(r"\d m?s\b|as above|of an extra", lines[each.lineno - 1])
                ]
    assert not found


@pytest.mark.parametrize(
    ("module", "source", "said"),
    [
        ("gossamer.records", "from gossamer.frontier.disk.store import RocksStore", "words"),
        ("gossamer.url.link_filter", "import gossamer.fetch.robots as robots", "words"),
        ("gossamer.frontier.front", "from gossamer import fetch", "stages"),
        ("gossamer.frontier.front", "from ..process import html", "stages"),
        ("gossamer.frontier.__init__", "from ..process import html", "stages"),
        ("gossamer.fetch.http", "def late():\n    from gossamer.archive.warc import WarcArchive", "stages"),
        ("gossamer.archive.warc", "from gossamer.cluster.links import LinkExchange", "backends"),
        ("gossamer.loop", "from gossamer.frontier.frontier import Frontier", "interfaces.py only"),
        ("gossamer.fetch.http", "from gossamer.synthetic_web import serve", "stages"),
        ("gossamer.synthetic_web.habits.robots", "from gossamer.fetch.robots import Robots", "judge"),
        ("gossamer.local_servers.kafka", "from gossamer.clock import RealClock", "no code with the crawler"),
        ("gossamer.worker.worker", "from gossamer.helpers import help", "in the table"),
        ("gossamer.worker.worker", "from gossamer.supervisor.worker_pool import WorkerPool", "rooms below it"),
        ("gossamer.api.server", "from gossamer import cli", "rooms below it"),
        ("gossamer.helpers", "", "in no layer"),
    ],
)
def test_an_import_that_points_the_wrong_way_is_found(module: str, source: str, said: str) -> None:
    (found,) = offences(source, module)
    assert found.startswith(module.replace(".", "/") + ".py:")
    assert not source or f".py:{len(source.splitlines())}: imports gossamer." in found
    assert said in found


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("gossamer.frontier.front", "from .back import Back\nfrom gossamer.records import Link"),
        ("gossamer.archive.warc", "from gossamer import __version__"),
        ("gossamer.cli", "from gossamer.synthetic_web import serve\nfrom gossamer.fetch.http import Http"),
        ("gossamer.frontier.__init__", "from . import front"),
    ],
)
def test_an_import_that_points_the_right_way_passes(module: str, source: str) -> None:
    assert offences(source, module) == []
