"""The files to deploy a cluster with: they parse, they call what exists, and they hold no secret."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from gossamer import config
from gossamer.cli import cluster_file
from gossamer.commands.parser import parsed
from gossamer.settings import Tree
from tests.docs.blocks import ROOT

CLUSTER = ROOT / "deploy" / "cluster"
COMPOSE, KUBERNETES = CLUSTER / "compose.yaml", CLUSTER / "kubernetes.yaml"
SECRET = re.compile(r"password|secret|access_key|token", re.IGNORECASE)


def services() -> dict[str, Any]:
    document: dict[str, Any] = yaml.safe_load(COMPOSE.read_text(encoding="utf-8"))
    return dict(document["services"])


def objects() -> dict[str, Any]:
    return {each["kind"]: each for each in yaml.safe_load_all(KUBERNETES.read_text(encoding="utf-8"))}


def container() -> dict[str, Any]:
    [only] = objects()["StatefulSet"]["spec"]["template"]["spec"]["containers"]
    return dict(only)


def settings(folder: Path, text: str) -> Tree:
    """As a node reads them; a key that nobody knows is an exception."""
    file = folder / "cluster.toml"
    file.write_text(text, encoding="utf-8")
    return config.load(None, file, environment={}).tree


def test_compose_calls_what_exists_and_names_each_node_once() -> None:
    ours = {name: each for name, each in services().items() if each["image"] == "gossamer"}
    calls = {name: parsed(each["command"]) for name, each in ours.items()}
    nodes = {name: call for name, call in calls.items() if call.verb == "node"}
    assert len(nodes) == 2 and {call.name for call in nodes.values()} == nodes.keys()
    assert {call.dir for call in calls.values() if call.verb == "serve"} == {call.dir for call in nodes.values()}
    for name, each in ours.items():
        mounted = [mount.split(":")[1] for mount in each["volumes"]]
        if calls[name].verb == "node":
            assert str(calls[name].cluster) in mounted
        elif calls[name].verb == "serve":  # it has to see the node's process and its socket
            node = each["pid"].removeprefix("service:")
            assert each["volumes"] == services()[node]["volumes"][:2] and "/tmp" in mounted


def test_compose_mounts_what_is_there_and_listens_on_loopback_only() -> None:
    volumes = yaml.safe_load(COMPOSE.read_text(encoding="utf-8"))["volumes"]
    for name, service in services().items():
        assert "ports" not in service and service["network_mode"] == "host", name
        for mount in service.get("volumes", []):
            source = mount.split(":")[0]
            assert (CLUSTER / source).exists() if source.startswith(".") else source in volumes, mount
    words = yaml.safe_dump(services())
    assert "0.0.0.0" not in words
    kafka = services()["kafka"]["environment"]
    assert all("//127.0.0.1:" in each for each in kafka["KAFKA_LISTENERS"].split(","))
    for name, flag in (
        ("seaweedfs", "-ip.bind=127.0.0.1"),
        ("valkey", "--bind 127.0.0.1"),
        ("postgres", "listen_addresses=127.0.0.1"),
        ("prometheus", "--web.listen-address=127.0.0.1:9090"),
    ):
        assert flag in " ".join(services()[name].get("command") or services()[name]["entrypoint"]), name


def test_compose_and_its_settings_agree_on_servers(folder: Path) -> None:
    tree = settings(folder, (CLUSTER / "cluster.toml").read_text(encoding="utf-8"))
    assert f"PLAINTEXT://{tree.cluster.kafka}" in services()["kafka"]["environment"]["KAFKA_LISTENERS"]
    assert tree.cluster.copies == len([name for name in services() if name.startswith("kafka")])
    assert tree.cluster.redis == "redis://127.0.0.1:6379/0"
    port = tree.archive.options["endpoint"].rpartition(":")[2]
    assert f"-s3.port={port}" in services()["seaweedfs"]["command"]
    bucket = tree.archive.url.split("/")[2]
    assert f"s3.bucket.create -name {bucket}'" in services()["bucket"]["entrypoint"][-1]
    scraped = yaml.safe_load((CLUSTER / "prometheus.yml").read_text(encoding="utf-8"))["scrape_configs"][0]
    served = [parsed(each["command"]) for name, each in services().items() if name.startswith("serve-")]
    ports = {f"127.0.0.1:{getattr(call, 'serve.port')}" for call in served}
    assert ports == set(scraped["static_configs"][0]["targets"])


def test_a_verb_for_people_takes_the_file_as_a_cluster(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "cluster.toml").touch()
    monkeypatch.chdir(folder)
    assert cluster_file(parsed(services()["operate"]["command"])) == Path("cluster.toml")


def test_kubernetes_runs_a_node_that_has_its_pods_name_its_own_folder_and_known_settings(folder: Path) -> None:
    kinds, node = objects(), container()
    call = parsed(node["args"])
    assert (call.verb, call.name) == ("node", "$(POD_NAME)")
    [name] = [each for each in node["env"] if each["name"] == "POD_NAME"]
    assert name["valueFrom"] == {"fieldRef": {"fieldPath": "metadata.name"}}
    mounts = {each["mountPath"]: each["name"] for each in node["volumeMounts"]}
    [claimed] = kinds["StatefulSet"]["spec"]["volumeClaimTemplates"]
    assert mounts[str(Path(call.dir).parent)] == claimed["metadata"]["name"]
    tree = settings(folder, kinds["ConfigMap"]["data"][Path(mounts_of_settings(node)).name])
    assert str(call.cluster) == mounts_of_settings(node)
    assert tree.cluster.kafka and tree.archive.url and tree.cluster.copies == 3
    assert str(Path(tree.cluster.kafka_options["ssl.ca.location"]).parent) in mounts
    volumes = {each["name"] for each in kinds["StatefulSet"]["spec"]["template"]["spec"]["volumes"]}
    assert set(mounts.values()) == volumes | {claimed["metadata"]["name"]}
    labels = kinds["StatefulSet"]["spec"]["template"]["metadata"]["labels"]
    for kind in ("StatefulSet", "PodDisruptionBudget"):
        assert kinds[kind]["spec"]["selector"]["matchLabels"] == labels
    assert kinds["NetworkPolicy"]["spec"]["podSelector"]["matchLabels"] == labels


def mounts_of_settings(node: dict[str, Any]) -> str:
    [path] = [each["mountPath"] for each in node["volumeMounts"] if each["name"] == "settings"]
    return str(path)


def test_nothing_listens_on_kubernetes() -> None:
    kinds = objects()
    assert "ports" not in container() and "ports" not in kinds["Service"]["spec"]
    assert kinds["NetworkPolicy"]["spec"]["ingress"] == []
    assert kinds["NetworkPolicy"]["spec"]["policyTypes"] == ["Ingress"]


def values(tree: Any, key: str = "") -> Iterator[tuple[str, str]]:
    """All texts of a document, each with the key that it stands under."""
    if isinstance(tree, dict):
        for name, each in tree.items():
            yield from values(each, str(name))
    elif isinstance(tree, list):
        for each in tree:
            yield from values(each, key)
    else:
        yield key, str(tree)


def test_there_is_no_secret_in_these_files() -> None:
    found = [pair for name in services() for pair in values(services()[name])]
    keys = [(key, text) for key, text in found if SECRET.search(key)]
    assert len(keys) > 5
    assert all(re.fullmatch(r"\$\{[A-Z_]+:\?[^}]+\}", text) for key, text in keys), keys
    assert not [text for key, text in found if re.search(r"--requirepass (?!\"\$)", text)]
    assert "Secret" not in objects()
    assert container()["envFrom"] == [{"secretRef": {"name": "gossamer"}}]
    assert all("value" not in each for each in container()["env"])
    mapped = objects()["ConfigMap"]["data"]["cluster.toml"]
    for text in ((CLUSTER / "cluster.toml").read_text(encoding="utf-8"), mapped):
        settled = [line for line in text.splitlines() if not line.startswith("#")]
        assert not [line for line in settled if SECRET.search(line) or re.search(r"//[^/\s]*@", line)]
