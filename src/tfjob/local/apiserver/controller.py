"""A controller: attends to the objects of one kind whenever they or their children change.

Law: that of every worker. An object may ask to be looked at later; what for is not known here.
"""

import asyncio
from abc import ABC, abstractmethod
from datetime import datetime, timedelta
from typing import ClassVar

from tfjob.local.apiserver.backend import Backend
from tfjob.local.apiserver.store import Change, Key, StoreFullError

_RETRY_SECONDS = 5.0
FIRST = timedelta(seconds=10)
LONGEST = timedelta(minutes=6)


class QueueWorker(ABC):
    """Attends to objects, `piece` of them before others on the loop have their turn."""

    piece: ClassVar[int] = 1

    def __init__(self, backend: Backend) -> None:
        self.backend = backend
        self._queue: dict[Key, None] = {}  # a line in which nobody stands twice
        self._wake = asyncio.Event()
        backend.store.listen(self.on_change)

    @abstractmethod
    def on_change(self, change: Change) -> None:
        """Put in line whom a change concerns."""

    @abstractmethod
    def reconcile(self, key: Key) -> None:
        """Do what one object asks for; it may be gone already."""

    @abstractmethod
    def enqueue_all(self) -> None:
        """Put everything in line that could need attention."""

    @abstractmethod
    def next_wakeup_seconds(self) -> float | None:
        """How long nothing is to do unless something changes; None: for ever."""

    @abstractmethod
    def on_idle(self) -> None:
        """What is to do after a rest in which nothing changed."""

    async def run(self) -> None:
        """Work until cancelled."""
        is_unsure = True
        while True:
            try:
                if is_unsure:
                    self.enqueue_all()
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
        self._wake.clear()

    async def _rest(self) -> None:
        try:
            async with asyncio.timeout(self.next_wakeup_seconds()):
                await self._wake.wait()
        except TimeoutError:
            self.on_idle()

    @property
    def is_idle(self) -> bool:
        return not self._queue

    def step(self) -> None:
        """Attend to one object."""
        key = next(iter(self._queue))
        del self._queue[key]
        self.reconcile(key)

    def enqueue(self, key: Key) -> None:
        self._queue[key] = None
        self._wake.set()


class Controller(QueueWorker):
    """Attends to the objects of one resource, whenever they or what they own change."""

    resource: ClassVar[str]
    kind: ClassVar[str]
    child_resource: ClassVar[str] = "pods"

    def __init__(self, backend: Backend) -> None:
        super().__init__(backend)
        self._later: dict[Key, datetime] = {}

    def on_change(self, change: Change) -> None:
        if change.key.resource == self.resource:
            self.enqueue(change.key)
        elif change.key.resource == self.child_resource:
            for ref in change.object["metadata"].get("ownerReferences") or ():
                if ref.get("kind") == self.kind and ref.get("controller"):
                    name = str(ref.get("name", ""))
                    self.enqueue(Key(self.resource, change.key.namespace, name))

    def enqueue_all(self) -> None:
        for row in self.backend.store.page(self.resource):
            self.enqueue(Key(self.resource, row.namespace, row.name))

    def enqueue_at(self, key: Key, moment: datetime) -> None:
        """Attend to an object again at a moment, even if nothing changes until then."""
        self._later[key] = min(moment, self._later.get(key, moment))

    def on_idle(self) -> None:
        """Put everything in line whose moment has come."""
        now = self.backend.clock()
        for key in [key for key, moment in self._later.items() if moment <= now]:
            del self._later[key]
            self.enqueue(key)

    def next_wakeup_seconds(self) -> float | None:
        if not self._later:
            return None
        return max((min(self._later.values()) - self.backend.clock()).total_seconds(), 0.0)


def delay(failures: int) -> timedelta:
    """The pause after so many failures in a row."""
    if failures <= 0:
        return timedelta()
    pause: timedelta = FIRST * 2 ** min(failures - 1, 30)
    return min(LONGEST, pause)
