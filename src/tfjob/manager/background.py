"""Background tasks that never end in silence.

A task that is to run until the operator stops either runs or fails with an error that names it: an
end that nobody asked for is an error too, and so is a cancellation that comes from within.
"""

import asyncio
from collections.abc import Awaitable, Callable


class TaskEndedError(RuntimeError):
    """A background task ended although nobody stopped it."""


async def supervised(
    work: Callable[[], Awaitable[None]],
    *,
    name: str,
    may_end: Callable[[], bool] = lambda: False,
) -> None:
    """Run the work; it may return only when `may_end` says so. The name is noted on its error."""
    try:
        await work()
    except asyncio.CancelledError:
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            raise
        raise TaskEndedError(f"background task {name}: cancelled from within") from None
    except Exception as error:
        error.add_note(f"background task: {name}")
        raise
    if not may_end():
        raise TaskEndedError(f"background task {name}: ended although nobody stopped it")
