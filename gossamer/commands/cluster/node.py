"""`gossamer node`: this machine's part of a crawl that several machines share."""

from __future__ import annotations

import argparse
import sys
from contextlib import ExitStack
from pathlib import Path
from socket import gethostname

from gossamer import config
from gossamer.api.child import served
from gossamer.clock import RealClock
from gossamer.commands.verb import add_config_flags, add_serve_flag, add_setting, extra, flags_of, say, show
from gossamer.config import UsageError
from gossamer.folder import CrawlFolder
from gossamer.runtime.event_loop import in_loop
from gossamer.runtime.memory import steady_heap
from gossamer.supervisor.supervisor import ENDINGS
from gossamer.text import COMMAND, counted, span

EXAMPLES = """
gossamer node --cluster cluster.toml
gossamer node --cluster cluster.toml --name rack2-7 --dir /srv/gossamer
"""


def add_arguments(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("--cluster", metavar="FILE", type=Path, required=True, help="where the cluster's servers are")
    verb.add_argument("--name", metavar="NAME", help="of this node, for good (default: the machine's name)")
    verb.add_argument("--dir", metavar="D", help="the node's own folder (default: node-NAME)")
    add_setting(verb, "crawl.workers", "N", "worker processes (default: one a core)")
    add_serve_flag(verb)
    add_config_flags(verb)


def run(arguments: argparse.Namespace) -> int:
    name = arguments.name or gethostname()
    if not name.isascii() or not name.replace("-", "").replace(".", "").replace("_", "").isalnum():
        raise UsageError(f"--name {name}: wanted letters, digits, - . and _")
    if arguments.config is not None:
        raise UsageError("--config: a node has its settings from --cluster FILE and from the crawl; use --set")
    flags = flags_of(arguments)
    config.load(None, arguments.cluster, flags)  # what is wrong in it is said before anything else
    with extra("cluster"):
        from gossamer.node.operating import faults_told  # noqa: PLC0415 - of an extra
        from gossamer.node.run import run_node  # noqa: PLC0415 - of an extra
    folder = CrawlFolder(Path(arguments.dir or f"node-{name}"))
    with ExitStack() as serving, faults_told(), folder.locked():
        say(f"node {name}, in {folder.path}")

        def begun() -> str:
            """Where its dashboard is. Only now the folder is that of a crawl."""
            if not arguments.is_served:
                return ""
            chosen = [word for key in flags if key.startswith("serve.") for word in ("--set", f"{key}={flags[key]}")]
            return serving.enter_context(served(folder, say, *chosen)).address

        steady_heap()
        done = in_loop(run_node(name, folder, arguments.cluster, flags, RealClock(), sys.stderr, say, begun))
    ending = done.ending
    show(f"{ENDINGS[ending.why][0].upper()}{ENDINGS[ending.why][1:]}.")
    show(f"  {counted(done.pages, 'page')} by this node in {span(ending.elapsed_s)}")
    show(f"  of the whole: {COMMAND} status {arguments.cluster}")
    return 1 if ending.damage else 0
