"""The files to deploy with: what they mount and copy is there, and what they call has the flags that they give."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import yaml

from tests.docs.blocks import ROOT
from tests.docs.test_commands import help_of

DEPLOY = ROOT / "deploy"


def read(path: Path) -> dict[str, Any]:
    document: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    return document


def flags_of(words: list[str]) -> set[str]:
    return {word.partition("=")[0] for word in words if word.startswith("--")}


def test_compose_calls_what_exists_mounts_what_is_there_and_listens_on_loopback_only() -> None:
    services = read(DEPLOY / "compose.yaml")["services"]
    verb, *words = services["crawl"]["command"]
    assert flags_of(words) <= set(re.findall(r"--[a-z-]+", help_of(verb)))
    for service in services.values():
        for mount in service["volumes"]:
            source = mount.split(":")[0]
            assert not source.startswith(".") or (DEPLOY / source).exists(), mount
        assert "ports" not in service and service["network_mode"] == "host"
    assert "--web.listen-address=127.0.0.1:9090" in services["prometheus"]["command"]
    assert services["grafana"]["environment"]["GF_SERVER_HTTP_ADDR"] == "127.0.0.1"


def test_prometheus_and_grafana_find_each_other_and_the_crawl() -> None:
    assert read(DEPLOY / "prometheus.yml")["scrape_configs"][0]["static_configs"] == [{"targets": ["127.0.0.1:8080"]}]
    rules = read(DEPLOY / "prometheus.yml")["rule_files"][0]
    assert (
        f"../docs/prometheus-rules.yml:{rules}:ro"
        in read(DEPLOY / "compose.yaml")["services"]["prometheus"]["volumes"]
    )
    assert read(DEPLOY / "grafana" / "datasource.yaml")["datasources"][0]["url"] == "http://127.0.0.1:9090"
    mounted = read(DEPLOY / "compose.yaml")["services"]["grafana"]["volumes"][-1].split(":")[1]
    provider = read(DEPLOY / "grafana" / "dashboards.yaml")["providers"][0]
    assert mounted == f"{provider['options']['path']}/grafana.json"


def test_the_unit_calls_what_exists_and_may_write_where_it_writes() -> None:
    lines = (DEPLOY / "gossamer@.service").read_text(encoding="utf-8").splitlines()
    unit = dict(line.split("=", 1) for line in lines if "=" in line and not line.startswith("#"))
    program, verb, *words = shlex.split(unit["ExecStart"])
    assert program.endswith("/gossamer") and flags_of(words) <= set(re.findall(r"--[a-z-]+", help_of(verb)))
    assert words[words.index("--dir") + 1] == f"/var/lib/{unit['StateDirectory']}/%i"
    assert (unit["ProtectSystem"], unit["KillMode"]) == ("strict", "mixed")


def test_the_image_is_made_of_files_that_are_there_by_a_python_that_is_supported() -> None:
    text = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    python = re.findall(r"^FROM python:(3\.\d+)-", text, re.MULTILINE)
    assert [f":: {version}" in (ROOT / "pyproject.toml").read_text(encoding="utf-8") for version in python] == [True]
    kept = {line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")}
    assert {line.split()[1] for line in text.splitlines() if line.startswith("COPY")} == kept
    assert all((ROOT / name).exists() for name in kept)
    assert "\nUSER gossamer\n" in text
