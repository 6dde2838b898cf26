"""`gossamer man`: the manual page gossamer(1), made from the parsers of all verbs, so that it says what they say."""

from __future__ import annotations

import argparse
from importlib import import_module

from gossamer import __version__
from gossamer.commands.parser import FILES, GROUPS, VERBS, actions_in, parser

EXAMPLES = """
gossamer man > ~/.local/share/man/man1/gossamer.1
gossamer man | man -l -
"""
INTRODUCTION = (
    "A polite, crash-safe web crawler that grows from a laptop to the whole web. `gossamer VERB --help` says more."
)


def add_arguments(verb: argparse.ArgumentParser) -> None:
    """It takes none."""


def run(arguments: argparse.Namespace) -> None:
    top = parser(VERBS)
    lines = [f'.TH GOSSAMER 1 "" "gossamer {__version__}" "User Commands"', ".SH NAME", "gossamer \\- a web crawler"]
    lines += [".SH SYNOPSIS", ".B gossamer", ".I VERB", "[...]", ".SH DESCRIPTION", roff(INTRODUCTION)]
    for group in GROUPS:
        lines.append(f".SH {roff(group.title.upper())}")
        for verb, text in group.verbs.items():
            lines += [f".SS gossamer {verb}", roff(text)]
            for action in actions_in(top, verb):
                if "--help" not in action.option_strings:
                    lines += [".TP", f".B {roff(called(action))}", roff(action.help or "")]
            examples = str(import_module(f"gossamer.commands.{FILES.get(verb, verb)}").EXAMPLES).splitlines()
            lines += [".PP", ".nf", *(roff(line) for line in examples if f"gossamer {verb} " in f"{line} "), ".fi"]
    print("\n".join(lines))


def called(action: argparse.Action) -> str:
    """As it is typed: flags with the name of their value, or the name of an argument."""
    value = action.metavar if isinstance(action.metavar, str) else "" if action.nargs == 0 else action.dest.upper()
    return f"{', '.join(action.option_strings)} {value}".strip()


def roff(text: str) -> str:
    """A line of text as it is: neither an escape nor a request."""
    plain = " ".join(text.replace("%%", "%").split()).replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{plain}" if plain.startswith((".", "'")) else plain
