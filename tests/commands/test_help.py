"""Help: every verb in its group, with examples that can be called, and completion that knows them all."""

from __future__ import annotations

import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from gossamer.commands.parser import GROUPS, VERBS, actions_in, flags_in, parsed, parser
from tests.export.crawls import command


def help_of(capsys: pytest.CaptureFixture[str], *call: str) -> str:
    with pytest.raises(SystemExit) as ended:
        parsed([*call, "--help"])
    assert ended.value.code == 0
    return capsys.readouterr().out


def can_be_called(example: str) -> None:
    words = shlex.split(example.partition(" | ")[0].partition(" > ")[0])
    assert words.pop(0) == "gossamer"
    parsed(words)


def test_help_lists_every_verb_in_its_group_with_an_example_that_can_be_called(
    capsys: pytest.CaptureFixture[str],
) -> None:
    text = help_of(capsys)
    at = -1
    for group in GROUPS:
        assert (at := text.index(f"\n{group.title}:\n", at + 1)) > 0
        for verb, line in group.verbs.items():
            assert (at := text.index(f"\n    {verb:<12}{line}\n", at)) > 0
        assert f"\n  $ {group.example}\n" in text
        can_be_called(group.example)
    assert max(map(len, text.splitlines())) <= 118


@pytest.mark.parametrize("verb", VERBS)
def test_a_verb_has_examples_that_can_be_called(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    examples = help_of(capsys, verb).partition("\nexamples:\n")[2].strip().splitlines()
    assert examples
    for example in examples:
        assert example.strip().startswith(f"gossamer {verb}")
        can_be_called(example.strip())


def test_every_flag_has_a_text() -> None:
    top = parser(VERBS)
    assert [(verb, action.dest) for verb in VERBS for action in actions_in(top, verb) if not action.help] == []


def completions(script: Path, line: str) -> set[str]:
    words = line.split(" ")
    typed = f"COMP_WORDS=({shlex.join(words)}); COMP_CWORD={len(words) - 1}"
    ask = f"source {script}; {typed}; _gossamer; printf '%s\\n' \"${{COMPREPLY[@]}}\""
    return set(subprocess.run(["bash", "-c", ask], capture_output=True, text=True, check=True).stdout.split())


def test_bash_completes_verbs_flags_and_words(tmp_path: Path) -> None:
    script = tmp_path / "gossamer.bash"
    script.write_text(command("completion", "bash").out)
    assert completions(script, "gossamer re") == {"resume", "retry", "rebuild", "recover", "report"}
    assert completions(script, "gossamer pages D --s") == {"--status", "--state", "--since", "--sort"}
    assert completions(script, "gossamer pages D --verdict n") == {"near"}
    assert completions(script, "gossamer status d") == set()  # the shell goes on with names of files
    top = parser(VERBS)
    for verb in VERBS:
        assert completions(script, f"gossamer {verb} --") == {
            flag for flag in flags_in(top, verb) if flag[:2] == "--"
        }


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_the_other_shells_have_every_verb_and_flag_and_can_be_read(shell: str, tmp_path: Path) -> None:
    text = command("completion", shell).out
    top = parser(VERBS)
    for verb in VERBS:
        of_verb = "\n".join(line for line in text.splitlines() if verb in line)
        for flag in flags_in(top, verb):
            if flag.startswith("--"):
                assert (flag if shell == "zsh" else f"-l {flag[2:]}") in of_verb, (verb, flag)
    (tmp_path / "script").write_text(text)
    if shutil.which(shell):
        subprocess.run([shell, "-n", str(tmp_path / "script")], check=True)


def test_the_manual_page_has_every_verb_and_flag_and_no_request_of_its_own(folder: Path) -> None:
    page = command("man").out
    top = parser(VERBS)
    for verb in VERBS:
        section = page.partition(f".SS gossamer {verb}\n")[2].partition("\n.S")[0]
        assert all(
            flag.replace("-", "\\-") in section for flag in flags_in(top, verb) if flag not in ("-h", "--help")
        )
        assert f"gossamer {verb}" in section
    requests = {line.split()[0] for line in page.splitlines() if line.startswith((".", "'"))}
    assert requests == {".TH", ".SH", ".SS", ".TP", ".B", ".I", ".PP", ".nf", ".fi"}
