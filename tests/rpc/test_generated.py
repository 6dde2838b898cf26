from __future__ import annotations

from pathlib import Path

from tests.rpc.generate import PROTOS, ROOT, generate


def test_the_generated_messages_are_what_the_protos_give(tmp_path: Path) -> None:
    generate(tmp_path)
    for proto in PROTOS:
        for kind in ("_pb2.py", "_pb2.pyi"):
            made = proto.relative_to(ROOT).with_name(proto.stem + kind)
            assert (ROOT / made).read_text() == (tmp_path / made).read_text(), f"{made}: run tests/rpc/generate.py"
