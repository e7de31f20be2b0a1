"""The jobs of a cluster in all APIs, decoded, and their pods."""

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from datetime import datetime
from typing import Any, Final, Self, TypeVar

import msgspec

from tfjob.client.errors import Forbidden
from tfjob.client.resource import PODS, Resource
from tfjob.core.invalid_job import InvalidJob
from tfjob.core.job import TRAINING_CONTAINER, Job, Workload
from tfjob.core.plan import ChildKind
from tfjob.core.status import JobStatus
from tfjob.dialects.base import Dialect, Settings
from tfjob.dialects.registry import DIALECTS
from tfjob.k8s import time
from tfjob.k8s.pod import Pod
from tfjob.sdk.connection import Cluster

_GPU: Final = "nvidia.com/gpu"
_DEFAULT_GRACE: Final = 30
_MAX_NAMED: Final = 4


class _Pods(msgspec.Struct):
    items: list[Pod] | None = None


class _PodManifests(msgspec.Struct):
    items: list[dict[str, Any]] | None = None


_List = TypeVar("_List", _Pods, _PodManifests)


class ClusterJob(msgspec.Struct):
    """One job of the cluster: its manifest, its dialect and the decoded job."""

    dialect: Dialect
    manifest: dict[str, Any]
    job: Job | InvalidJob

    @classmethod
    def of(cls, dialect: Dialect, manifest: dict[str, Any]) -> Self:
        return cls(dialect=dialect, manifest=manifest, job=dialect.decode(manifest, Settings()))

    @property
    def name(self) -> str:
        return self.job.owner.name

    @property
    def namespace(self) -> str:
        return self.job.owner.namespace

    @property
    def title(self) -> str:
        """`TFJob default/mnist`."""
        return f"{self.dialect.kind} {self.namespace}/{self.name}"

    @property
    def status(self) -> JobStatus:
        return self.job.status

    @property
    def state(self) -> str:
        """The newest condition, as `kubectl get` shows it."""
        return self.status.conditions[-1].type if self.status.conditions else ""

    @property
    def created(self) -> datetime | None:
        return time.parse(self.manifest.get("metadata", {}).get("creationTimestamp"))

    @property
    def path(self) -> str:
        return resource_of(self.dialect).item(self.name, self.namespace)


def resource_of(dialect: Dialect) -> Resource:
    return Resource(dialect.group, dialect.version, dialect.plural)


def stored_dialects() -> list[Dialect]:
    """One dialect per resource: versions of a resource share the stored objects."""
    found: dict[tuple[str, str], Dialect] = {}
    for dialect in DIALECTS:
        found.setdefault((dialect.group, dialect.plural), dialect)
    return list(found.values())


async def pods_of(cluster: Cluster, found: ClusterJob) -> list[Pod]:
    """The job's pods, sorted by replica type and index."""
    return in_order(found, (await _list(cluster, found, _Pods)).items or ())


async def pod_manifests(cluster: Cluster, found: ClusterJob) -> list[dict[str, Any]]:
    """The pods with the job's label, with all their fields."""
    return (await _list(cluster, found, _PodManifests)).items or []


def read_pods(found: ClusterJob, manifests: Sequence[Mapping[str, Any]]) -> list[Pod]:
    """The job's pods among these, sorted by replica type and index."""
    return in_order(found, msgspec.convert(manifests, list[Pod]))


async def _list(cluster: Cluster, found: ClusterJob, decode: type[_List]) -> _List:
    if isinstance(found.job, InvalidJob):
        return decode()
    path, params = PODS.collection(found.namespace), {"labelSelector": pods_selector(found)}
    try:
        return await cluster.api.get(path, decode=decode, params=params)
    except Forbidden:
        return decode()


def pods_selector(found: ClusterJob) -> str:
    """The label selector for the job's pods; pods of others may match it too."""
    label = found.dialect.job_label
    value = (
        found.job.child_labels.get(label, found.name) if isinstance(found.job, Job) else found.name
    )
    return f"{label}={value}"


def in_order(found: ClusterJob, pods: Iterable[Pod]) -> list[Pod]:
    """The pods that the job controls, sorted by replica type and index."""
    if isinstance(found.job, InvalidJob):
        return []
    order = {replica.label: place for place, replica in enumerate(found.job.replicas)}
    keys = found.job.labels

    def place(pod: Pod) -> tuple[int, int, str]:
        labels = pod.metadata.labels
        index = labels.get(keys.index, "")
        number = int(index) if index.isascii() and index.isdigit() else -1
        return order.get(labels.get(keys.type, ""), len(order)), number, pod.metadata.name

    makers = _batch_jobs(found.job)
    return sorted((pod for pod in pods if _is_own(found.job, pod, makers)), key=place)


def _batch_jobs(job: Job) -> frozenset[str]:
    """The names of the batch Jobs that create the job's pods, if its API uses batch Jobs."""
    if job.workload is not Workload.JOB:
        return frozenset()
    return frozenset(
        replica.name(index) for replica in job.replicas for index in range(replica.count)
    )


def _is_own(job: Job | InvalidJob, pod: Pod, makers: AbstractSet[str]) -> bool:
    """Whether its controller is the job or one of the job's batch Jobs."""
    owners = [each for each in pod.metadata.owner_references if each.controller]
    return any(
        each.uid == job.owner.uid or (each.kind == ChildKind.JOB and each.name in makers)
        for each in owners
    )


def is_pod_name(found: ClusterJob, name: str) -> bool:
    """Whether a pod of this name belongs to the job, judged by the name alone.

    Pods of batch Jobs have a random suffix after the name of their replica.
    """
    if isinstance(found.job, InvalidJob):
        return False
    names = {each.name(index) for each in found.job.replicas for index in range(each.count)}
    stem = name.rpartition("-")[0] if found.job.workload is Workload.JOB else name
    return stem in names


def replica_name(found: ClusterJob, pod: Pod) -> str:
    """`worker-0`: the name of a replica in the output and on the command line."""
    if isinstance(found.job, InvalidJob):
        return pod.metadata.name
    labels, keys = pod.metadata.labels, found.job.labels
    return f"{labels.get(keys.type, '?').lower()}-{labels.get(keys.index, '?')}"


def joined(replicas: Sequence[str]) -> str:
    """`worker-0, worker-1 and 3 more`."""
    shown = list(replicas[:_MAX_NAMED])
    more = len(replicas) - len(shown)
    if more:
        return f"{', '.join(shown)} and {more} more"
    return " and ".join([part for part in (", ".join(shown[:-1]), shown[-1]) if part])


def replica_range(found: ClusterJob) -> str:
    """`ps-0, worker-0 to worker-3`: all replicas that the job has; empty if it has none."""
    if isinstance(found.job, InvalidJob):
        return ""
    counts = {each.label.lower(): each.count for each in found.job.replicas if each.count}
    return ", ".join(
        f"{kind}-0" if count == 1 else f"{kind}-0 to {kind}-{count - 1}"
        for kind, count in counts.items()
    )


def restarts(found: ClusterJob) -> int:
    """The counted restarts, of replicas and of containers in their pods."""
    records = (each for replica in found.status.replicas.values() for each in replica.records)
    return found.status.restarts + sum(each.in_place - each.excused for each in records)


def memory_limit(found: ClusterJob, replica: str) -> str:
    """The memory limit of a replica's training container, as the job states it; empty if none."""
    return _limit(found, replica, "memory")


def gpus(found: ClusterJob, replica: str) -> str:
    """How many GPUs a replica's training container requests."""
    return _limit(found, replica, _GPU) or "0"


def _limit(found: ClusterJob, replica: str, resource: str) -> str:
    for container in _pod_spec(found, replica.rpartition("-")[0]).get("containers") or ():
        if container.get("name") == TRAINING_CONTAINER:
            limits = (container.get("resources") or {}).get("limits") or {}
            return str(limits.get(resource, ""))
    return ""


def grace_seconds(found: ClusterJob) -> int:
    """The longest termination grace period among the job's replicas."""
    if isinstance(found.job, InvalidJob):
        return _DEFAULT_GRACE
    specs = [each.template.get("spec") or {} for each in found.job.replicas if each.count]
    periods = [each.get("terminationGracePeriodSeconds", _DEFAULT_GRACE) for each in specs]
    return max(periods, default=_DEFAULT_GRACE)


def _pod_spec(found: ClusterJob, kind: str) -> Mapping[str, Any]:
    if isinstance(found.job, InvalidJob):
        return {}
    templates = (each.template for each in found.job.replicas if each.label.lower() == kind)
    return next(templates, {}).get("spec") or {}


def is_empty(found: ClusterJob) -> bool:
    """Whether the job has not finished and has no replicas, as after scaling down to 0.

    Its conditions stay as they were: a job that ran is still Running.
    """
    return isinstance(found.job, Job) and not found.job.total and not found.status.is_finished


def replicas_text(found: ClusterJob) -> str:
    """`1 chief, 2 ps, 4 worker`."""
    if isinstance(found.job, InvalidJob):
        return ""
    return ", ".join(f"{each.count} {each.task}" for each in found.job.replicas)


def active_text(found: ClusterJob) -> str:
    """`3/4`: how many of the job's replicas are active."""
    if isinstance(found.job, InvalidJob):
        return ""
    counts = found.status.replicas.values()
    return f"{sum(each.active for each in counts)}/{found.job.total}"
