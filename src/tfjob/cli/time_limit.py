"""Says when `--timeout` ends a job, or the following of it, and once more shortly before."""

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Final

from tfjob.cli.run_output import Screen
from tfjob.k8s import time

LAST_CALL: Final = 60.0
"""Seconds before the end at which it is said again."""
_LONGEST: Final = 10 * 365 * 86400.0
"""Nobody waits longer; a later end may be no valid date."""


async def announce(screen: Screen, what: str, limit: float) -> None:
    """`what` is what happens after `limit` seconds, such as `j is ended`."""
    end = time.add(datetime.now(UTC), timedelta(seconds=min(limit, _LONGEST)))
    screen.message(f"{what} at {end.astimezone():%Y-%m-%d %H:%M:%S} (--timeout)")
    if limit > LAST_CALL:
        await asyncio.sleep(limit - LAST_CALL)
        screen.message(f"{what} in {LAST_CALL:.0f} s (--timeout)")
