"""Turns SIGINT, SIGTERM and SIGHUP into events: the first requests a clean shutdown, the second a
fast one.

The third exits immediately; the processes of the job end with this one.
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
    """A context in which signals set `asked`, then `urged`, instead of ending the process."""

    def __init__(self, exit_now: Callable[[int], object] = os._exit) -> None:
        self.asked = asyncio.Event()
        self.urged = asyncio.Event()
        self.before_exit: Callable[[], None] = lambda: None
        """Called before the process exits at once."""
        self._exit_now = exit_now
        self._signals: list[signal.Signals] = []
        self._terminals: list[int] = []

    def __enter__(self) -> Self:
        loop = asyncio.get_running_loop()
        # A signal that is ignored, as SIGHUP is under nohup, stays ignored.
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
            self._detach_closed_terminal()
        self.hear()

    def _detach_closed_terminal(self) -> None:
        """Send output to /dev/null if the terminal is closed, so that writing does not fail."""
        closed = [fd for fd in self._terminals if not os.isatty(fd)]
        if closed:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            for fd in closed:
                os.dup2(nowhere, fd)
            os.close(nowhere)

    def hear(self) -> None:
        """Count one interrupt."""
        if self.urged.is_set():
            self.before_exit()
            self._exit_now(EXIT_CODE)
        (self.urged if self.asked.is_set() else self.asked).set()


async def first_of(*works: Awaitable[T]) -> T:
    """The result or the error of the first to finish; the others are cancelled."""
    tasks = [asyncio.ensure_future(each) for each in works]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        return next(task for task in tasks if task in done).result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
