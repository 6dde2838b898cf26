"""Time that nobody can set: it counts on while the machine sleeps, and follows the wall clock only when told to."""

from __future__ import annotations

import asyncio
import time

from gossamer.clock import RealClock, passed


class Machine:
    """What the clocks of a machine say."""

    def __init__(self) -> None:
        self.slept_s = 0.0
        self.set_s = 0.0

    def passed(self) -> float:
        return passed() + self.slept_s

    def wall(self) -> float:
        return time.time() + self.slept_s + self.set_s

    def clock(self) -> RealClock:
        return RealClock(1, self.passed, self.wall, look_s=0.01)


async def test_time_passes_while_the_machine_sleeps() -> None:
    machine = Machine()
    clock = machine.clock()
    before, event = clock.now(), asyncio.Event()
    waiting = asyncio.create_task(clock.wait(event, before + 3000))
    sleeping = asyncio.create_task(clock.sleep(3000))
    await asyncio.sleep(0.03)
    assert not waiting.done() and not sleeping.done()
    machine.slept_s = 3600  # the event loop's timers know nothing of it
    await asyncio.wait_for(asyncio.gather(waiting, sleeping), 10)
    assert 3600 <= clock.now() - before < 3610
    assert clock.step() == 0.0


def test_a_wall_clock_set_forward_is_followed_by_a_step_alone() -> None:
    machine = Machine()
    clock = machine.clock()
    before = clock.now()
    machine.set_s = 7200
    assert clock.now() - before < 10
    assert 7199 < clock.step() < 7201
    assert abs(clock.now() - machine.wall()) < 0.1
    assert clock.step() == 0.0


def test_a_wall_clock_set_back_is_not_followed() -> None:
    machine = Machine()
    clock = machine.clock()
    before = clock.now()
    machine.set_s = -7200
    assert clock.step() == 0.0
    assert clock.now() >= before
