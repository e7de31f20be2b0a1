"""Waits until a job runs or has finished."""

import asyncio
from typing import Final, Literal, get_args

from tfjob.core.diagnosis.causes import BLOCKING
from tfjob.core.status import ConditionType
from tfjob.sdk import job_lookup
from tfjob.sdk.blocked_check import Check, ignore
from tfjob.sdk.connection import Cluster
from tfjob.sdk.errors import JobTimeoutError, TFJobError
from tfjob.sdk.jobs import ClusterJob

State = Literal["finished", "running"]
_POLL_INTERVAL: Final = 0.5


async def until(
    cluster: Cluster,
    found: ClusterJob,
    state: State,
    *,
    limit: float | None = None,
    check: Check = ignore,
) -> ClusterJob:
    """Wait until the job is in this state or has finished; returns it as last read."""
    if state not in get_args(State):
        raise TFJobError(
            f"state={state!r}: no such state to wait for",
            remedy=f"use one of {', '.join(get_args(State))}",
        )
    try:
        async with asyncio.timeout(limit):
            while not _is_reached(found, state):
                await check(found)
                await asyncio.sleep(_POLL_INTERVAL)
                found = await job_lookup.refreshed(cluster, found)
    except TimeoutError:
        late = f"{found.name} is not {state} after {limit:g} s"
        raise JobTimeoutError(f"{late}{_why(found)}") from None
    return found


def _is_reached(found: ClusterJob, state: State) -> bool:
    runs = state == "running" and found.status.is_true(ConditionType.RUNNING)
    return runs or found.status.is_finished


def _why(found: ClusterJob) -> str:
    """What keeps the job from running, if its status shows that."""
    why = found.status.diagnosis
    return "" if why is None or why.cause not in BLOCKING else f": {why.message}"
