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
from gossamer.config import ConfigError, UsageError
from gossamer.folder import CrawlFolder, FolderError
from gossamer.frontier.disk.store import StoreDamaged
from gossamer.interfaces import OtherIndex
from gossamer.text import printable, without_secrets

NO_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


def main(argv: Sequence[str] | None = None) -> None:
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]  # where a terminal is not UTF-8
    sys.exit(run(sys.argv[1:] if argv is None else argv))


def run(argv: Sequence[str]) -> int:
    arguments = argparse.Namespace(verb="")
    try:
        arguments = parsed(argv)
        code = int(arguments.run(arguments) or 0)
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
        resumes = _resumes(arguments) if fault.errno in NO_ROOM else ""
        return _complain(
            f"{where}{fault.strerror or fault}{resumes and f'. Nothing is lost: make room, and {resumes}'}", 1
        )
    except (KeyboardInterrupt, asyncio.CancelledError):
        resumes = _resumes(arguments)
        return _complain(f"stopped at once{resumes and f'; {resumes}'}", 130)


def _leave_unprinted() -> None:
    """What cannot be printed would be tried again, and complained about, when the process ends."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _resumes(arguments: argparse.Namespace) -> str:
    """Said only where it is so: there is a crawl in the folder."""
    is_so = arguments.verb == "crawl" and arguments.dir and CrawlFolder(Path(arguments.dir)).is_crawl
    return "the same command resumes it" if is_so else ""


def _complain(text: object, code: int) -> int:
    print(printable(without_secrets(f"gossamer: {text}")), file=sys.stderr)
    return code
