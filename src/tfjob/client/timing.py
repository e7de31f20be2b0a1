"""Time and chance as things that can be handed in.

Everything that waits, measures or rolls dice takes them from here, so that a test can play hours
in no time and a failure can be repeated.
"""

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from typing import Final, Protocol

import msgspec


class Timing(msgspec.Struct, frozen=True, kw_only=True):
    """A monotonic clock, a sleep on that clock, and a number in [0, 1)."""

    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], Awaitable[object]] = asyncio.sleep
    chance: Callable[[], float] = random.random


REAL: Final = Timing()


class Handle(Protocol):
    """Something that will happen, unless it is cancelled."""

    def cancel(self) -> None: ...


class Timers(Protocol):
    """The part of an event loop that calls back at a time."""

    def time(self) -> float: ...

    def call_at(self, when: float, callback: Callable[[], object], /) -> Handle: ...
