"""`gossamer completion`: a script that completes verbs, flags and words in a shell.

It is made from the parsers of all verbs, so it knows what they know, and asks nothing when a key is pressed: starting
Python for every Tab would be felt.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import NamedTuple

from gossamer.commands.parser import VERBS, actions_in, parser
from gossamer.commands.verb import OneOf

EXAMPLES = """
gossamer completion bash > ~/.local/share/bash-completion/completions/gossamer
gossamer completion zsh > ~/.zfunc/_gossamer
gossamer completion fish > ~/.config/fish/completions/gossamer.fish
"""


class Flag(NamedTuple):
    name: str
    text: str
    takes_value: bool
    words: tuple[str, ...]  # the values, where only these are right


def add_arguments(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("shell", type=OneOf(*SHELLS), metavar="SHELL", help=", ".join(SHELLS))


def run(arguments: argparse.Namespace) -> None:
    top = parser(VERBS)
    flags = {verb: list(map(flag_of, filter(is_flag, actions_in(top, verb)))) for verb in VERBS}
    print(SHELLS[arguments.shell](VERBS, flags))


def is_flag(action: argparse.Action) -> bool:
    return bool(action.option_strings)


def flag_of(action: argparse.Action) -> Flag:
    words = action.type.words if isinstance(action.type, OneOf) else ()
    text = (action.help or "").replace("%%", "%")
    return Flag(action.option_strings[-1], text, action.nargs != 0, tuple(map(str, words)))


Verbs = Mapping[str, str]
Flags = Mapping[str, list[Flag]]


def bash(verbs: Verbs, flags: Flags) -> str:
    lines = [
        "_gossamer() {",
        "    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}",
        "    local words=",
    ]
    lines += [
        "    if [ $COMP_CWORD -eq 1 ]; then",
        f"        words='{' '.join(verbs)} --help --version'",
        '    else case "${COMP_WORDS[1]} $before" in',
    ]
    for verb in verbs:
        lines += [
            f"        '{verb} {flag.name}') words='{' '.join(flag.words)}' ;;" for flag in flags[verb] if flag.words
        ]
        names = " ".join(flag.name for flag in flags[verb])
        lines += [f"        '{verb} '*) [[ $word == -* ]] && words='{names}' ;;"]
    lines += [
        "    esac; fi",
        # Nothing offered: a file or a folder.
        '    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")',
        "}",
        "complete -o default -F _gossamer gossamer",
    ]
    return "\n".join(lines)


def zsh(verbs: Verbs, flags: Flags) -> str:
    lines = ["#compdef gossamer", "_gossamer() {", "  if (( CURRENT == 2 )); then", "    local -a verbs=("]
    lines += [f"      {quoted(f'{verb}:{text}')}" for verb, text in verbs.items()]
    lines += [
        "    )",
        "    _describe verb verbs",
        "    return",
        "  fi",
        "  local verb=$words[2]",
        "  shift words",
        "  (( CURRENT-- ))",
    ]
    lines += ["  case $verb in"]
    for verb in verbs:
        rows = [zsh_flag(flag) for flag in flags[verb]]
        lines += [f"    {verb}) _arguments {' '.join(rows)} '*:file:_files' ;;"]
    return "\n".join([*lines, "  esac", "}", '_gossamer "$@"'])


def zsh_flag(flag: Flag) -> str:
    text = flag.text.replace("[", "(").replace("]", ")").replace(":", ",")
    value = f":value:({' '.join(flag.words)})" if flag.words else ":value:_files" if flag.takes_value else ""
    return quoted(f"*{flag.name}[{text}]{value}")


def fish(verbs: Verbs, flags: Flags) -> str:
    first, then = "complete -c gossamer -n __fish_use_subcommand -f", "complete -c gossamer -n"
    lines = [f"{first} -a {verb} -d {quoted(text)}" for verb, text in verbs.items()]
    for verb in verbs:
        for flag in flags[verb]:
            value = f" -x -a {quoted(' '.join(flag.words))}" if flag.words else " -r" if flag.takes_value else ""
            name = f"-l {flag.name.removeprefix('--')}{value} -d {quoted(flag.text)}"
            lines.append(f"{then} '__fish_seen_subcommand_from {verb}' {name}")
    return "\n".join(lines)


def quoted(text: str) -> str:
    return "'" + text.replace("'", "’") + "'"


SHELLS = {"bash": bash, "zsh": zsh, "fish": fish}
