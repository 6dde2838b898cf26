"""The process of a worker: it finds its supervisor, is told what to crawl, and ends with it."""

from __future__ import annotations

import asyncio
import os
import resource
import shutil
import signal
from collections.abc import Awaitable, Callable
from pathlib import Path

from gossamer.archive.storage import ArchiveDamaged
from gossamer.clock import RealClock
from gossamer.cluster.shared import RemoteShared
from gossamer.cluster.wire import Answer, Message, connect
from gossamer.folder import FolderError
from gossamer.frontier.disk.faults import StoreDamaged
from gossamer.interfaces import JournalLost, LaterOwner, LinksLost, SharedState
from gossamer.messages import worker_messages
from gossamer.runtime.event_loop import in_loop
from gossamer.runtime.memory import start_threads, steady_memory
from gossamer.runtime.process_name import name_process
from gossamer.worker.failure import failure_message
from gossamer.worker.worker import Worker, socket_of


def no_limiter(requests_per_s: float | None, bytes_per_s: float | None) -> None:
    """The supervisor limits the pace of the crawl."""


async def work(sockets: Path, number: int) -> None:
    def vanish() -> None:
        # The supervisor is gone, perhaps by kill -9. Another one may be starting already: hold nothing up.
        shutil.rmtree(sockets, ignore_errors=True)
        os._exit(1)

    start_threads()
    try:
        async with asyncio.TaskGroup() as tasks:
            supervisor = await connect(
                socket_of(sockets, None), worker_messages.ToWorker, tasks.create_task, lambda _: None
            )
            supervisor.when_closed.append(vanish)
            welcome = await supervisor.call(worker_messages.Hello(number), worker_messages.Welcome)
            spawn, limit_pace = tasks.create_task, no_limiter
            keep_to_share: Callable[[float], None] = lambda share: None  # noqa: E731
            shared: SharedState = RemoteShared(supervisor)
            if welcome.node and welcome.config.cluster.redis:
                from gossamer.worker.cluster_side import shared_in_valkey  # noqa: PLC0415 - of an extra

                shared = valkey = shared_in_valkey(welcome.config, RealClock())
                limit_pace, keep_to_share = valkey.limit, valkey.keep_to_share
            say: Callable[[str], None] = lambda text: supervisor.mention(worker_messages.Said(text))  # noqa: E731
            async with Worker(number, welcome, shared, say, spawn, sockets, limit_pace=limit_pace) as worker:

                def handle(order: Message) -> Answer | Awaitable[Answer]:
                    keep_to_share(max(1, len(worker.partitions)) / welcome.config.crawl.partitions)
                    return worker.handle(order)

                supervisor.answer = handle
                await supervisor.tell(worker_messages.Ready())
                await worker.run()
    except* LaterOwner as faults:
        fault = FolderError(worker.folder.behind_in_epochs(faults.exceptions[0]))
        await supervisor.tell(failure_message(ExceptionGroup("", [fault])))
    except* (OSError, FolderError, StoreDamaged, ArchiveDamaged, LinksLost, JournalLost) as faults:
        await supervisor.tell(failure_message(faults))
    supervisor.when_closed.clear()
    supervisor.close()


def main(sockets: Path, number: int) -> None:
    name_process("gossamer.worker")
    steady_memory()
    # A thousand open files are too few for hundreds of connections beside the files of several stores.
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    # Ctrl-C and a system that stops everything reach us too; when to end is the supervisor's to say.
    for each in (signal.SIGINT, signal.SIGTERM):
        signal.signal(each, signal.SIG_IGN)
    in_loop(work(sockets, number))
