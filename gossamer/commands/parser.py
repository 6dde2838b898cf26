"""The table of all verbs, and how a call of one of them is read.

Nothing that was typed is guessed: flags are written out, and what is not known is named as it was typed, with what
was probably meant. On argparse, and not on a library: docs/decisions/0040.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from importlib import import_module
from typing import Any, NamedTuple, NoReturn

from gossamer import __version__
from gossamer.config import UsageError
from gossamer.process.which_reader import reader_text
from gossamer.text import meant


class Group(NamedTuple):
    title: str
    example: str
    verbs: dict[str, str]


GROUPS = (
    Group(
        "Crawl",
        "gossamer crawl https://example.com --max-pages 500 --contact you@example.org",
        {
            "crawl": "start a crawl, or resume the one in --dir",
            "node": "this machine's part of a crawl that several machines share",
            "fetcher": "fetch for a crawl that runs elsewhere, from this machine's address",
            "demo": "the whole thing offline in half a minute",
            "fetch": "try one URL: what a crawl would fetch and make of it; nothing is stored",
        },
    ),
    Group(
        "Look",
        "gossamer pages crawl-example.com --status 404",
        {
            "status": "how far a crawl is, running or not",
            "pages": "every URL that was requested, and the result",
            "hosts": "every host, its delay and why",
            "why": "the state of any URL, and the reason",
            "show": "what is stored of a URL: its text, its content, its headers, its versions",
            "robots": "what robots.txt says about a URL, and which line says so",
            "events": "what a running crawl does, as it happens",
            "config": "the configuration in force, and where each value comes from",
        },
    ),
    Group(
        "Steer, also while the crawl runs",
        "gossamer pause crawl-example.com",
        {
            "pause": "request nothing more until it is resumed",
            "resume": "end a pause",
            "stop": "finish what is in flight and end; the crawl can be resumed",
            "seeds": "list the URLs that a crawl starts from, or add some",
            "policy": "see or set what holds for a host or a site",
            "retry": "try again what failed because of an outage, or for a reason that can pass",
            "quarantine": "URLs that killed their workers: list, release or drop them",
            "fetchers": "the fetchers of a running crawl: list them, or send one away",
            "serve": "the control API and the dashboard of a crawl, running or not",
            "keys": "the keys of a crawl's control API: list, make or remove them",
        },
    ),
    Group(
        "Use the result",
        "gossamer export crawl-example.com --to jsonl | head",
        {
            "export": "export the result: what is new since the last export to the same target",
            "report": "a crawl in tables: status codes, media types, languages, hosts, failures over time",
            "changes": "pages that are new, changed or gone since a moment, and what differs",
            "rank": "PageRank of pages and hosts over all stored links, for the frontier and for exports",
        },
    ),
    Group(
        "Look after what is stored",
        "gossamer verify crawl-example.com",
        {
            "verify": "check all that is stored: stores, archive records and their digests",
            "compact": "join the archive's files, and drop versions that are not to be kept",
            "rebuild": "make the store of a lost or damaged partition anew from the archive",
            "recover": "go on with a partition of a cluster of which something is lost for good",
        },
    ),
    Group(
        "Serve crawlers of others",
        "gossamer frontier --dir frontier",
        {
            "frontier": "a durable URLFrontier service over gRPC",
        },
    ),
    Group(
        "Tools",
        "gossamer bench --quick",
        {
            "web": "serve a synthetic web on loopback addresses, to try crawlers on",
            "bench": "measure this machine, with other crawlers beside us on the same pages",
            "identity": "a key to sign requests with, and the document that says it is yours",
            "plan": "machines, network and storage for a crawl of N pages a month",
            "completion": "a script that completes verbs and flags in bash, zsh or fish",
            "man": "the manual page gossamer(1)",
        },
    ),
)
VERBS = {name: text for group in GROUPS for name, text in group.verbs.items()}

# Where a verb's file is not commands/VERB.py.
FILES = dict.fromkeys(("pause", "resume", "stop"), "steer") | {"node": "cluster.node", "recover": "cluster.recover"}
FILES |= {name: f"one_url.{name}" for name in ("fetch", "show", "why", "robots")}
FILES["frontier"] = "services.frontier"
FILES |= {name: f"fetchers.{name}" for name in ("fetcher", "fetchers")}
FILES |= {name: f"reports.{name}" for name in ("report", "changes")}
FILES |= {name: f"tools.{name}" for name in ("web", "bench", "plan", "identity", "completion", "man")}


TOP_FLAGS = ("-h", "--help", "--version")


class Parser(argparse.ArgumentParser):
    def __init__(self, **options: Any) -> None:
        super().__init__(**options, allow_abbrev=False, formatter_class=argparse.RawDescriptionHelpFormatter)

    def error(self, message: str) -> NoReturn:
        verb = self.prog.partition(" ")[2]
        raise UsageError(f"{verb}: {message.removeprefix('argument ')} (see `{self.prog} --help`)")


def parser(named: Iterable[str]) -> Parser:
    """`named`: the verbs whose flags are wanted. Only their files are imported: all of them would take 1 s."""
    top = Parser(
        prog="gossamer",
        usage="gossamer VERB ...",
        description="A polite, crash-safe web crawler that grows from a laptop to the whole web.\n\n" + _groups(),
        epilog="`gossamer VERB --help` has the flags of a verb and examples. To begin: `gossamer demo`, everything\n"
        "at work in half a minute, without a network.",
    )
    top.add_argument(
        "--version", action="version", version=f"gossamer {__version__}\npages are read by {reader_text()}"
    )
    verbs = top.add_subparsers(prog="gossamer", metavar="VERB", dest="verb", help=argparse.SUPPRESS, required=True)
    for name in VERBS.keys() & set(named):
        command = import_module(f"gossamer.commands.{FILES.get(name, name)}")
        text = VERBS[name]
        verb = verbs.add_parser(name, description=f"{text[0].upper()}{text[1:]}.", epilog=_examples(command, name))
        command.add_arguments(verb)
        verb.set_defaults(run=command.run)
    return top


def _groups() -> str:
    lines: list[str] = []
    for title, example, verbs in GROUPS:
        lines += [f"{title}:", *(f"    {name:<12}{text}" for name, text in verbs.items()), f"  $ {example}", ""]
    return "\n".join(lines)


def _examples(command: Any, name: str) -> str:
    """A verb's file has them as lines of its `EXAMPLES`; a file of several verbs has those of all."""
    lines = [line for line in command.EXAMPLES.strip().splitlines() if f"gossamer {name} " in f"{line} "]
    return "examples:\n" + "\n".join(f"  {line.strip()}" for line in lines)


def parsed(argv: Sequence[str]) -> argparse.Namespace:
    verb = argv[0] if argv else "--help"
    if verb.startswith("-") and verb not in TOP_FLAGS:
        raise UsageError(
            f"there is no flag {verb}: {meant(verb, TOP_FLAGS)}a call begins with a verb, see `gossamer --help`"
        )
    if not verb.startswith("-") and verb not in VERBS:
        raise UsageError(f"there is no verb {verb}: {meant(verb, VERBS)}`gossamer --help` lists all")
    top = parser(argv)
    arguments, left = top.parse_known_args(argv or ["--help"])
    if hasattr(arguments, "urls"):  # URLs may also stand behind flags
        arguments.urls += [word for word in left if not word.startswith("-")]
        left = [word for word in left if word.startswith("-")]
    for word in sorted(left, key=lambda word: not word.startswith("-"))[:1]:
        if not word.startswith("-"):
            raise UsageError(f"{verb}: {word} is one word too many (see `gossamer {verb} --help`)")
        flag = word.partition("=")[0]
        hint = meant(flag, flags_in(top, verb))
        raise UsageError(f"{verb}: there is no flag {flag}: {hint}`gossamer {verb} --help` lists all")
    return arguments


def flags_in(top: Parser, verb: str) -> list[str]:
    return [flag for action in actions_in(top, verb) for flag in action.option_strings]


def actions_in(top: Parser, verb: str) -> list[argparse.Action]:
    """What a verb takes, in the order of its help, but for what is hidden."""
    [verbs] = [action for action in top._actions if isinstance(action, argparse._SubParsersAction)]
    return [action for action in verbs.choices[verb]._actions if action.help != argparse.SUPPRESS]
