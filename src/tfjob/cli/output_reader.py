"""Ends a command that waits for something to print once nobody reads its output any more.

Without it `tfjob get -w | head -1` would stay until the next job changes. Only pipes are observed:
a terminal or a socket becomes readable for other reasons.
"""

import asyncio
import os
import stat
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


@asynccontextmanager
async def ended_with_reader() -> AsyncIterator[None]:
    """Raise BrokenPipeError in the block when the reader of stdout is gone."""
    pipe, task = _pipe(), asyncio.current_task()
    if pipe is None or task is None:
        yield
        return
    loop = asyncio.get_running_loop()
    is_gone = False

    def end() -> None:
        nonlocal is_gone
        is_gone = True
        loop.remove_reader(pipe)
        task.cancel()

    loop.add_reader(pipe, end)  # the writing end of a pipe is never readable, it only fails
    try:
        yield
    except asyncio.CancelledError:
        if not is_gone:
            raise
        task.uncancel()
        raise BrokenPipeError from None
    finally:
        loop.remove_reader(pipe)


def _pipe() -> int | None:
    """The descriptor of stdout if it is a pipe."""
    try:
        number = sys.stdout.fileno()
        is_pipe = stat.S_ISFIFO(os.fstat(number).st_mode)
    except (OSError, ValueError):  # closed, or replaced by an object without a descriptor
        return None
    return number if is_pipe else None
