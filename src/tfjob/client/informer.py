"""Informer: keeps a store in sync with a collection and reports each change.

Lists, resumed watches and 410 Gone are handled in `watch.py`. Only the watch updates the store; the
operator's own writes arrive like those of any other client. Listeners get the old and the new
object.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import Generic, Protocol, TypeVar

from tfjob.client.interning import Interner
from tfjob.client.store import Store
from tfjob.client.watch_codec import Changed, Deleted, Event, HasMetadata, Key, Replaced, key_of
from tfjob.k8s.resource_version import is_older, reaches

T = TypeVar("T", bound=HasMetadata)


class EventSource(Protocol[T]):
    """A source of watch events."""

    def events(self) -> AsyncGenerator[Event[T]]: ...


class Informer(Generic[T]):
    """Watches one collection into one store."""

    def __init__(
        self,
        source: EventSource[T],
        *,
        store: Store[T],
        on_change: Callable[[T | None, T | None], None],
    ) -> None:
        self._source = source
        self._on_change = on_change
        self._interner = Interner()
        self.store = store
        self.has_synced = asyncio.Event()

    async def run(self) -> None:
        """Watch forever; `has_synced` is set once the store holds the whole collection."""
        async with aclosing(self._source.events()) as events:
            async for event in events:
                self._apply(event)

    def is_caught_up(self, key: Key, version: str) -> bool:
        """Whether the store has seen the write that got this version."""
        stored = self.store.get(key)
        if stored is not None and stored.metadata.resource_version == version:
            return True
        return reaches(self.store.version, version)

    def _apply(self, event: Event[T]) -> None:
        match event:
            case Replaced():
                self._replace(event)
            case Changed():
                self._put(event.object)
            case Deleted():
                self._remove(event)
        self.store.version = event.version
        if isinstance(event, Replaced):
            self.has_synced.set()

    def _replace(self, event: Replaced[T]) -> None:
        """Objects missing from a list were deleted; a list is never older than the store."""
        listed = {key_of(item.metadata) for item in event.objects} | event.skipped
        for known in self.store:
            if key_of(known.metadata) not in listed:
                self._on_change(self.store.remove(key_of(known.metadata)), None)
        for item in event.objects:
            self._store(item)

    def _put(self, item: T) -> None:
        """Store a changed object, unless a replayed event is older than the stored one."""
        old = self.store.get(key_of(item.metadata))
        version = item.metadata.resource_version
        if old is None or not is_older(version, old.metadata.resource_version):
            self._store(item)

    def _store(self, item: T) -> None:
        self._interner.compact(item, live=len(self.store))
        old = self.store.put(item)
        if old is None:
            self._on_change(None, item)
        elif old.metadata.uid != item.metadata.uid:
            self._on_change(old, None)
            self._on_change(None, item)
        elif old.metadata.resource_version != item.metadata.resource_version:
            self._on_change(old, item)

    def _remove(self, event: Deleted) -> None:
        old = self.store.get(event.key)
        if old is None or is_older(event.version, old.metadata.resource_version):
            return
        self._on_change(self.store.remove(event.key), None)
