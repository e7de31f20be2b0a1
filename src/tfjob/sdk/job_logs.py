"""The log lines of a job's replicas: those that exist, or all until the job has finished.

A followed job may have no pods yet, and its replicas may be restarted. Every run of a container is
read exactly once.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from datetime import timedelta
from typing import Final

import msgspec

from tfjob.client.errors import ApiError, BadRequest, NotFound
from tfjob.client.http import Api
from tfjob.client.resource import PODS
from tfjob.core.invalid_job import InvalidJob
from tfjob.core.job import TRAINING_CONTAINER
from tfjob.k8s.pod import ContainerStatus, Phase, Pod
from tfjob.sdk import job_lookup, jobs
from tfjob.sdk.blocked_check import Check, ignore
from tfjob.sdk.connection import Cluster
from tfjob.sdk.errors import TFJobError
from tfjob.sdk.jobs import ClusterJob

_POLL_INTERVAL: Final = 0.5
_LINGER: Final = 2.0
"""Seconds to follow the log of a replica that still runs after the job has finished."""
_MAX_WAITING: Final = 10_000
"""Lines that are read ahead of a slow consumer."""


class LogLine(msgspec.Struct, frozen=True):
    replica: str
    text: str
    is_note: bool = False
    """A note of tfjob about the log, for instance that there is none."""

    def __str__(self) -> str:
        return f"[{self.replica}] {self.text}"


class LogOptions(msgspec.Struct, frozen=True, kw_only=True):
    replica: str | None = None
    container: str = TRAINING_CONTAINER
    tail: int | None = None
    since: timedelta | None = None
    previous: bool = False
    timestamps: bool = False

    def params(self, *, follow: bool) -> dict[str, str]:
        since = f"{max(int(self.since.total_seconds()), 1)}" if self.since else ""
        given = {
            "container": self.container,
            "follow": "true" if follow else "",
            "tailLines": "" if self.tail is None else str(self.tail),
            "sinceSeconds": since,
            "previous": "true" if self.previous else "",
            "timestamps": "true" if self.timestamps else "",
        }
        return {key: value for key, value in given.items() if value}


async def pods_with_logs(cluster: Cluster, found: ClusterJob, options: LogOptions) -> list[Pod]:
    """The pods whose logs are requested; TFJobError if there is none."""
    pods = await _chosen_pods(cluster, found, options)
    if not pods:
        _check_replica(found, options)
        wanted = options.replica or "any replica"
        raise TFJobError(
            f"{found.name}: no pod of {wanted} exists",
            remedy=f"`tfjob explain {found.name}` says why",
        )
    return pods


async def written(
    cluster: Cluster, found: ClusterJob, pods: Sequence[Pod], options: LogOptions
) -> AsyncGenerator[LogLine, None]:
    """The lines that these pods have written so far, one pod after the other."""
    for pod in pods:
        async for line in _lines(cluster, found, pod, options.params(follow=False)):
            yield line


async def followed(
    cluster: Cluster, found: ClusterJob, options: LogOptions, *, check: Check = ignore
) -> AsyncGenerator[LogLine, None]:
    """The lines of all pods as they are written, until the job has finished."""
    if options.replica and not await _chosen_pods(cluster, found, options):
        _check_replica(found, options)  # its log would be waited for without an end
    queue: asyncio.Queue[LogLine | None] = asyncio.Queue(_MAX_WAITING)
    reading = asyncio.create_task(_Readers(cluster, options, queue).run(found, check))
    try:
        while (line := await queue.get()) is not None:
            yield line
        await reading
    finally:
        reading.cancel()
        await asyncio.gather(reading, return_exceptions=True)


class _Readers:
    """One reader per run of a container, all writing to one queue; None ends it."""

    def __init__(
        self, cluster: Cluster, options: LogOptions, queue: asyncio.Queue[LogLine | None]
    ) -> None:
        self._cluster = cluster
        self._options = options
        self._queue = queue
        self._readers: dict[tuple[str, int], asyncio.Task[None]] = {}
        self._tried: set[tuple[str, int]] = set()

    async def run(self, found: ClusterJob, check: Check) -> None:
        try:
            await self._until_finished(found, check)
        except Exception:
            await self._queue.put(None)
            raise
        finally:
            for reader in self._readers.values():
                reader.cancel()
            await asyncio.gather(*self._readers.values(), return_exceptions=True)
        await self._queue.put(None)

    async def _until_finished(self, found: ClusterJob, check: Check) -> None:
        while True:
            # The state first: the pods of a finished job are complete.
            found = await job_lookup.refreshed(self._cluster, found)
            pods = await _chosen_pods(self._cluster, found, self._options)
            for pod in pods:
                self._read(found, pod)
            if found.status.is_finished:
                break
            await check(found)
            await asyncio.sleep(_POLL_INTERVAL)
        await self._last_lines(found)

    def _read(self, found: ClusterJob, pod: Pod) -> None:
        status = pod.status
        known = [*status.container_statuses, *status.init_container_statuses]
        statuses = [each for each in known if each.name == self._options.container]
        run = (pod.metadata.uid, sum(each.restart_count for each in statuses))
        is_early = not found.status.is_finished and any(map(_waits, statuses))
        if is_early and run in self._tried:
            return
        if status.container_statuses and run not in self._readers:
            # Also tried while it seems to wait: a short run may be over at the next poll.
            reading = self._try(found, pod, run) if is_early else self._enqueue(found, pod)
            self._readers[run] = asyncio.create_task(reading)

    async def _try(self, found: ClusterJob, pod: Pod, run: tuple[str, int]) -> None:
        """Read the log of a container that may not run yet; if it has none, retry when it runs."""
        has_begun = False
        async for line in _lines(self._cluster, found, pod, self._options.params(follow=True)):
            if line.is_note and not has_begun:
                del self._readers[run]
                self._tried.add(run)
                return
            has_begun = True
            await self._queue.put(line)

    async def _enqueue(self, found: ClusterJob, pod: Pod) -> None:
        async for line in _lines(self._cluster, found, pod, self._options.params(follow=True)):
            await self._queue.put(line)

    async def _last_lines(self, found: ClusterJob) -> None:
        """Wait for the logs of all replicas, except those that run on after the job."""
        while pending := {uid: task for (uid, _), task in self._readers.items() if not task.done()}:
            await asyncio.wait(pending.values(), timeout=_LINGER)
            for pod in await jobs.pods_of(self._cluster, found):
                runs_on = pod.phase is Phase.RUNNING and not pod.metadata.is_terminating
                if runs_on and pod.metadata.uid in pending:
                    pending[pod.metadata.uid].cancel()


def _check_replica(found: ClusterJob, options: LogOptions) -> None:
    """Raise if the job has no such replica; call it only if there is no pod of it."""
    if options.replica is None or isinstance(found.job, InvalidJob):
        return
    counts = {each.label.lower(): each.count for each in found.job.replicas}
    kind, _, index = options.replica.rpartition("-")
    if index.isdecimal() and int(index) < counts.get(kind, 0):
        return
    raise TFJobError(
        f"{found.title} has no replica {options.replica!r}",
        remedy=f"it has {jobs.replica_range(found) or 'none'}",
    )


def _waits(status: ContainerStatus) -> bool:
    """Whether the container waits for its first run. Before a later run it still has a log."""
    state = status.state
    return not (state.running or state.terminated or status.last_state.terminated)


async def _chosen_pods(cluster: Cluster, found: ClusterJob, options: LogOptions) -> list[Pod]:
    pods = await jobs.pods_of(cluster, found)
    return [pod for pod in pods if options.replica in {None, jobs.replica_name(found, pod)}]


async def _lines(
    cluster: Cluster, found: ClusterJob, pod: Pod, params: dict[str, str]
) -> AsyncGenerator[LogLine, None]:
    replica = jobs.replica_name(found, pod)
    try:
        async for text in log_lines(cluster.api, pod, params):
            yield LogLine(replica, text)
    except (BadRequest, NotFound) as error:
        yield LogLine(replica, f"(no log: {error.message})", is_note=True)
    except ApiError as error:
        yield LogLine(replica, f"(log ended: {error.message})", is_note=True)


async def log_lines(
    api: Api,
    pod: Pod,
    params: Mapping[str, str],
    *,
    on_progress: Callable[[str], None] | None = None,
) -> AsyncIterator[str]:
    """Yield the requested lines of one pod; raises ApiError if there is no log.

    Empty lines are included, and so is a last line without a line break. Bytes that are not UTF-8
    are replaced.

    `on_progress` gets the newest text of an unfinished line that is overwritten with carriage
    returns, as progress bars do.
    """
    path = PODS.item(pod.metadata.name, pod.metadata.namespace, subresource="log")
    rest = b""
    async with api.stream(path, params=params) as chunks:
        async for chunk in chunks:
            *lines, rest = (rest + chunk).split(b"\n")
            for line in lines:
                yield line.decode(errors="replace")
            if on_progress is not None and b"\r" in rest:
                on_progress(rest.decode(errors="replace"))
    if rest:
        yield rest.decode(errors="replace")
