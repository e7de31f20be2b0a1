"""Base classes of controllers: a deduplicating queue of keys and a reconcile loop.

A change only enqueues keys; what to do follows from the stored state. Everything is enqueued at the
start and after a full disk, which repairs whatever was interrupted.
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
    """Reconciles queued keys; yields to the event loop after each `piece` of them."""

    piece: ClassVar[int] = 1

    def __init__(self, backend: Backend) -> None:
        self.backend = backend
        self._queue: dict[Key, None] = {}  # keys in order, each once
        self._wake = asyncio.Event()
        backend.store.listen(self.on_change)

    @abstractmethod
    def on_change(self, change: Change) -> None:
        """Enqueue the keys that a change affects."""

    @abstractmethod
    def reconcile(self, key: Key) -> None:
        """Reconcile one object, which may have been deleted."""

    @abstractmethod
    def enqueue_all(self) -> None:
        """Enqueue everything that may need work."""

    @abstractmethod
    def next_wakeup_seconds(self) -> float | None:
        """Seconds until `on_idle` is called if nothing changes; None for never."""

    @abstractmethod
    def on_idle(self) -> None:
        """Called after a pause without changes."""

    async def run(self) -> None:
        """Reconcile until cancelled."""
        is_unsure = True
        while True:
            try:
                if is_unsure:
                    self.enqueue_all()
                    is_unsure = False
                await self._work()
                await self._rest()
            except StoreFullError:
                # Retry everything once the disk may have space again.
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
        """Reconcile one object."""
        key = next(iter(self._queue))
        del self._queue[key]
        self.reconcile(key)

    def enqueue(self, key: Key) -> None:
        self._queue[key] = None
        self._wake.set()


class Controller(QueueWorker):
    """Reconciles objects of one resource when they, or objects they own, change."""

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
        """Reconcile the object again at this time."""
        self._later[key] = min(moment, self._later.get(key, moment))

    def on_idle(self) -> None:
        """Enqueue everything that is due."""
        now = self.backend.clock()
        for key in [key for key, moment in self._later.items() if moment <= now]:
            del self._later[key]
            self.enqueue(key)

    def next_wakeup_seconds(self) -> float | None:
        if not self._later:
            return None
        return max((min(self._later.values()) - self.backend.clock()).total_seconds(), 0.0)


def delay(failures: int) -> timedelta:
    """The back-off after failures in a row: 10 s, then doubled, 6 minutes at most."""
    if failures <= 0:
        return timedelta()
    pause: timedelta = FIRST * 2 ** min(failures - 1, 30)
    return min(LONGEST, pause)
