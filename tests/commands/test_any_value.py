"""Whatever is given to a flag or an argument: a message and an exit code, never a traceback."""

from __future__ import annotations

from pathlib import Path

import pytest

from gossamer.commands.parser import VERBS, actions_in, parser
from tests.api.serving import empty_crawl
from tests.export.crawls import command

VALUES = ("", "\u0663", "nan", "9" * 400, "caf\udce9", "s3://me:hush@a/b", "http://[", "a\n\x1b[31mb")
# What a call needs besides; those that would go on for long are tried with a value that they refuse.
NEEDED = {
    "crawl": ["mailto:nobody"],
    "why": ["D", "http://a.test/"],
    "robots": ["http://a.test/", "--dir=D"],
    "rebuild": ["D", "--partition=7"],
    "recover": ["D", "--partition=7"],
    "completion": ["bash"],
    "man": [],
    "plan": [],
    "serve": ["D", "--port=-1"],
    "frontier": ["--dir=D", "--listen=nowhere"],
    "web": ["--port=-1"],
    "bench": ["--port=-1"],
}


@pytest.mark.parametrize(
    "verb", sorted(VERBS.keys() - {"demo"})
)  # it takes any name for its folder, and half a minute
def test_no_value_brings_a_traceback(verb: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    empty_crawl(Path("D"))
    Path("letters").mkdir()
    Path("letters/to-anna").touch()
    needed = NEEDED.get(verb, ["D"])
    flags = [
        action.option_strings[-1]
        for action in actions_in(parser([verb]), verb)
        if action.option_strings and action.nargs != 0
    ]
    words = [place for place, word in enumerate(needed) if not word.startswith("-")]
    for value in VALUES:
        calls = [[*needed, f"{flag}={value}"] for flag in flags]
        calls += [[*needed[:place], value, *needed[place + 1 :]] for place in words]
        for call in calls:
            ran = command(verb, *call)
            assert ran.code in (0, 1, 2), call
            assert "hush" not in ran.err and "\x1b" not in ran.err, call
            assert ran.code == 0 or ran.err.startswith("gossamer: "), (call, ran.err)
