"""Blocks of commands in the documents, and how they are run: as they stand, but for the ports that they name.

A reader pastes them one after the other into a shell in some folder, so a page is one shell. Where that is not the
whole truth, a comment before the block says so, which readers do not see:

    <!-- test: stays until "TEXT" -->    it ends with Ctrl-C: the others go on when it has printed TEXT
    <!-- test: not run, REASON -->       its flags are checked, and no more
"""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent.parent
PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md", *(ROOT / "docs").rglob("*.md")])
FENCED = re.compile(r"^(?:<!-- test: ([^\n]*) -->\n)?```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
STAYS = re.compile(r'stays until "(.+)"')
NOT_RUN = "not run, "
PORTS = ("8099", "8080", "7071", "3128", "1080")  # web, dashboard, frontier, proxies: taken on many machines


class Block(NamedTuple):
    where: str
    mark: str
    language: str
    text: str

    @property
    def is_run(self) -> bool:
        return self.language == "sh" and not self.mark.startswith(NOT_RUN)


def blocks_of(page: Path) -> list[Block]:
    text = page.read_text(encoding="utf-8")
    return [
        Block(
            f"{page.relative_to(ROOT)}:{text.count(chr(10), 0, found.start(2)) + 1}",
            found[1] or "",
            found[2],
            found[3],
        )
        for found in FENCED.finditer(text)
    ]


def commands_of(block: Block) -> list[list[str]]:
    lines = block.text.replace("\\\n", " ").splitlines()
    commands = [command for line in lines for command in line.split(" && ")]
    return [words for command in commands if (words := shlex.split(command, comments=True))]


def script_of(blocks: list[Block]) -> str:
    lines = ["set -meu -o pipefail  # -m: a job in the background can be ended with Ctrl-C", "stays=()"]
    for number, block in enumerate(blocks):
        lines.append(f"echo '=== {block.where}'")
        if stays := STAYS.fullmatch(block.mark):
            lines += [
                f"{{ {block.text}}} > stays-{number}.log 2>&1 &",
                "stays+=($!)",
                f"until grep -qF '{stays[1]}' stays-{number}.log; do",
                f"  kill -0 $! || {{ cat stays-{number}.log; exit 1; }}; sleep 0.1; done",
            ]
        elif block.language == "python":
            lines.append(f"python3 - <<'PROGRAM'\n{block.text}PROGRAM")
        else:
            lines.append(block.text)
    lines.append('for job in "${stays[@]}"; do kill -INT -- -$job; wait $job || test $? = 130; done')
    return "\n".join(lines)


def run(script: str, folder: Path, **environment: str) -> str:
    """All that the script printed. The first command that fails fails the test."""
    for port, free in zip(PORTS, free_ports(len(PORTS)), strict=True):
        script = re.sub(rf"\b{port}\b", str(free), script)
        if port == "7071":
            script = script.replace(
                "gossamer frontier --dir frontier\n", f"gossamer frontier --dir frontier --listen 127.0.0.1:{free}\n"
            )
        if port == "8080":
            environment["GOSSAMER_SERVE_PORT"] = str(free)
    (folder / "script.sh").write_text(script, encoding="utf-8")
    shell = subprocess.Popen(
        ["bash", folder / "script.sh"],
        cwd=folder,
        env={"HOME": str(folder), "LANG": "C.UTF-8", "TERM": "dumb"} | environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        said, _ = shell.communicate(timeout=300)
    finally:
        end_session(shell.pid)
    assert shell.returncode == 0, said[-4000:]
    return said


def end_session(leader: int) -> None:
    """Nothing that a script has started stays when it has failed."""
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):  # it may end meanwhile
            if int(stat.read_text().rpartition(")")[2].split()[3]) == leader:
                os.kill(int(stat.parent.name), signal.SIGKILL)


def free_ports(count: int) -> list[int]:
    with contextlib.ExitStack() as open_sockets:
        sockets = [open_sockets.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]


def installed() -> str:
    """Where our dependencies are, for an environment that has no network to get them from."""
    return os.pathsep.join(path for path in sys.path if path.endswith("site-packages"))


def path_with(folder: Path) -> str:
    """With `gossamer` of this checkout, as an installed one would be."""
    folder.mkdir()
    command = folder / "gossamer"
    command.write_text(f'#!/bin/sh\nPYTHONPATH="{ROOT}" exec "{sys.executable}" -P -m gossamer "$@"\n')
    command.chmod(0o755)
    return os.pathsep.join([str(folder), str(Path(sys.executable).parent), os.environ["PATH"]])
