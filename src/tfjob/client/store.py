"""A store of objects by namespace and name, indexed by owner, by one label, and by one property.

The cost of a lookup depends only on the number of objects it returns.
"""

from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

from tfjob.client.watch_codec import HasMetadata, Key, key_of

T = TypeVar("T", bound=HasMetadata)


class _Index(Generic[T]):
    """Objects grouped by one property. Empty groups are removed."""

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
    """The objects of one collection. `picks` chooses those that `picked` returns."""

    def __init__(
        self, *, label: str | None = None, picks: Callable[[T], bool] | None = None
    ) -> None:
        self._label = label
        self._picks = picks
        self.version = ""
        """The resource version up to which the store has every change."""
        self._objects: dict[Key, T] = {}
        self._by_owner = _Index[T]()
        self._by_label = _Index[T]()
        self._picked = _Index[T]()

    def __len__(self) -> int:
        return len(self._objects)

    def __iter__(self) -> Iterator[T]:
        """A copy of the current objects; the store may change during iteration."""
        return iter(list(self._objects.values()))

    def get(self, key: Key) -> T | None:
        return self._objects.get(key)

    def owned_by(self, namespace: str, uid: str) -> list[T]:
        """Objects of a namespace whose controller has this UID, the latest change last.

        An owner is in the namespace of its objects. References from other namespaces are ignored,
        because any user could write them.
        """
        return self._by_owner.group((namespace, uid))

    def labelled(self, namespace: str, value: str) -> list[T]:
        """Objects of a namespace whose indexed label has this value."""
        return self._by_label.group((namespace, value))

    def picked(self, namespace: str) -> list[T]:
        """Objects of a namespace that `picks` chooses."""
        return self._picked.group(namespace)

    def put(self, item: T) -> T | None:
        """Store an object and return the previous one."""
        key = key_of(item.metadata)
        old = self.remove(key)
        self._objects[key] = item
        self._by_owner.add(key, item, _owner(item))
        self._by_label.add(key, item, self._label_value(item))
        self._picked.add(key, item, self._place_if_picked(item))
        return old

    def remove(self, key: Key) -> T | None:
        """Remove an object and return it."""
        old = self._objects.pop(key, None)
        if old is not None:
            self._by_owner.discard(key, _owner(old))
            self._by_label.discard(key, self._label_value(old))
            self._picked.discard(key, self._place_if_picked(old))
        return old

    def _label_value(self, item: T) -> tuple[str, str] | None:
        value = None if self._label is None else item.metadata.labels.get(self._label)
        return None if value is None else (item.metadata.namespace, value)

    def _place_if_picked(self, item: T) -> str | None:
        is_picked = self._picks is not None and self._picks(item)
        return item.metadata.namespace if is_picked else None


def _owner(item: HasMetadata) -> tuple[str, str] | None:
    uid = item.metadata.controller_uid
    return None if uid is None else (item.metadata.namespace, uid)
