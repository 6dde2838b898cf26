"""The control client: speaks to a running crawl from another process, over its control socket (control_messages.py).

    async with asyncio.TaskGroup() as tasks:
        peer = await connect_to_crawl(CrawlFolder(path), tasks.create_task)
        if peer is not None:
            now = await peer.call(AskNow(), Now)
            await peer.tell(Steer("pause"))

`Disconnected` is raised by whatever is asked once the crawl has ended. A crawl that is just starting or ending may
have the folder's lock and not listen: then nobody answers, and the folder itself refuses to be written to.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from gossamer.cluster.wire import Disconnected, Message, Peer, Spawn, connect
from gossamer.folder import CrawlFolder
from gossamer.messages.control_messages import EventBatch, FromCrawl

T = TypeVar("T", bound=Message)

ANSWER_S = 10.0


async def connect_to_crawl(
    folder: CrawlFolder,
    spawn: Spawn,
    watch: Callable[[EventBatch], None] = lambda batch: None,
    complain: Callable[[str], None] = lambda text: None,
) -> Peer | None:
    """A connection to the crawl in a folder; None: it is not running. `watch` hears what happens, after `Watch`."""
    socket = folder.socket
    if socket is None:
        return None
    try:
        peer = await connect(socket, FromCrawl, spawn, complain)
    except Disconnected:
        return None
    peer.answer = watch
    return peer


def ask(folder: CrawlFolder, question: Message, wanted: type[T], answer_s: float = ANSWER_S) -> T | None:
    """One question, from a program that has no event loop. None: the crawl is not running, or does not answer."""

    async def once() -> T | None:
        peer = await connect_to_crawl(folder, _nothing_to_do)
        if peer is None:
            return None
        try:
            async with asyncio.timeout(answer_s):
                return await peer.call(question, wanted)
        except (Disconnected, TimeoutError):
            return None
        finally:
            peer.close()

    return asyncio.run(once())


def _nothing_to_do(work: Coroutine[Any, Any, None]) -> None:
    work.close()
