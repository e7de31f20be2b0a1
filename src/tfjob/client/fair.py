"""Bounded parallel work, shared fairly between those who ask.

At most `limit` pieces run at once. When a place becomes free it goes to the next key in turn, so
that a key with one piece waits for a few places, not for the thousands of pieces of another key.
No key has more than its share of the places, so that a piece of another one rarely waits at all.
"""

import asyncio
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Hashable
from contextlib import suppress
from typing import TypeVar

R = TypeVar("R")


class FairPool:
    """Places for work; `run` waits for one and gives it back."""

    def __init__(self, limit: int, *, share: int | None = None) -> None:
        if limit < 1:
            raise ValueError(f"a pool needs at least 1 place, got {limit}")
        self._free = limit
        self._share = share or limit
        self._taken = Counter[Hashable]()
        # In the order of their turn; a key is here exactly while it has somebody waiting.
        self._waiting: dict[Hashable, deque[asyncio.Future[None]]] = {}
        self._calm = asyncio.Event()
        self._calm.set()

    @property
    def waiting(self) -> int:
        """Pieces that wait for a place."""
        return sum(len(queue) for queue in self._waiting.values())

    @property
    def is_calm(self) -> bool:
        """Nobody waits for a place."""
        return self._calm.is_set()

    async def calm(self, *, within: float) -> None:
        """Return when nobody waits for a place, or after so many seconds."""
        if self.is_calm:
            return
        with suppress(TimeoutError):  # Who has waited long enough goes on.
            async with asyncio.timeout(within):
                await self._calm.wait()

    async def run(self, key: Hashable, work: Callable[[], Awaitable[R]]) -> R:
        """The result of the work, which starts when it is this key's turn."""
        await self._enter(key)
        try:
            return await work()
        finally:
            self._leave(key)

    async def _enter(self, key: Hashable) -> None:
        if self._free and self._taken[key] < self._share:
            self._take(key)
            return
        turn = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(key, deque()).append(turn)
        self._calm.clear()
        try:
            await turn
        except asyncio.CancelledError:
            if turn.cancelled():
                self._withdraw(key, turn)
            else:
                self._leave(key)
            raise

    def _withdraw(self, key: Hashable, turn: asyncio.Future[None]) -> None:
        """Nobody waits here any more; the turn may have been passed over already."""
        queue = self._waiting.get(key, deque())
        if turn in queue:
            queue.remove(turn)
        if not queue:
            self._waiting.pop(key, None)
            self._note_calm()

    def _take(self, key: Hashable) -> None:
        self._free -= 1
        self._taken[key] += 1

    def _leave(self, key: Hashable) -> None:
        self._free += 1
        self._taken[key] -= 1
        if not self._taken[key]:
            del self._taken[key]
        while self._free and self._hand_on():
            pass

    def _hand_on(self) -> bool:
        """Hand a place to the key whose turn it is, and send that key to the end."""
        key = next((each for each in self._waiting if self._taken[each] < self._share), None)
        if key is None:
            return False
        queue = self._waiting.pop(key)
        turn = queue.popleft()
        if queue:
            self._waiting[key] = queue
        self._note_calm()
        if not turn.done():
            self._take(key)
            turn.set_result(None)
        return True

    def _note_calm(self) -> None:
        if not self._waiting:
            self._calm.set()
