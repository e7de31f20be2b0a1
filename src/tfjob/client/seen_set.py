"""Remembers which of very many things were seen lately, in little memory.

Of each thing only a number that follows from it is kept, in a table whose size does not change:
some 20 bytes for each of the latest `size` things, which are always known. Never more than twice as
many are kept; what is seen again counts as late. Two things that share a number are taken for one,
which among 64-bit numbers need not be expected.
"""

from array import array
from collections.abc import Hashable
from typing import Final

_FREE: Final = 0


class SeenSet:
    """Two generations: when the young one is full it becomes the old one, which is forgotten."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._young = _Numbers(size)
        self._old = _Numbers(0)

    def __len__(self) -> int:
        """How many are kept; one that is in both generations counts twice."""
        return self._young.count + self._old.count

    def add(self, thing: Hashable) -> None:
        if self._young.count >= self._size:
            self._old, self._young = self._young, _Numbers(self._size)
        self._young.add(_number(thing))

    def saw(self, thing: Hashable) -> bool:
        """Whether it was seen lately; if so, it is seen now."""
        number = _number(thing)
        if number in self._young:
            return True
        if number not in self._old:
            return False
        self.add(thing)
        return True


class _Numbers:
    """At most `most` numbers, in a hash table with open addressing that is at most half full."""

    def __init__(self, most: int) -> None:
        places = 2 << most.bit_length()
        self._mask = places - 1
        self._table = array("q", bytes(8 * places))
        self.count = 0

    def __contains__(self, number: int) -> bool:
        return self._table[self._place(number)] == number

    def add(self, number: int) -> None:
        place = self._place(number)
        self.count += self._table[place] == _FREE
        self._table[place] = number

    def _place(self, number: int) -> int:
        """Where the number is, or where it belongs."""
        table, place = self._table, number & self._mask
        while table[place] not in (_FREE, number):
            place = (place + 1) & self._mask
        return place


def _number(thing: Hashable) -> int:
    return hash(thing) or 1
