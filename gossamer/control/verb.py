"""How a verb of the command is made; cli.py gathers them all."""

from __future__ import annotations

import argparse
from typing import Any


class UsageError(Exception):
    """The call cannot be carried out as it was written."""


def add_verb(verbs: Any, name: str, run: Any, text: str) -> argparse.ArgumentParser:
    """`run` gets the parsed arguments and returns an exit code, or nothing for 0."""
    verb: argparse.ArgumentParser = verbs.add_parser(name, help=text, description=text[0].upper() + text[1:] + ".")
    verb.set_defaults(verb=run)
    return verb
