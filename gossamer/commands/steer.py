"""`gossamer pause`, `resume` and `stop`: what an operator wants of a whole crawl.

A running crawl is told over its control socket, and has done it when the verb returns. One that is not running has
its pause noted in its folder, as the supervisor would: the next start begins with it.
"""

from __future__ import annotations

import argparse
import asyncio
from pathlib import Path
from typing import Literal

from gossamer.clock import RealClock
from gossamer.cluster.wire import Disconnected
from gossamer.commands.verb import say
from gossamer.folder import CrawlFolder, FolderError
from gossamer.messages.control_client import connect_to_crawl
from gossamer.messages.control_messages import AS_ASKED, Steer
from gossamer.runtime.event_loop import in_loop
from gossamer.text import COMMAND

EXAMPLES = """
gossamer pause crawl-example.com
gossamer resume crawl-example.com
gossamer stop crawl-example.com
"""
ANSWER_S = 30.0  # usually a tenth of a second
LOOK_S = 0.05


def add_arguments(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("dir", metavar="D", help="the crawl's folder, running or not")


def run(arguments: argparse.Namespace) -> None:
    folder = CrawlFolder(Path(arguments.dir))
    folder.must_be_crawl()
    steer = {"pause": pause, "resume": resume, "stop": stop}[arguments.verb]
    say(f"{folder.path}: {steer(folder)}")


def pause(folder: CrawlFolder) -> str:
    if in_loop(told(folder, "pause")):
        return f"paused; `{COMMAND} resume {folder.path}` goes on"
    return noted(folder, AS_ASKED, f"not running; it begins with a pause, until `{COMMAND} resume {folder.path}`")


def resume(folder: CrawlFolder) -> str:
    if in_loop(told(folder, "resume")):
        return "goes on"
    was = "not paused any more" if folder.paused else "was not paused"
    return noted(folder, "", f"{was}, and not running; `{COMMAND} crawl --dir {folder.path}` goes on")


def stop(folder: CrawlFolder) -> str:
    if in_loop(told(folder, "drain")):
        return f"stopped; `{COMMAND} crawl --dir {folder.path}` goes on"
    with folder.locked():  # whoever has the lock and no socket is told apart here
        return "not running"


def noted(folder: CrawlFolder, why: str, text: str) -> str:
    with folder.locked():  # no crawl starts meanwhile
        folder.set_paused(why)
    return text


async def told(folder: CrawlFolder, to: Literal["pause", "resume", "drain"]) -> bool:
    """Returns when every worker has heard it, and what was to end has ended. False: the crawl is not running."""
    peer = await connect_to_crawl(folder, asyncio.create_task)
    if peer is None:
        return False
    try:
        async with asyncio.timeout(ANSWER_S):
            await peer.tell(Steer(to))
        if to == "drain":
            await peer.closed.wait()
    except TimeoutError:
        raise FolderError(f"the crawl in {folder.path} has not answered for {ANSWER_S:.0f} s") from None
    except Disconnected:  # it ended just now
        if to != "drain":
            return False
    finally:
        peer.close()
    while to == "drain" and folder.is_locked:
        await RealClock().sleep(LOOK_S)
    return True
