"""Injectable time and randomness.

All code that waits, measures time or uses random numbers gets them from here, so that tests run
in virtual time and failures can be reproduced.
"""

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from typing import Final, Protocol

import msgspec


class Timing(msgspec.Struct, frozen=True, kw_only=True):
    """A monotonic clock, a sleep on that clock, and random numbers in [0, 1)."""

    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], Awaitable[object]] = asyncio.sleep
    chance: Callable[[], float] = random.random


REAL: Final = Timing()


class Handle(Protocol):
    """A scheduled callback that can be cancelled."""

    def cancel(self) -> None: ...


class Timers(Protocol):
    """The part of an event loop that schedules callbacks."""

    def time(self) -> float: ...

    def call_at(self, when: float, callback: Callable[[], object], /) -> Handle: ...
