"""A set of recently seen items in a table of fixed size: it never grows, however many are added.

Only the hashes are stored, 8 bytes each. Two items with the same 64-bit hash count as one, which is
very unlikely. A full row of the table forgets the item that was seen longest ago.
"""

from array import array
from collections.abc import Hashable
from typing import Final

_WIDTH: Final = 16
"""Items in a row. The wider the rows, the fewer recent items are forgotten before older ones."""
_EMPTY: Final = 0


class SeenSet:
    """Remembers about `size` items; at most 16 are remembered exactly in the order of their use."""

    def __init__(self, size: int) -> None:
        self._width = min(size, _WIDTH)
        self._rows = -(-size // self._width)
        self._table = array("q", bytes(8 * self._rows * self._width))

    def add(self, thing: Hashable) -> None:
        """Remember an item as the latest one."""
        number = _number(thing)
        row = self._row(number)
        kept = self._table[row]
        if number in kept:
            kept.remove(number)
        else:
            del kept[0]
        kept.append(number)
        self._table[row] = kept

    def saw(self, thing: Hashable) -> bool:
        """Whether the item was seen recently; if so, it becomes the latest one again."""
        number = _number(thing)
        if number not in self._table[self._row(number)]:
            return False
        self.add(thing)
        return True

    def _row(self, number: int) -> slice:
        start = number % self._rows * self._width
        return slice(start, start + self._width)


def _number(thing: Hashable) -> int:
    return hash(thing) or ~_EMPTY
