"""The server keeps to its own OpenAPI document, whatever it is sent: schemathesis makes the requests and judges."""

from __future__ import annotations

import subprocess
import sys
import tomllib
import warnings
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis.errors import Unsatisfiable

from gossamer.access.keys import Keys
from gossamer.api.openapi import table
from gossamer.api.table import ROUTES
from tests.api.serving import Api, crawling, served, until
from tests.crawl.command import ROOT

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # of what it imports
    import schemathesis
    from schemathesis import Case, GenerationMode

# Some would end or wake the crawl, and it must not go where made-up seeds lead; one never ends by itself.
LEFT_OUT = "/(drain|resume|events)$"
# A text that is no URL fits the document, which has no words for what is one; and too long a list is refused unread.
CONFIG = """
[[operations]]
include-path = "/api/v1/seeds"
checks.positive_data_acceptance.expected-statuses = ["2xx", "400", "413"]
checks.negative_data_rejection.expected-statuses = ["400", "401", "403", "413", "415"]
"""


def ok(found: Any) -> Any:
    return found.ok()


@pytest.fixture(scope="module")
def paused(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Api, str]]:
    with crawling(tmp_path_factory.mktemp("schema")) as stage:
        key = Keys(stage.folder).add("judge", "control")
        with served(stage.folder, "--set", "serve.failures_a_minute=1000000", key=key) as api:
            until(lambda: api.ask("GET", "/status").status_code == 200)
            assert api.tell("POST", "/pause").json() == {"state": "paused"}
            yield api, key


def test_the_documents_list_every_route() -> None:
    assert table(ROUTES) in (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")


def test_every_route_keeps_to_the_document(paused: tuple[Api, str]) -> None:
    api, key = paused
    headers = {"Authorization": f"Bearer {key}"}
    config = schemathesis.Config.from_dict(tomllib.loads(CONFIG))
    schema = schemathesis.openapi.from_url(f"{api.url}/api/v1/openapi.json", headers=headers, config=config)
    operations = [ok(found) for found in schema.exclude(path_regex=LEFT_OUT).get_all_operations()]
    assert len(operations) > 20
    for operation in operations:
        for mode in (GenerationMode.POSITIVE, GenerationMode.NEGATIVE):
            strategy = operation.as_strategy(generation_mode=mode)

            @seed(1)
            @settings(
                max_examples=2,
                deadline=None,
                database=None,
                phases=[Phase.generate],
                suppress_health_check=list(HealthCheck),
            )
            @given(case=strategy)
            def keeps_to_it(case: Case[Any]) -> None:
                case.call_and_validate(headers=headers, timeout=20)

            with suppress(Unsatisfiable):  # there is nothing about it that could be wrong
                keeps_to_it()


@pytest.mark.long
def test_every_route_keeps_to_the_document_in_all_phases(paused: tuple[Api, str], folder: Path) -> None:
    api, key = paused
    (folder / "schemathesis.toml").write_text(CONFIG)
    command = [str(Path(sys.executable).parent / "schemathesis"), "--config-file", str(folder / "schemathesis.toml")]
    command += ["run", f"{api.url}/api/v1/openapi.json", "-H", f"Authorization: Bearer {key}"]
    command += ["--exclude-path-regex", LEFT_OUT, "--max-examples", "100", "--request-timeout", "30"]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=1800, cwd=folder, check=False)
    assert ran.returncode == 0, "\n".join(line[:300] for line in ran.stdout.splitlines())[-5000:]
