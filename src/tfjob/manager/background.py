"""Supervision of background tasks: a task that ends unexpectedly raises an error that names it.

An unexpected return is an error, and so is a cancellation that the task itself raises.
"""

import asyncio
from collections.abc import Awaitable, Callable


class TaskEndedError(RuntimeError):
    """A background task ended before the operator stopped."""


async def supervised(
    work: Callable[[], Awaitable[None]],
    *,
    name: str,
    may_end: Callable[[], bool] = lambda: False,
) -> None:
    """Run the work, which may return only if `may_end` is true. Errors get the name as a note."""
    try:
        await work()
    except asyncio.CancelledError:
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            raise
        raise TaskEndedError(f"background task {name}: it cancelled itself") from None
    except Exception as error:
        error.add_note(f"background task: {name}")
        raise
    if not may_end():
        raise TaskEndedError(f"background task {name}: it ended unexpectedly")
