"""A job on a cluster: what can be done with it, as coroutines.

They run on the loop of the API client. What callers see, blocking or not, is built on them.
"""

from collections.abc import AsyncGenerator
from contextlib import suppress

from tfjob.client.errors import Forbidden, NotFound
from tfjob.core.status import ConditionType
from tfjob.sdk import (
    job_changes,
    job_logs,
    job_lookup,
    restarting,
    waiting,
)
from tfjob.sdk.blocked_check import BlockedCheck, Check, ignore
from tfjob.sdk.condition_text import condition_text
from tfjob.sdk.connection import Cluster
from tfjob.sdk.errors import JobFailedError, TFJobError
from tfjob.sdk.explanation import explain
from tfjob.sdk.job_logs import LogLine, LogOptions
from tfjob.sdk.job_state import Reason, Status
from tfjob.sdk.jobs import ClusterJob
from tfjob.sdk.waiting import State


class BoundJob:
    def __init__(self, cluster: Cluster, found: ClusterJob, *, is_local: bool = False) -> None:
        self._cluster = Cluster(api=cluster.api, namespace=found.namespace)
        self.found = found
        self._is_local = is_local

    async def refresh(self) -> ClusterJob:
        self.found = await job_lookup.refreshed(self._cluster, self.found)
        return self.found

    @property
    def known_status(self) -> Status:
        """The state as last read."""
        return Status.of(self.found)

    async def status(self) -> Status:
        return Status.of(await self.refresh())

    async def wait(self, state: State, limit: float | None) -> Status:
        self.found = await waiting.until(
            self._cluster, await self.refresh(), state, limit=limit, check=self._check()
        )
        if self.found.status.is_true(ConditionType.FAILED):
            raise await self._failure()
        return Status.of(self.found)

    async def _failure(self) -> JobFailedError:
        try:
            reason = await self.explain()
        except Forbidden:  # events or pods, which tell more than the job itself
            failed = self.found.status.condition(ConditionType.FAILED)
            text = "has failed" if failed is None else condition_text(self.found, failed)
            return JobFailedError(f"{self.found.title}: {text}")
        return JobFailedError(f"{self.found.title}: {reason.sentence}", remedy=reason.remedy)

    async def explain(self) -> Reason:
        told, _ = await explain(self._cluster, await self.refresh())
        return Reason.of(self.found, told)

    async def logs(
        self, *, follow: bool, replica: str | None, tail: int | None
    ) -> AsyncGenerator[LogLine, None]:
        options = LogOptions(replica=replica, tail=tail)
        found = await self.refresh()
        if follow:
            lines = job_logs.followed(self._cluster, found, options, check=self._check())
        else:
            pods = await job_logs.pods_with_logs(self._cluster, found, options)
            lines = job_logs.written(self._cluster, found, pods, options)
        try:
            async for line in lines:
                yield line
        finally:
            await lines.aclose()

    def _check(self) -> Check:
        return BlockedCheck(self._cluster) if self._is_local else ignore

    async def set_suspended(self, *, is_suspended: bool) -> None:
        found = await self.refresh()
        await job_changes.set_suspended(self._cluster, found, is_suspended=is_suspended)

    async def scale(self, workers: int) -> None:
        await job_changes.scale(self._cluster, await self.refresh(), workers)

    async def restart(self, replica: str | None) -> None:
        found = await self.refresh()
        if replica:
            await restarting.restart_replica(self._cluster, found, replica)
        else:
            await restarting.restart_all(self._cluster, found)

    async def delete(self) -> None:
        await job_changes.delete(self._cluster, self.found)

    async def delete_if_there(self) -> None:
        with suppress(NotFound, TFJobError):
            await job_changes.delete(self._cluster, self.found)
