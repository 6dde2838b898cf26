"""What is for all nodes of a cluster is refused in the folder of one of them, at once and with the way to go."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.api.serving import empty_crawl, served
from tests.crawl.command import gossamer

URL = "http://a.test/"


def folder_of_node(path: Path) -> Path:
    (empty_crawl(path) / "node").write_text("n1 of news\n0123456789abcdef\n")
    return path


@pytest.mark.parametrize(
    "words",
    [
        ("retry", "D"),
        ("retry", "D", "--links"),
        ("quarantine", "D", "--release", URL),
        ("quarantine", "D", "--drop", URL),
        ("seeds", "add", "D", URL),
        ("policy", "D", "a.test", "--block"),
        ("policy", "D", "--requests-per-s", "3"),
        ("rank", "D"),
        ("compact", "D"),
        ("rebuild", "D", "--partition", "0"),
    ],
    ids=" ".join,
)
async def test_a_verb_for_all_nodes_is_refused_in_the_folder_of_one(folder: Path, words: tuple[str, ...]) -> None:
    node = folder_of_node(folder / "node-n1")
    before = {path: path.read_bytes() for path in node.iterdir() if path.is_file()}
    ran = await gossamer(*(node if word == "D" else word for word in words))
    assert ran.code == 2 and not ran.out, ran
    assert ran.err.count("\n") == 1 and "one node of a cluster" in ran.err and "cluster.toml" in ran.err, ran.err
    assert {path: path.read_bytes() for path in node.iterdir() if path.is_file()} == before


@pytest.mark.parametrize("words", [("quarantine",), ("seeds",), ("policy",), ("hosts",), ("status",)], ids=" ".join)
async def test_whoever_only_looks_sees_what_the_node_has(folder: Path, words: tuple[str, ...]) -> None:
    ran = await gossamer(*words, folder_of_node(folder / "node-n1"))
    assert ran.code == 0, ran.err


def test_the_server_of_one_node_refuses_it_too(folder: Path) -> None:
    with served(folder_of_node(folder / "node-n1")) as api:
        for method, path, body in (
            ("POST", "/retry", {}),
            ("POST", "/quarantine/release", {"url": URL}),
            ("POST", "/quarantine/drop", {"url": URL}),
            ("POST", "/seeds", {"urls": [URL]}),
            ("PUT", "/hosts/a.test/policy", {"blocked": True}),
            ("PUT", "/domains/a.test/policy", {"blocked": True}),
            ("PUT", "/limits", {"requests_per_s": 3}),
        ):
            answer = api.tell(method, path, body)
            assert (answer.status_code, answer.json()["reason"]) == (409, "not_for_a_node"), (path, answer.text)
        assert api.get("/quarantine")["pages"] == []
