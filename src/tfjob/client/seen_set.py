"""A bounded set of recently seen items that stores only their hashes.

The latest `size` items are always known, and at most twice as many are kept. Seeing an item again
makes it recent. Two items with the same 64-bit hash count as one, which is very unlikely.
"""

from collections.abc import Hashable


class SeenSet:
    """Two generations: when the young one is full, it replaces the old one."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._young: set[int] = set()
        self._old: set[int] = set()

    def __len__(self) -> int:
        return len(self._young | self._old)

    def add(self, thing: Hashable) -> None:
        if len(self._young) >= self._size:
            self._old, self._young = self._young, set()
        self._young.add(hash(thing))

    def saw(self, thing: Hashable) -> bool:
        """Whether the item was seen recently; if so, it becomes recent again."""
        number = hash(thing)
        if number not in self._young and number not in self._old:
            return False
        if number not in self._young:
            self.add(thing)
        return True
