"""Remembers which of very many things were seen lately, in little memory.

Of each thing only a number that follows from it is kept. The latest `size` things are always known
and never more than twice as many are kept; what is seen again counts as late. Two things that share
a number are taken for one, which among 64-bit numbers need not be expected.
"""

from collections.abc import Hashable


class SeenSet:
    """Two generations: when the young one is full it becomes the old one, which is forgotten."""

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
        """Whether it was seen lately; if so, it is seen now."""
        number = hash(thing)
        if number not in self._young and number not in self._old:
            return False
        if number not in self._young:
            self.add(thing)
        return True
