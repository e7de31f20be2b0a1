"""Bounded parallel work, shared fairly between those who ask.

At most `limit` pieces run at once. When a place becomes free it goes to the next tenant in turn,
and to the next key of that tenant. A piece waits for a few places, not for the thousands of pieces
of another key nor for the thousands of keys of another tenant. No key has more than its share of
the places, so that a piece of another one rarely waits at all.
"""

import asyncio
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Hashable, Iterator
from contextlib import suppress
from typing import NamedTuple, TypeVar

R = TypeVar("R")
_Turns = deque[asyncio.Future[None]]


class _Lane(NamedTuple):
    tenant: Hashable
    key: Hashable


class FairSemaphore:
    """Places for work; `run` waits for one and gives it back."""

    def __init__(self, limit: int, *, share: int | None = None) -> None:
        if limit < 1:
            raise ValueError(f"a pool needs at least 1 place, got {limit}")
        self._free = limit
        self._share = share or limit
        self._taken = Counter[_Lane]()
        # Both in the order of their turn; a lane is here exactly while it has somebody waiting.
        self._waiting: dict[Hashable, dict[_Lane, _Turns]] = {}
        self._calm = asyncio.Event()
        self._calm.set()

    @property
    def waiting(self) -> int:
        """Pieces that wait for a place."""
        return sum(len(turns) for lanes in self._waiting.values() for turns in lanes.values())

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

    async def run(
        self, key: Hashable, work: Callable[[], Awaitable[R]], *, tenant: Hashable = None
    ) -> R:
        """The result of the work, which starts when it is its tenant's and its key's turn."""
        lane = _Lane(tenant, key)
        await self._enter(lane)
        try:
            return await work()
        finally:
            self._leave(lane)

    async def _enter(self, lane: _Lane) -> None:
        if self._free and self._taken[lane] < self._share:
            self._take(lane)
            return
        turn = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(lane.tenant, {}).setdefault(lane, deque()).append(turn)
        self._calm.clear()
        try:
            await turn
        except asyncio.CancelledError:
            if turn.cancelled():
                self._withdraw(lane, turn)
            else:
                self._leave(lane)
            raise

    def _withdraw(self, lane: _Lane, turn: asyncio.Future[None]) -> None:
        """Nobody waits here any more; the turn may have been passed over already."""
        lanes = self._waiting.get(lane.tenant, {})
        turns = lanes.get(lane, deque())
        if turn in turns:
            turns.remove(turn)
        if not turns:
            lanes.pop(lane, None)
        if not lanes:
            self._waiting.pop(lane.tenant, None)
            self._note_calm()

    def _take(self, lane: _Lane) -> None:
        self._free -= 1
        self._taken[lane] += 1

    def _leave(self, lane: _Lane) -> None:
        self._free += 1
        self._taken[lane] -= 1
        if not self._taken[lane]:
            del self._taken[lane]
        while self._free and self._hand_on():
            pass

    def _hand_on(self) -> bool:
        """Hand a place to the lane whose turn it is; its tenant and it go to the end."""
        lane = next(self._in_turn(), None)
        if lane is None:
            return False
        lanes = self._waiting.pop(lane.tenant)
        turns = lanes.pop(lane)
        turn = turns.popleft()
        if turns:
            lanes[lane] = turns
        if lanes:
            self._waiting[lane.tenant] = lanes
        self._note_calm()
        if not turn.done():
            self._take(lane)
            turn.set_result(None)
        return True

    def _in_turn(self) -> Iterator[_Lane]:
        """Lanes below their share; only a few can be at it, so few are passed over."""
        return (
            lane
            for lanes in self._waiting.values()
            for lane in lanes
            if self._taken[lane] < self._share
        )

    def _note_calm(self) -> None:
        if not self._waiting:
            self._calm.set()
