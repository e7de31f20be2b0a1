"""The working loop of a controller: objects in line, attended to one by one, some later.

Law: a change only says where to look; what is done follows from what is stored, so a look at
everything at the start heals whatever a crash interrupted. What the objects mean is not known here.
"""

import asyncio
from abc import ABC, abstractmethod
from datetime import datetime
from typing import Any, ClassVar

from tfjob.local.apiserver.backend import Backend
from tfjob.local.apiserver.store import Change, Key, StoreFullError

Json = dict[str, Any]
_RETRY_SECONDS = 5.0


class Controller(ABC):
    """Attends to the objects of one resource, whenever they or what they own change."""

    resource: ClassVar[str]
    kind: ClassVar[str]
    child_resource: ClassVar[str] = "pods"

    def __init__(self, backend: Backend) -> None:
        self.backend = backend
        self._todo: dict[Key, None] = {}  # a line in which nobody stands twice
        self._later: dict[Key, datetime] = {}
        self._news = asyncio.Event()
        backend.store.listen(self.notice)

    @abstractmethod
    def attend(self, key: Key) -> None:
        """Do what one object asks for; it may be gone already."""

    async def run(self) -> None:
        """Work until cancelled."""
        is_unsure = True
        while True:
            try:
                if is_unsure:
                    self.look_everywhere()
                    is_unsure = False
                await self._work()
            except StoreFullError:
                # A full disk passes; what is to do is found again by looking at everything.
                await asyncio.sleep(_RETRY_SECONDS)
                is_unsure = True
            else:
                await self._rest()

    async def _rest(self) -> None:
        try:
            async with asyncio.timeout(self._seconds_to_wait()):
                await self._news.wait()
        except TimeoutError:
            self.catch_up()

    async def _work(self) -> None:
        while not self.is_idle:
            self.step()
            await asyncio.sleep(0)
        self._news.clear()

    @property
    def is_idle(self) -> bool:
        return not self._todo

    def step(self) -> None:
        """Attend to one object."""
        key = next(iter(self._todo))
        del self._todo[key]
        self.attend(key)

    def look_everywhere(self) -> None:
        for row in self.backend.store.page(self.resource):
            self._enqueue(Key(self.resource, row.namespace, row.name))

    def wake_at(self, key: Key, moment: datetime) -> None:
        """Attend to an object again at a moment, even if nothing changes until then."""
        self._later[key] = min(moment, self._later.get(key, moment))

    def catch_up(self) -> None:
        """Put everything in line whose moment has come."""
        now = self.backend.clock()
        for key in [key for key, moment in self._later.items() if moment <= now]:
            del self._later[key]
            self._enqueue(key)

    def _seconds_to_wait(self) -> float | None:
        if not self._later:
            return None
        return max((min(self._later.values()) - self.backend.clock()).total_seconds(), 0.0)

    def _enqueue(self, key: Key) -> None:
        self._todo[key] = None
        self._news.set()

    def notice(self, change: Change) -> None:
        """Put in line whom a change concerns."""
        if change.key.resource == self.resource:
            self._enqueue(change.key)
        elif change.key.resource == self.child_resource:
            for ref in change.object["metadata"].get("ownerReferences") or ():
                if ref.get("kind") == self.kind and ref.get("controller"):
                    name = str(ref.get("name", ""))
                    self._enqueue(Key(self.resource, change.key.namespace, name))
