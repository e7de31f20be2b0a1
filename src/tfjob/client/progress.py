"""How far a cache has come, and who waits for it to come further.

Versions are opaque by contract and whole numbers in practice. Numbers are compared; for anything
else only the very version that is waited for will do.
"""

import asyncio
import heapq
from itertools import count
from typing import Final

_MOST_DIGITS: Final = 20
"""A version is a number of 64 bits."""


def number(version: str) -> int | None:
    """The version as a number, if it is one."""
    is_number = version.isascii() and version.isdigit() and len(version) <= _MOST_DIGITS
    return int(version) if is_number else None


def is_older(version: str, than: str) -> bool:
    """Whether a version is surely older than another one."""
    ours, theirs = number(version), number(than)
    return ours is not None and theirs is not None and ours < theirs


class Progress:
    """The last version seen of a collection, and those who wait for a later one."""

    def __init__(self) -> None:
        self.version = ""
        self._numbered: list[tuple[int, int, asyncio.Future[None]]] = []
        self._exact: dict[str, list[asyncio.Future[None]]] = {}
        self._order = count()

    def advance(self, version: str) -> None:
        """Everything up to this version has been seen."""
        self.version = version
        for future in self._exact.pop(version, ()):
            _wake(future)
        reached = number(version)
        while reached is not None and self._numbered and self._numbered[0][0] <= reached:
            _wake(heapq.heappop(self._numbered)[2])

    def reaches(self, version: str) -> bool:
        """Whether what was written as this version has been seen."""
        seen, wanted = number(self.version), number(version)
        if seen is None or wanted is None:
            return self.version == version
        return seen >= wanted

    async def reach(self, version: str) -> None:
        """Return when this version has been seen."""
        if self.reaches(version):
            return
        future = asyncio.get_running_loop().create_future()
        wanted = number(version)
        if wanted is None:
            self._exact.setdefault(version, []).append(future)
        else:
            heapq.heappush(self._numbered, (wanted, next(self._order), future))
        await future


def _wake(future: asyncio.Future[None]) -> None:
    """A waiter that was cancelled meanwhile needs no word."""
    if not future.done():
        future.set_result(None)
