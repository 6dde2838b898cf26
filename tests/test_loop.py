"""The loop by itself: what wakes it where nobody tells it anything."""

from __future__ import annotations

import asyncio
from typing import Any, cast

from gossamer.clock import VirtualClock
from gossamer.loop import MAY_ASK_LOOK_S, Crawl


class Nothing:
    """Stages without anything to do."""

    held_up = ""
    has_unread = False

    async def receive(self) -> None:
        await asyncio.Future()

    def hurry(self) -> None: ...


async def test_whether_it_may_ask_is_looked_at_until_it_may() -> None:
    clock, looks = VirtualClock(), 0

    def may_ask() -> bool:
        nonlocal looks
        looks += 1
        return False

    stage = cast(Any, Nothing())
    stages = (stage, stage, stage, stage, clock)
    crawl = Crawl({}, *stages, in_flight_max=1, in_flight_bytes_max=1, commit_s=1e9, may_ask=may_ask)
    running = asyncio.ensure_future(crawl.run(alone=False))
    for _ in range(4):
        before = looks
        for _ in range(10):
            await asyncio.sleep(0)
        clock.advance(MAY_ASK_LOOK_S)
        for _ in range(10):
            await asyncio.sleep(0)
        assert looks > before
    crawl.stop()
    await asyncio.wait_for(running, 5)
