"""Ctrl-C, SIGTERM and SIGHUP as something to wait for: once to end in order, twice to end at once.

The third time there is no more waiting: the process goes, and what it watched over goes with it.
"""

import asyncio
import os
import signal
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Final, Self, TypeVar

T = TypeVar("T")

EXIT_CODE: Final = 130
_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Interrupts:
    """`with Interrupts() as interrupts`: inside, signals only set these events."""

    def __init__(self, leave: Callable[[int], object] = os._exit) -> None:
        self.asked = asyncio.Event()
        self.urged = asyncio.Event()
        self._leave = leave
        self._signals: list[signal.Signals] = []
        self._terminals: list[int] = []

    def __enter__(self) -> Self:
        loop = asyncio.get_running_loop()
        # One that is ignored, as SIGHUP is under nohup, stays ignored.
        self._signals = [each for each in _SIGNALS if signal.getsignal(each) != signal.SIG_IGN]
        self._terminals = [fd for fd in (1, 2) if os.isatty(fd)]
        for each in self._signals:
            loop.add_signal_handler(each, self._receive, each)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        loop = asyncio.get_running_loop()
        for each in self._signals:
            loop.remove_signal_handler(each)

    def _receive(self, number: int) -> None:
        if number == signal.SIGHUP:
            self._leave_closed_terminal()
        self.hear()

    def _leave_closed_terminal(self) -> None:
        """Writing to a terminal that is gone would fail, and the end would not be in order."""
        closed = [fd for fd in self._terminals if not os.isatty(fd)]
        if closed:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            for fd in closed:
                os.dup2(nowhere, fd)
            os.close(nowhere)

    def hear(self) -> None:
        """One more interrupt."""
        if self.urged.is_set():
            self._leave(EXIT_CODE)
        (self.urged if self.asked.is_set() else self.asked).set()


async def first_of(*works: Awaitable[T]) -> T:
    """What the first of them gives, or its error; the others are cancelled."""
    tasks = [asyncio.ensure_future(each) for each in works]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        return next(task for task in tasks if task in done).result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
