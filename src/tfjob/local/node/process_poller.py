"""Polls the processes of all containers at an interval.

Sleeps while there is nothing to poll.
"""

import asyncio
from abc import ABC, abstractmethod
from typing import Generic, TypeVar

W = TypeVar("W")


class ProcessPoller(ABC, Generic[W]):
    """Keeps what is watched by the PID of the supervisor above a container."""

    def __init__(self) -> None:
        self._watched: dict[int, W] = {}
        self._more = asyncio.Event()

    @abstractmethod
    async def poll(self) -> None:
        """Poll once and report."""

    @abstractmethod
    def interval(self) -> float:
        """Seconds until the next poll."""

    def add(self, pid: int, watched: W) -> None:
        self._watched[pid] = watched
        self._more.set()

    def forget(self, pid: int) -> None:
        self._watched.pop(pid, None)

    async def run(self) -> None:
        """Poll until cancelled."""
        while True:
            if not self._watched:
                self._more.clear()
                await self._more.wait()
            await self.poll()
            await asyncio.sleep(self.interval())
