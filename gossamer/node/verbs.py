"""The verbs of the command where a cluster's file stands in the place of a crawl's folder.

`status`, `pause`, `resume`, `stop` and `seeds add` speak with the board. A verb that looks into a folder gets one
with the state of the whole cluster (look.py); what `policy` and `rank` have changed there goes back to the board.
What is to be done at the stores themselves is told to their owners (changing.py), or cannot be done (`REFUSED`).
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import msgspec

from gossamer import config
from gossamer.clock import RealClock
from gossamer.config import UsageError
from gossamer.node import changing
from gossamer.node.look import look
from gossamer.node.operating import ClusterClient, check_settings
from gossamer.node.status import status_facts, status_lines
from gossamer.node.watch import Watch
from gossamer.records import Seed
from gossamer.runtime.event_loop import in_loop
from gossamer.supervisor.seeding import accepted_seeds
from gossamer.text import COMMAND, counted
from gossamer.url.canonical import choose_for

Say = Callable[[str], None]
LOOKING = {"pages", "hosts", "why", "config", "export", "verify", "seeds", "policy", "robots", "quarantine", "rank"}
LOOKING |= {"show"}
WORD_S = 2.5  # two words of a node, and some
STEERING = {"pause", "resume", "stop"}
REFUSED = {
    "compact": "it would rewrite the archive below the owners of all partitions; the archive of a cluster only grows",
    "rebuild": f"`{COMMAND} recover FILE --partition N` goes on with a partition from its last snapshot",
    "events": f"events are in the folder of each node: `{COMMAND} events node-NAME`, on its machine",
    "keys": f"for `serve cluster.toml` they are in cluster.look beside it: `{COMMAND} keys cluster.look --add NAME`; "
    "for a node's own server in the folder of that node",
}


def run_on_cluster(
    arguments: argparse.Namespace, file: Path, typed: Callable[[], Iterable[Seed]], say: Say, show: Say
) -> int:
    """`typed`: the seeds of `seeds add`."""
    verb = arguments.verb
    if verb == "status":
        in_loop(_status(file, show, as_json=arguments.json))
        return 0
    if verb in STEERING:
        in_loop(_steer(file, verb, say))
        return 0
    if verb == "seeds" and arguments.words[:1] == ["add"]:
        return in_loop(_add_seeds(file, typed, say))
    if (code := _changed(arguments, file, say, show)) is not None:
        return code
    if verb not in LOOKING:
        why = REFUSED.get(verb, "it needs a crawl's folder")
        raise UsageError(f"{verb}: cannot be done for a cluster, and {file} is the file of one: {why}")
    folder = in_loop(look(file, RealClock(), say))
    before = folder.policies_changed_at
    if verb == "seeds":
        arguments.words = [str(folder.path)]
    else:
        arguments.dir = str(folder.path)
    code = int(arguments.run(arguments) or 0)
    if verb == "policy" and folder.policies_changed_at != before:
        in_loop(_with(file, lambda client: client.set_policies(msgspec.json.encode(folder.policies()))))
        say("told to all nodes")
    if verb == "rank" and not code:
        in_loop(changing.publish_ranks(file, say))
    return code


def _changed(arguments: argparse.Namespace, file: Path, say: Say, show: Say) -> int | None:
    """A verb that the owners of partitions carry out; None: it is none of these."""
    match arguments.verb:
        case "retry":
            return in_loop(changing.retry(file, arguments, say, show))
        case "recover":
            return in_loop(changing.recover(file, arguments.partition, say))
        case "quarantine" if typed_url := arguments.release or arguments.drop:
            return in_loop(changing.release(file, typed_url, say, drop=bool(arguments.drop)))
    return None


async def _with(file: Path, do: Callable[[ClusterClient], Any]) -> Any:
    tree = config.load(None, file).tree
    check_settings(tree)
    async with ClusterClient.connected(tree.cluster, RealClock()) as client:
        return await do(client)


async def _steer(file: Path, verb: str, say: Say) -> None:
    async def do(client: ClusterClient) -> None:
        if verb == "pause":
            await client.set_paused("as asked")
            say(f"paused; `{COMMAND} resume {file}` goes on")
        elif verb == "resume":
            await client.set_paused("")
            say("goes on")
        else:
            await client.stop()
            say(f"all nodes end; `{COMMAND} crawl --cluster {file}` and nodes go on")

    await _with(file, do)


async def _add_seeds(file: Path, typed: Callable[[], Iterable[Seed]], say: Say) -> int:
    async def do(client: ClusterClient) -> int:
        entry = client.board.get("crawl")
        if entry is None:
            raise UsageError(f"there is no crawl yet: `{COMMAND} crawl --cluster {file} URL` begins one")
        folder = await look(file, RealClock(), say)
        tree = config.load(folder.path, file).tree
        choose_for(tree)
        let_in, refused = accepted_seeds(typed(), tree, folder.policies(), RealClock())
        for each in refused:
            say(f"refused: {each.url} [{each.reason}]")
        added = await client.add_seeds(let_in.values())
        await client.go_on()
        say(f"{counted(added, 'seed')} on the way")
        return 1 if refused else 0

    code: int = await _with(file, do)
    return code


async def _status(file: Path, show: Say, *, as_json: bool) -> None:
    cluster = config.load(None, file).tree.cluster

    async def do(client: ClusterClient) -> None:
        clock = RealClock()
        watch = Watch(client, cluster, clock)
        watched = await watch.look()
        if any(node.state == "missing" for node in watched.cluster.nodes):
            # By its clock and ours, which may differ: whoever is there says something within a second.
            await clock.sleep(WORD_S)
            watched = await watch.look()
        facts = status_facts(watched)
        for line in [json.dumps(facts)] if as_json else status_lines(file, facts):
            show(line)

    await _with(file, do)
