"""Delivers stored changes to open watches, in order and without gaps.

A watch is a position in the log. It receives changes live while it keeps up; a slow one drops its
queue and reads the log again from its position, so it loses time and never an event. A watch ends
only when its position was compacted.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Any

from tfjob.local.apiserver.store import Change, Store

QUEUE_LIMIT = 2_000
REPLAY_BATCH = 500

Matches = Callable[[str, str, dict[str, Any]], bool]


class Watch:
    """A reader's position in the log of one resource."""

    def __init__(
        self, store: Store, *, resource: str, position: int, matches: Matches | None
    ) -> None:
        self.resource = resource
        self.position = position
        self._store = store
        self._matches = matches
        self._queue: deque[Change] = deque()
        self._is_behind = position < store.revision
        self._wake = asyncio.Event()
        if self._is_behind:
            self._wake.set()

    def offer(self, change: Change) -> None:
        """Queue a live change, or fall behind."""
        self._wake.set()
        if self._is_behind:
            return
        if len(self._queue) >= QUEUE_LIMIT:
            self._queue.clear()
            self._is_behind = True
            return
        self._queue.append(change)

    async def wait(self, seconds: float) -> bool:
        """True when there is something to take, False on timeout."""
        if self._wake.is_set():
            return True
        try:
            async with asyncio.timeout(seconds):
                await self._wake.wait()
        except TimeoutError:
            return False
        return True

    def wake(self) -> None:
        """Wake the waiting reader, for instance at shutdown."""
        self._wake.set()

    @property
    def has_more(self) -> bool:
        """Whether there are changes to take."""
        return self._is_behind or bool(self._queue)

    def take(self) -> list[tuple[str, Change]]:
        """The next events, as (event type, change); may be empty."""
        changes = self._replay() if self._is_behind else self._drain()
        events = []
        for change in changes:
            self.position = change.revision
            type_ = self._seen_as(change)
            if type_:
                events.append((type_, change))
        return events

    def _drain(self) -> list[Change]:
        self._wake.clear()
        changes = list(self._queue)
        self._queue.clear()
        return changes

    def _replay(self) -> list[Change]:
        changes = self._store.changes(self.resource, after=self.position, limit=REPLAY_BATCH)
        if len(changes) < REPLAY_BATCH:
            # The log is read to its end, and nothing else runs before we return.
            self._is_behind = False
            self._wake.clear()
        return changes

    def _seen_as(self, change: Change) -> str:
        """An object that leaves the selection is DELETED, one that enters it is ADDED."""
        if self._matches is None:
            return change.type
        namespace, name = change.key.namespace, change.key.name
        was = change.before is not None and self._matches(namespace, name, change.object_before)
        if change.type == "DELETED":
            return "DELETED" if was else ""
        is_now = self._matches(namespace, name, change.object)
        if is_now:
            return "MODIFIED" if was else "ADDED"
        return "DELETED" if was else ""


class WatchBroadcaster:
    """All open watches, by resource."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._watches: dict[str, set[Watch]] = {}
        self.count = 0
        store.listen(self._publish)

    def open(self, resource: str, *, after: int, matches: Matches | None = None) -> Watch:
        watch = Watch(self._store, resource=resource, position=after, matches=matches)
        self._watches.setdefault(resource, set()).add(watch)
        self.count += 1
        return watch

    def close(self, watch: Watch) -> None:
        watches = self._watches.get(watch.resource, set())
        if watch in watches:
            watches.discard(watch)
            self.count -= 1
        if not watches:
            self._watches.pop(watch.resource, None)

    def wake_all(self) -> None:
        for watches in self._watches.values():
            for watch in watches:
                watch.wake()

    def _publish(self, change: Change) -> None:
        for watch in self._watches.get(change.key.resource, ()):
            watch.offer(change)
