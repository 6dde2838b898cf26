"""The command: what becomes of a call, its mistakes and its faults. commands/parser.py has the table of verbs.

Exit codes: 0 done; 1 the world was in the way (disk, damage, a crawl in use); 2 the call was wrong; 130 stopped
at once. Whatever is complained about, no secret is repeated.
"""

from __future__ import annotations

import argparse
import asyncio
import errno
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from gossamer.archive.storage import ArchiveDamaged
from gossamer.commands.parser import parsed
from gossamer.config import ConfigError, UsageError, quiet_packages
from gossamer.folder import CrawlFolder, FolderError
from gossamer.frontier.disk.faults import StoreDamaged
from gossamer.interfaces import OtherIndex
from gossamer.text import printable, without_secrets

NO_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


def main(argv: Sequence[str] | None = None) -> None:
    quiet_packages()
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]  # where a terminal is not UTF-8
    sys.exit(run(sys.argv[1:] if argv is None else argv))


def run(argv: Sequence[str]) -> int:
    arguments = argparse.Namespace(verb="")
    try:
        arguments = parsed(argv)
        file = cluster_file(arguments)
        if file is None:
            code = int(arguments.run(arguments) or 0)
        else:
            from gossamer.commands.cluster.on_cluster import run_on_cluster  # noqa: PLC0415 - 50 ms

            code = run_on_cluster(arguments, file)
        sys.stdout.flush()  # a full disk behind `> file` is found out now, where it can still be told
        return code
    except (UsageError, ConfigError) as fault:
        return _complain(fault, 2)
    except (FolderError, StoreDamaged, ArchiveDamaged, OtherIndex) as fault:
        return _complain(fault, 1)
    except OSError as fault:
        _leave_unprinted()
        if isinstance(fault, BrokenPipeError):  # `gossamer pages D | head`
            return 0
        where = f"{fault.filename}: " if fault.filename else ""
        return _complain(f"{where}{fault.strerror or fault}{_going_on(arguments, fault)}", 1)
    except (KeyboardInterrupt, asyncio.CancelledError):
        return _complain(f"stopped at once{'; the same command resumes it' if _is_crawl(arguments) else ''}", 130)


def cluster_file(arguments: argparse.Namespace) -> Path | None:
    """The file of a cluster, where one stands in the place of a crawl's folder."""
    words = getattr(arguments, "words", None) or [getattr(arguments, "dir", None) or ""]
    file = Path(words[-1] if words[0] != "add" else words[1] if len(words) > 1 else "")
    return file if file.suffix == ".toml" and file.is_file() else None


def _leave_unprinted() -> None:
    """What cannot be printed would be tried again, and complained about, when the process ends."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _going_on(arguments: argparse.Namespace, fault: OSError) -> str:
    """Said only where it is so."""
    if arguments.verb != "crawl" or fault.errno not in NO_ROOM:
        return ""
    does = "resumes the crawl: nothing is lost" if _is_crawl(arguments) else "starts the crawl"
    return f". Make room, and the same command {does}"


def _is_crawl(arguments: argparse.Namespace) -> bool:
    return arguments.verb == "crawl" and bool(arguments.dir) and CrawlFolder(Path(arguments.dir)).is_crawl


def _complain(text: object, code: int) -> int:
    print(printable(without_secrets(f"gossamer: {text}")), file=sys.stderr)
    return code
