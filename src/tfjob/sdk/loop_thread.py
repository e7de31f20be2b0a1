"""An event loop in a thread of its own, for callers that have none or whose own loop is running.

All API clients of a process live on this loop, so that a notebook, a plain script and a coroutine
can use the same job.
"""

import asyncio
import os
import threading
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterator
from concurrent.futures import Future
from contextlib import aclosing
from typing import Any, Final, Generic, TypeVar

T = TypeVar("T")
_BATCH: Final = 1000
_LOCK: Final = threading.Lock()
_THREADS: Final[dict[int, "LoopThread"]] = {}


class LoopThread:
    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        thread = threading.Thread(target=self._loop.run_forever, name="tfjob", daemon=True)
        thread.start()

    def start(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        return asyncio.run_coroutine_threadsafe(_with_readable_errors(work), self._loop)

    def call(self, work: Coroutine[Any, Any, T]) -> T:
        """The result, for a caller that may block."""
        future = self.start(work)
        try:
            return future.result()
        except BaseException:
            future.cancel()  # the caller was interrupted
            raise

    async def awaited(self, work: Coroutine[Any, Any, T]) -> T:
        """The result, for a caller on another loop."""
        return await asyncio.wrap_future(self.start(work))

    def iterate(self, make: Callable[[], AsyncGenerator[T, None]]) -> Iterator[T]:
        """The items as they come. They cross the threads in batches: one by one is slow."""
        reader: _BatchReader[T] = _BatchReader(make)
        try:
            while batch := self.call(reader.next()):
                yield from batch
        finally:
            self.start(reader.close())  # not waited for: the interpreter may be ending

    async def aiterate(
        self, make: Callable[[], AsyncGenerator[T, None]]
    ) -> AsyncGenerator[T, None]:
        reader: _BatchReader[T] = _BatchReader(make)
        try:
            while batch := await self.awaited(reader.next()):
                for each in batch:
                    yield each
        finally:
            self.start(reader.close())


def loop_thread() -> LoopThread:
    """The loop of this process; a forked child gets its own, because threads do not fork."""
    with _LOCK:
        return _THREADS.get(os.getpid()) or _THREADS.setdefault(os.getpid(), LoopThread())


class _BatchReader(Generic[T]):
    """Reads an async generator ahead, within bounds; all methods run on the loop."""

    def __init__(self, make: Callable[[], AsyncGenerator[T, None]]) -> None:
        self._make = make
        self._queue: asyncio.Queue[tuple[T] | None] = asyncio.Queue(_BATCH)
        self._filling: asyncio.Task[None] | None = None

    async def next(self) -> list[T]:
        """At least one item; none at the end."""
        if self._filling is None:
            self._filling = asyncio.create_task(self._fill())
        batch: list[T] = []
        found = await self._queue.get()
        while found is not None:
            batch.append(found[0])
            if self._queue.empty():
                return batch
            found = self._queue.get_nowait()
        if batch:
            self._queue.put_nowait(None)  # for the next call, which ends
        else:
            await self._filling  # raises its error
        return batch

    async def close(self) -> None:
        if self._filling is not None:
            self._filling.cancel()
            await asyncio.gather(self._filling, return_exceptions=True)

    async def _fill(self) -> None:
        try:
            async with aclosing(self._make()) as items:
                async for each in items:
                    await self._queue.put((each,))
        except Exception:
            await self._queue.put(None)
            raise
        await self._queue.put(None)


async def _with_readable_errors(work: Coroutine[Any, Any, T]) -> T:
    try:
        return await work
    except Exception as error:
        from tfjob.sdk.connection import readable  # noqa: PLC0415 - slow to import

        found = readable(error)
        if found is error:
            raise
        raise found from error
