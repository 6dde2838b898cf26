"""What becomes of a hostile transfer: each alone, and all at once while a friendly host is served."""

from __future__ import annotations

import asyncio
import time
from contextlib import AsyncExitStack
from itertools import pairwise
from typing import Any

import pytest

from gossamer.fetch.http import Http
from gossamer.records import Fetched
from tests.hostile.behaviours.rows import Play
from tests.hostile.behaviours.table import PLAYS
from tests.hostile.limits import PATIENCE_S, PATIENT
from tests.hostile.server import Stage, answer, playing, says

FRIENDLY = answer(b"<p>welcome", "Content-Type: text/html")
FRIENDLY_GAP_S_MAX = 2.0  # generous: the server's own work is on the same loop, and the machine is not ours alone


@pytest.mark.parametrize("name", PLAYS)
async def test_a_hostile_transfer_ends_as_expected_and_in_time(http: Http, name: str) -> None:
    play = PLAYS[name]
    async with play.staged() as stage:
        started = time.monotonic()
        result = await http.fetch(stage.url(play.path))
        took_s = time.monotonic() - started
        assert play.objection(result, stage) is None
        assert took_s < PATIENCE_S


async def test_all_at_once_end_in_time_and_a_friendly_host_is_served_on(patient_http: Http) -> None:
    http = patient_http
    async with AsyncExitStack() as stages:
        friend = await stages.enter_async_context(playing(says(FRIENDLY)))
        undisturbed = await moments_of_answers(http, friend, asyncio.create_task(asyncio.sleep(1.0)))
        staged = {name: await stages.enter_async_context(play.staged()) for name, play in PLAYS.items()}
        started = time.monotonic()
        hostile = asyncio.gather(*(judged(http, name, PLAYS[name], stage) for name, stage in staged.items()))
        disturbed = await moments_of_answers(http, friend, hostile)
        took_s = time.monotonic() - started
        objections = [objection for objection in await hostile if objection is not None]
    assert objections == []
    gaps_s = [later - earlier for earlier, later in pairwise(disturbed)]
    assert max(gaps_s) < FRIENDLY_GAP_S_MAX
    # At least a tenth of the pace that it has when nobody disturbs: one of two hundred transfers would be a 200th.
    assert len(disturbed) / took_s > 0.1 * len(undisturbed)


async def judged(http: Http, name: str, play: Play, stage: Stage) -> str | None:
    started = time.monotonic()
    result = await http.fetch(stage.url(play.path))
    took_s = time.monotonic() - started
    objection = play.objection(result, stage)
    if objection is None and took_s > 2 * PATIENT.timeout_s:
        objection = f"took {took_s:.1f} s"
    return None if objection is None else f"{name}: {objection}"


async def moments_of_answers(http: Http, friend: Stage, until: asyncio.Future[Any]) -> list[float]:
    """When each answer of the friendly host came, asked again and again until something else is done."""
    moments = [time.monotonic()]
    while not until.done():
        result = await http.fetch(friend.url())
        assert isinstance(result, Fetched), result
        moments.append(time.monotonic())
        await asyncio.sleep(0)
    return moments
