"""A peer that is written in Go: a small program of ours around its library, built at the first use.

The source is a folder beside this file. It is copied into the cache and built there with the Go toolchain, which
loads the library from the module registry in the version that go.mod names. A change of the source builds it anew.
"""

from __future__ import annotations

import hashlib
import re
import shutil
from collections.abc import Callable
from pathlib import Path

from gossamer.bench.environment import NotInstalled, run


def built(source: Path, cache: Path, say: Callable[[str], None]) -> Path:
    """The program; raises NotInstalled where there is no Go, or no module registry."""
    digest = hashlib.sha256(b"".join(file.read_bytes() for file in sorted(source.iterdir()))).hexdigest()[:12]
    folder = cache / f"{source.name}-{digest}"
    program = folder / f"{source.name}_crawl"
    if program.exists():
        return program
    go = shutil.which("go")
    if go is None:
        raise NotInstalled("it is built with Go, which is not on the PATH: apt install golang, or https://go.dev/dl")
    say(f"building {source.name} in {folder}")
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(source, folder)
    # -mod=mod: the modules that the library needs itself are looked up now, and noted in the copy of go.mod.
    run(go, "build", "-C", str(folder), "-mod=mod", "-o", str(program.absolute()), ".")
    return program


def version_of(module: str, source: Path) -> str:
    found = re.search(rf"{re.escape(module)} v(\S+)", (source / "go.mod").read_text(encoding="utf-8"))
    assert found, module
    return found[1]
