"""The recent activity of a running job's replicas: the time of their last output, and their CPU.

Logs and metrics are read with the caller's permissions; what cannot be read is left out. A job
counts as stalled only if both are known for all its running replicas.
"""

import asyncio
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final

import msgspec

from tfjob.client.errors import ApiError
from tfjob.client.http import Api
from tfjob.core.diagnosis.causes import CATALOGUE, Cause
from tfjob.core.diagnosis.diagnosis import Diagnosis, fitted
from tfjob.core.job import TRAINING_CONTAINER
from tfjob.k8s import time
from tfjob.k8s.pod import Phase, Pod
from tfjob.k8s.quantity import Quantity
from tfjob.sdk import jobs
from tfjob.sdk.connection import Cluster
from tfjob.sdk.job_logs import log_lines
from tfjob.sdk.jobs import ClusterJob
from tfjob.sdk.pod_usage import usage_by_pod

_STALLED_AFTER: Final = timedelta(minutes=10)
_MILLI: Final = 1_000_000
_IDLE_CPU: Final = Quantity(10 * _MILLI)
"""One hundredth of a CPU."""
_MOST: Final = 50
"""Replicas whose logs are read."""


class ReplicaActivity(msgspec.Struct, frozen=True):
    replica: str
    last_output: datetime | None = None
    """None if the log is empty or cannot be read."""
    cpu: Quantity | None = None

    def text(self, now: datetime) -> str:
        output = "no output known"
        if self.last_output is not None:
            output = f"last output {time.age(self.last_output, now)} ago"
        cpu = "" if self.cpu is None else f", CPU {_in_millicores(self.cpu)}"
        return f"{self.replica}: {output}{cpu}"


def _in_millicores(cpu: Quantity) -> str:
    return f"{cpu.nano // _MILLI}m"


async def activity_of(
    cluster: Cluster, found: ClusterJob, pods: Sequence[Pod]
) -> Sequence[ReplicaActivity]:
    """The activity of the running replicas, sorted; of a very large job, only of some."""
    running = _running(pods)[:_MOST]
    cpu = await _cpu_by_pod(cluster, found)
    moments = await asyncio.gather(*(_last_output(cluster.api, pod) for pod in running))
    rows = [
        ReplicaActivity(jobs.replica_name(found, pod), moment, cpu.get(pod.metadata.name))
        for pod, moment in zip(running, moments, strict=True)
    ]
    return sorted(rows, key=lambda row: row.replica)


def stall_of(
    rows: Sequence[ReplicaActivity], pods: Sequence[Pod], *, now: datetime
) -> Diagnosis | None:
    """The diagnosis of a job whose replicas are all idle; None unless all activity is known."""
    if len(rows) < len(_running(pods)):
        return None
    moments = [row.last_output for row in rows if row.last_output is not None]
    is_idle = all(row.cpu is not None and row.cpu <= _IDLE_CPU for row in rows)
    if not rows or len(moments) < len(rows) or not is_idle:
        return None
    latest = max(moments)
    if now - latest < _STALLED_AFTER:
        return None
    detail = f"last output {time.age(latest, now)} ago"
    message = f"the job {CATALOGUE[Cause.STALLED].text} ({detail})"
    return fitted(Diagnosis(cause=Cause.STALLED, message=message, since=time.truncate(latest)))


def _running(pods: Sequence[Pod]) -> list[Pod]:
    return [pod for pod in pods if pod.phase is Phase.RUNNING]


async def _last_output(api: Api, pod: Pod) -> datetime | None:
    params = {"container": TRAINING_CONTAINER, "tailLines": "1", "timestamps": "true"}
    try:
        lines = [line async for line in log_lines(api, pod, params)]
    except ApiError:
        return None
    return time.parse(lines[-1].partition(" ")[0]) if lines else None


async def _cpu_by_pod(cluster: Cluster, found: ClusterJob) -> Mapping[str, Quantity]:
    try:
        usages = await usage_by_pod(cluster, found)
    except ApiError:
        return {}
    return {name: usage.cpu for name, usage in usages.items()}
