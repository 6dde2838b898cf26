"""Every block of commands in the documents runs as it stands; the few that cannot have flags that exist."""

from __future__ import annotations

import contextlib
import io
import re
import shutil
from pathlib import Path

import pytest

from gossamer import cli
from tests import debian
from tests.docs.blocks import NOT_RUN, PAGES, ROOT, STAYS, Block, blocks_of, commands_of, path_with, run, script_of

# So that nobody waits a second for each page; all else is as a reader has it.
QUICK = {"GOSSAMER_POLITENESS_DELAY_S": "0.05", "GOSSAMER_POLITENESS_IP_REQUESTS_PER_S": "1000"}
SHELL = [page for page in PAGES if page.name != "README.md" and any(block.is_run for block in blocks_of(page))]
APART = {"takes minutes", "needs the servers of a cluster"}  # of pages that have nothing else
PROGRAMS = {"proxies": (("tinyproxy", "tinyproxy-bin"), ("microsocks", "microsocks"))}  # of pages that need some
LEFT_OUT = [block for page in PAGES for block in blocks_of(page) if block.mark.startswith(NOT_RUN)]


@pytest.mark.parametrize("page", SHELL, ids=lambda page: page.stem)
def test_every_command_of_a_page_runs(page: Path, crawl: Path, folder: Path) -> None:
    for name, package in PROGRAMS.get(page.stem, ()):
        debian.program(name, package)
    shutil.copytree(crawl, folder / "D")
    blocks = [block for block in blocks_of(page) if block.is_run]
    said = run(script_of(blocks), folder, PATH=path_with(folder / "bin"), **QUICK)
    assert said.count("=== ") == len(blocks)


@pytest.mark.parametrize("block", LEFT_OUT, ids=lambda block: block.where)
def test_what_is_not_run_has_flags_that_exist(block: Block) -> None:
    for program, *words in commands_of(block):
        flags = {word.partition("=")[0] for word in words if word.startswith("--")}
        if program == "gossamer":
            assert flags <= set(re.findall(r"--[a-z-]+", help_of(words[0]))), words
        elif program == "python":
            source = (ROOT / f"{words[1].replace('.', '/')}.py").read_text(encoding="utf-8")
            assert all(f'"{flag}"' in source for flag in flags), words


def help_of(verb: str) -> str:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.suppress(SystemExit):
        cli.run([verb, "--help"])
    return printed.getvalue()


def test_few_blocks_are_not_run_and_each_says_why() -> None:
    why = [block.mark.removeprefix(NOT_RUN) for block in LEFT_OUT]
    assert all(why) and len([reason for reason in why if reason not in APART]) <= 14
    assert len(why) <= 35


def test_commands_are_fenced_and_marks_mean_something() -> None:
    """A block that is only indented, or has a prompt, cannot be pasted, and would not be run here."""
    for page in PAGES:
        for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
            assert not re.match(r"(    |\$ )(\$ )?(\./run|gossamer|curl|python3?) ", line), f"{page.name}:{number}"
        for block in blocks_of(page):
            assert block.language in {"sh", "python", "sql", "text", "json", "toml", "yaml"}, block.where
            assert not block.mark or STAYS.fullmatch(block.mark) or block.mark.startswith(NOT_RUN), block.where
        marks = page.read_text(encoding="utf-8").count("<!-- test:")
        assert marks == sum(1 for block in blocks_of(page) if block.mark), f"{page.name}: a mark without a block"
