"""Supervision of background tasks: a task that ends unexpectedly raises an error that names it.

An unexpected return is an error, and so is a cancellation that the task itself raises. Errors that
no task awaits, such as those of timers, are raised by a task that waits for them.
"""

import asyncio
import traceback
from collections.abc import Awaitable, Callable
from typing import Any


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


async def unawaited_errors() -> None:
    """Wait for an error of this package that nobody awaits, and raise it.

    Timers and callbacks raise such errors. Those of other packages, such as an HTTP server whose
    client misbehaves, are only logged, as asyncio does by default.
    """
    loop = asyncio.get_running_loop()
    before = loop.get_exception_handler()
    raised: asyncio.Future[None] = loop.create_future()

    def handle(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        error = context.get("exception")
        if isinstance(error, Exception) and _is_ours(error) and not raised.done():
            raised.set_exception(error)
        else:
            loop.default_exception_handler(context)

    loop.set_exception_handler(handle)
    try:
        await raised
    finally:
        loop.set_exception_handler(before)


def _is_ours(error: Exception) -> bool:
    root = __name__.partition(".")[0]
    frames = (frame for frame, _ in traceback.walk_tb(error.__traceback__))
    return any(str(frame.f_globals.get("__name__")).startswith(f"{root}.") for frame in frames)
