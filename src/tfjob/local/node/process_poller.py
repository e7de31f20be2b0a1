"""Looks at the processes of containers again and again, all of them in one look.

Its law: it rests while there is nothing to look at. It must not know what is looked for.
"""

import asyncio
from abc import ABC, abstractmethod
from typing import Generic, TypeVar

W = TypeVar("W")


class ProcessPoller(ABC, Generic[W]):
    """Keeps, by the process above them, what is watched in the processes of a container."""

    def __init__(self) -> None:
        self._watched: dict[int, W] = {}
        self._more = asyncio.Event()

    @abstractmethod
    async def look(self) -> None:
        """Looks once, and reports what there is to report."""

    @abstractmethod
    def pause(self) -> float:
        """Seconds until the next look."""

    def add(self, pid: int, watched: W) -> None:
        self._watched[pid] = watched
        self._more.set()

    def forget(self, pid: int) -> None:
        self._watched.pop(pid, None)

    async def run(self) -> None:
        """Looks again and again, until cancelled."""
        while True:
            if not self._watched:
                self._more.clear()
                await self._more.wait()
            await self.look()
            await asyncio.sleep(self.pause())
