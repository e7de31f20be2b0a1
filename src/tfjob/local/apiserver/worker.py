"""The working loop of whoever keeps stored objects in order: keys in line, attended to in turn.

Law: a change only says where to look; what is done follows from what is stored, so a look at
everything, at the start and after a full disk, heals whatever was interrupted. What the objects
mean is not known here.
"""

import asyncio
from abc import ABC, abstractmethod
from typing import ClassVar

from tfjob.local.apiserver.backend import Backend
from tfjob.local.apiserver.store import Change, Key, StoreFullError

_RETRY_SECONDS = 5.0


class Worker(ABC):
    """Attends to objects, `piece` of them before others on the loop have their turn."""

    piece: ClassVar[int] = 1

    def __init__(self, backend: Backend) -> None:
        self.backend = backend
        self._todo: dict[Key, None] = {}  # a line in which nobody stands twice
        self._news = asyncio.Event()
        backend.store.listen(self.notice)

    @abstractmethod
    def notice(self, change: Change) -> None:
        """Put in line whom a change concerns."""

    @abstractmethod
    def attend(self, key: Key) -> None:
        """Do what one object asks for; it may be gone already."""

    @abstractmethod
    def look_everywhere(self) -> None:
        """Put everything in line that could need attention."""

    @abstractmethod
    def seconds_to_rest(self) -> float | None:
        """How long nothing is to do unless something changes; None: for ever."""

    @abstractmethod
    def catch_up(self) -> None:
        """What is to do after a rest in which nothing changed."""

    async def run(self) -> None:
        """Work until cancelled."""
        is_unsure = True
        while True:
            try:
                if is_unsure:
                    self.look_everywhere()
                    is_unsure = False
                await self._work()
                await self._rest()
            except StoreFullError:
                # A full disk passes; what is to do is found again by looking at everything.
                await asyncio.sleep(_RETRY_SECONDS)
                is_unsure = True

    async def _work(self) -> None:
        done = 0
        while not self.is_idle:
            self.step()
            done += 1
            if done % self.piece == 0:
                await asyncio.sleep(0)
        self._news.clear()

    async def _rest(self) -> None:
        try:
            async with asyncio.timeout(self.seconds_to_rest()):
                await self._news.wait()
        except TimeoutError:
            self.catch_up()

    @property
    def is_idle(self) -> bool:
        return not self._todo

    def step(self) -> None:
        """Attend to one object."""
        key = next(iter(self._todo))
        del self._todo[key]
        self.attend(key)

    def enqueue(self, key: Key) -> None:
        self._todo[key] = None
        self._news.set()
