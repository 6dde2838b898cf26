"""The command: the table of its verbs, and what becomes of their faults. Each verb is a file of commands/.

Exit codes: 0 done; 1 the world was in the way (disk, damage, a crawl in use); 2 the call was wrong; 130 stopped
at once.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from collections.abc import Sequence
from importlib import import_module

from gossamer import __version__
from gossamer.archive.storage import ArchiveDamaged
from gossamer.config import ConfigError, UsageError
from gossamer.folder import FolderError
from gossamer.frontier.disk.store import StoreDamaged
from gossamer.interfaces import OtherIndex
from gossamer.text import printable

VERBS = {
    "crawl": "start a crawl, or resume the one in --dir",
    "demo": "the whole thing offline in half a minute",
    "status": "how far a crawl is, running or not",
    "pages": "every URL that was requested, and the result",
    "hosts": "every host, its delay and why",
    "why": "the state of any URL, and the reason",
    "robots": "what robots.txt says about a URL, and which line says so",
    "policy": "see or set what holds for a host or a site, also while the crawl runs",
    "quarantine": "URLs that killed their workers: list, release or drop them",
    "retry": "try again what failed because of an outage, or for a reason that can pass",
    "export": "export the result: what is new since the last export to the same target",
    "rank": "PageRank of pages and hosts over all stored links, for the frontier and for exports",
    "serve": "the control API and the dashboard of a crawl, running or not",
    "keys": "the keys of a crawl's control API: list, make or remove them",
    "compact": "join the archive's files, and drop versions that are not to be kept",
    "verify": "check all that is stored: stores, archive records and their digests",
    "rebuild": "make the store of a lost or damaged partition anew from the archive",
    "config": "the configuration in force, and where each value comes from",
    "web": "serve a synthetic web on loopback addresses, to try crawlers on",
    "bench": "measure this machine, with other crawlers beside us on the same pages",
    "plan": "machines, network and storage for a crawl of N pages a month",
}


def main(argv: Sequence[str] | None = None) -> None:
    sys.exit(run(sys.argv[1:] if argv is None else argv))


def parser(named: Sequence[str]) -> argparse.ArgumentParser:
    """`named`: the verbs whose flags are wanted. Only their files are imported: all of them would take 1 s."""
    top = argparse.ArgumentParser(
        prog="gossamer",
        description="A polite, crash-safe web crawler that grows from a laptop to the whole web.",
        epilog="Start with `gossamer demo`: everything at work in half a minute, without a network.",
    )
    top.add_argument("--version", action="version", version=f"gossamer {__version__}")
    verbs = top.add_subparsers(title="verbs", metavar="VERB", dest="verb", required=True)
    for name, text in VERBS.items():
        verb = verbs.add_parser(name, help=text, description=text[0].upper() + text[1:] + ".")
        if name in named:
            command = import_module(f"gossamer.commands.{name}")
            command.add_arguments(verb)
            verb.set_defaults(run=command.run)
    return top


def run(argv: Sequence[str]) -> int:
    arguments = parser(argv).parse_args(argv)
    resumes = "the same command resumes it" if arguments.verb == "crawl" else ""
    try:
        return int(arguments.run(arguments) or 0)
    except (UsageError, ConfigError) as fault:
        return _complain(fault, 2)
    except (FolderError, StoreDamaged, ArchiveDamaged, OtherIndex) as fault:
        return _complain(fault, 1)
    except OSError as fault:
        if isinstance(fault, BrokenPipeError):  # `gossamer pages D | head`
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return 0
        where = f"{fault.filename}: " if fault.filename else ""
        return _complain(f"{where}{fault.strerror or fault}{resumes and f'. Nothing is lost: {resumes}'}", 1)
    except (KeyboardInterrupt, asyncio.CancelledError):
        return _complain(f"stopped at once{resumes and f'; {resumes}'}", 130)


def _complain(text: object, code: int) -> int:
    print(printable(f"gossamer: {text}"), file=sys.stderr)
    return code
