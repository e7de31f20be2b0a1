"""A semaphore that is shared fairly between tenants and their keys.

At most `limit` calls run at once. A free slot goes to the next tenant in turn, and to the next key
of that tenant. So a call does not wait for the thousands of calls of another key, nor for the
thousands of keys of another tenant. No key holds more than its share of the slots.
"""

import asyncio
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Hashable, Iterator
from contextlib import suppress
from typing import NamedTuple, TypeVar

R = TypeVar("R")
_Waiters = deque[asyncio.Future[None]]


class _Lane(NamedTuple):
    tenant: Hashable
    key: Hashable


class FairSemaphore:
    """`run` waits for a slot, runs the work and frees the slot."""

    def __init__(self, limit: int, *, share: int | None = None) -> None:
        if limit < 1:
            raise ValueError(f"a semaphore needs at least 1 slot, got {limit}")
        self._free = limit
        self._share = share or limit
        self._taken = Counter[_Lane]()
        # Tenants and lanes are in the order of their turn; lanes without waiters are removed.
        self._waiting: dict[Hashable, dict[_Lane, _Waiters]] = {}
        self._idle = asyncio.Event()
        self._idle.set()

    @property
    def waiting(self) -> int:
        """How many calls wait for a slot."""
        return sum(len(waiters) for lanes in self._waiting.values() for waiters in lanes.values())

    @property
    def is_idle(self) -> bool:
        """Whether no call waits for a slot."""
        return self._idle.is_set()

    async def wait_until_idle(self, *, within: float) -> None:
        """Wait until no call waits for a slot, for at most `within` seconds."""
        if self.is_idle:
            return
        with suppress(TimeoutError):  # The caller proceeds after the timeout.
            async with asyncio.timeout(within):
                await self._idle.wait()

    async def run(
        self, key: Hashable, work: Callable[[], Awaitable[R]], *, tenant: Hashable = None
    ) -> R:
        """Run the work when its tenant and key have their turn, and return its result."""
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
        waiter = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(lane.tenant, {}).setdefault(lane, deque()).append(waiter)
        self._idle.clear()
        try:
            await waiter
        except asyncio.CancelledError:
            if waiter.cancelled():
                self._withdraw(lane, waiter)
            else:
                self._leave(lane)
            raise

    def _withdraw(self, lane: _Lane, waiter: asyncio.Future[None]) -> None:
        """Remove a cancelled waiter, which may have been removed already."""
        lanes = self._waiting.get(lane.tenant, {})
        waiters = lanes.get(lane, deque())
        if waiter in waiters:
            waiters.remove(waiter)
        if not waiters:
            lanes.pop(lane, None)
        if not lanes:
            self._waiting.pop(lane.tenant, None)
            self._check_idle()

    def _take(self, lane: _Lane) -> None:
        self._free -= 1
        self._taken[lane] += 1

    def _leave(self, lane: _Lane) -> None:
        self._free += 1
        self._taken[lane] -= 1
        if not self._taken[lane]:
            del self._taken[lane]
        while self._free and self._grant_next():
            pass

    def _grant_next(self) -> bool:
        """Grant a slot to the next eligible lane, and move it and its tenant to the end."""
        lane = next(self._eligible(), None)
        if lane is None:
            return False
        lanes = self._waiting.pop(lane.tenant)
        waiters = lanes.pop(lane)
        waiter = waiters.popleft()
        if waiters:
            lanes[lane] = waiters
        if lanes:
            self._waiting[lane.tenant] = lanes
        self._check_idle()
        if not waiter.done():
            self._take(lane)
            waiter.set_result(None)
        return True

    def _eligible(self) -> Iterator[_Lane]:
        """Lanes below their share. Few lanes can be at their share, so few are skipped."""
        return (
            lane
            for lanes in self._waiting.values()
            for lane in lanes
            if self._taken[lane] < self._share
        )

    def _check_idle(self) -> None:
        if not self._waiting:
            self._idle.set()
