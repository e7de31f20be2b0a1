"""Objects by namespace and name, found also by their owner and by one label.

A plain container: what it holds is what it was last told. Lookups cost what they return, however
many other objects there are.
"""

from collections.abc import Iterator
from typing import Generic, TypeVar

from tfjob.client.wire import HasMetadata, Key, key_of

T = TypeVar("T", bound=HasMetadata)


class _Index(Generic[T]):
    """Objects grouped by one property; an empty group takes no room."""

    def __init__(self) -> None:
        self._groups: dict[object, dict[Key, T]] = {}

    def move(self, key: Key, *, out_of: object, into: object, item: T | None) -> None:
        if out_of is not None and (out_of != into or item is None):
            group = self._groups.get(out_of, {})
            group.pop(key, None)
            if not group:
                self._groups.pop(out_of, None)
        if into is not None and item is not None:
            self._groups.setdefault(into, {})[key] = item

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

    def owned_by(self, uid: str) -> list[T]:
        """Objects whose managing owner has this UID, whatever their labels say."""
        return self._by_owner.group(uid)

    def labelled(self, namespace: str, value: str) -> list[T]:
        """Objects of a namespace that carry the indexed label with this value."""
        return self._by_label.group((namespace, value))

    def put(self, item: T) -> T | None:
        """Store an object; what was there before is returned."""
        key = key_of(item.metadata)
        old = self._objects.get(key)
        self._objects[key] = item
        self._reindex(key, old, item)
        return old

    def remove(self, key: Key) -> T | None:
        """Forget an object; what was there is returned."""
        old = self._objects.pop(key, None)
        if old is not None:
            self._reindex(key, old, None)
        return old

    def _reindex(self, key: Key, old: T | None, new: T | None) -> None:
        self._by_owner.move(key, out_of=_owner(old), into=_owner(new), item=new)
        self._by_label.move(key, out_of=self._mark(old), into=self._mark(new), item=new)

    def _mark(self, item: T | None) -> tuple[str, str] | None:
        if item is None or self._label is None:
            return None
        value = item.metadata.labels.get(self._label)
        return None if value is None else (item.metadata.namespace, value)


def _owner(item: HasMetadata | None) -> str | None:
    return None if item is None else item.metadata.controller_uid
