"""Objects by namespace and name, found also by their owner and by one label.

A plain container: what it holds is what it was last told. Lookups cost what they return, however
many other objects there are.
"""

from collections.abc import Iterator
from typing import Generic, TypeVar

from tfjob.client.watch_codec import HasMetadata, Key, key_of

T = TypeVar("T", bound=HasMetadata)


class _Index(Generic[T]):
    """Objects grouped by one property; an empty group takes no room."""

    def __init__(self) -> None:
        self._groups: dict[object, dict[Key, T]] = {}

    def __len__(self) -> int:
        return len(self._groups)

    def add(self, key: Key, item: T, value: object) -> None:
        if value is not None:
            self._groups.setdefault(value, {})[key] = item

    def discard(self, key: Key, value: object) -> None:
        if value is not None:
            self._groups[value].pop(key)
            if not self._groups[value]:
                del self._groups[value]

    def group(self, value: object) -> list[T]:
        return list(self._groups.get(value, {}).values())


class Store(Generic[T]):
    """The objects of one collection."""

    def __init__(self, *, label: str | None = None) -> None:
        self._label = label
        self._objects: dict[Key, T] = {}
        self._by_owner = _Index[T]()
        self._by_label = _Index[T]()

    def __len__(self) -> int:
        return len(self._objects)

    def __iter__(self) -> Iterator[T]:
        """All objects as they are now; the store may change meanwhile."""
        return iter(list(self._objects.values()))

    def get(self, key: Key) -> T | None:
        return self._objects.get(key)

    def owned_by(self, namespace: str, uid: str) -> list[T]:
        """Objects of a namespace whose managing owner has this UID, whatever their labels say.

        An owner lives in the namespace of what it owns. A reference from another namespace is a
        claim that anybody can write, so it counts for nothing.
        """
        return self._by_owner.group((namespace, uid))

    def labelled(self, namespace: str, value: str) -> list[T]:
        """Objects of a namespace that carry the indexed label with this value."""
        return self._by_label.group((namespace, value))

    def put(self, item: T) -> T | None:
        """Store an object; what was there before is returned."""
        key = key_of(item.metadata)
        old = self.remove(key)
        self._objects[key] = item
        self._by_owner.add(key, item, _owner(item))
        self._by_label.add(key, item, self._mark(item))
        return old

    def remove(self, key: Key) -> T | None:
        """Forget an object; what was there is returned."""
        old = self._objects.pop(key, None)
        if old is not None:
            self._by_owner.discard(key, _owner(old))
            self._by_label.discard(key, self._mark(old))
        return old

    def _mark(self, item: T) -> tuple[str, str] | None:
        value = None if self._label is None else item.metadata.labels.get(self._label)
        return None if value is None else (item.metadata.namespace, value)


def _owner(item: HasMetadata) -> tuple[str, str] | None:
    uid = item.metadata.controller_uid
    return None if uid is None else (item.metadata.namespace, uid)
