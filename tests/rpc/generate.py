"""Make the messages of all .proto files anew, beside them: `./run python -m tests.rpc.generate`.

What it makes is part of the repository, so that nobody needs a compiler; test_generated.py compares.
"""

from __future__ import annotations

import sys
from importlib.resources import files
from pathlib import Path

from grpc_tools import protoc

ROOT = Path(__file__).parent.parent.parent
PROTOS = sorted((ROOT / "gossamer").rglob("*.proto"))


def generate(target: Path) -> None:
    """Into a copy of the tree of folders."""
    own = str(files("grpc_tools") / "_proto")
    names = [str(proto.relative_to(ROOT)) for proto in PROTOS]
    code = protoc.main(["protoc", f"-I{ROOT}", f"-I{own}", f"--python_out={target}", f"--pyi_out={target}", *names])
    if code:
        sys.exit(code)


if __name__ == "__main__":
    generate(ROOT)
