"""The observed state of a job's replicas: for each (type, index) its pod or batch Job and phase.

Nothing is decided here. The training container alone determines the phase of a replica; a sidecar
that keeps running or fails later does not change it.
"""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from datetime import datetime
from functools import cached_property

import msgspec

from tfjob.core import batch_job, pod_state
from tfjob.core.job import TRAINING_CONTAINER, Job, ReplicaType, Workload
from tfjob.core.plan import ChildKind
from tfjob.core.status import ConditionType, JobStatus, RecordCause, ReplicaStatus
from tfjob.k8s.child_types import BatchJob, CompanionObject, PodGroup, Service
from tfjob.k8s.event import PodEvent
from tfjob.k8s.meta import ObjectMeta
from tfjob.k8s.pod import Phase, Pod, Terminated


class HalfPlaced(msgspec.Struct, frozen=True):
    """A job of which some pods have nodes while no node is found for others."""

    name: str
    placed: int
    waiting: int
    since: datetime | None = None


class Children(msgspec.Struct, frozen=True):
    """The children of a job, and everything else that a reconcile reads from the cluster."""

    pods: Sequence[Pod] = ()
    services: Sequence[Service] = ()
    jobs: Sequence[BatchJob] = ()
    pod_group: PodGroup | None = None
    companions: Mapping[tuple[str, str], CompanionObject] = {}
    companion_pods: Sequence[Pod] = ()
    """The pods that the controllers of companions have created."""
    lost_nodes: frozenset[str] = frozenset()
    priorities: Mapping[str, int] = {}
    rivals: Sequence[HalfPlaced] = ()
    """Other jobs of the namespace that are half placed, if this one is."""
    node_freed_at: datetime | None = None
    """When a pod of any job was last seen to free its node."""
    events: Sequence[PodEvent] = ()
    """Events of a pod whose status does not explain why it does not run."""
    has_unread_events: bool = False
    """Events are due that could not be read, because too many requests were in flight."""


class ReplicaInstance(msgspec.Struct):
    """One replica (type and index): its pod, if it has one, and its phase."""

    replica: ReplicaType
    index: int
    pod: Pod | None = None
    job: BatchJob | None = None
    phase: Phase | None = None
    is_completed: bool = False
    is_obsolete: bool = False
    """The pod belongs to an earlier run or is removed by the operator; its state does not count."""
    is_disrupted: bool = False
    is_consequence: bool = False
    """It failed only because another replica was lost."""
    has_followed_in_place: bool = False
    """Its last restart in place is a consequence of another replica's loss."""
    is_superseded: bool = False
    """It was running, and is restarted because another replica of its group was lost."""
    incident: str = ""
    """The incident in which its group is restarted."""
    group_streak: int = 0
    """The number of group restarts in a row, including the one for this incident."""
    excused: int = 0
    """Container restarts of the pod that do not count."""
    failure: Terminated | None = None
    """The permanent failure of a replica that runs as a batch Job."""

    @property
    def name(self) -> str:
        return self.replica.name(self.index)

    @property
    def is_terminating(self) -> bool:
        """Whether the pod is terminating; false for pods that the Job controller manages."""
        if self.pod is None or self.job is not None:
            return False
        return self.pod.metadata.is_terminating

    @property
    def is_active(self) -> bool:
        return self.phase is Phase.RUNNING and not self.is_terminating and not self.is_obsolete

    @property
    def is_succeeded(self) -> bool:
        return self.phase is Phase.SUCCEEDED and not self.is_obsolete

    @property
    def is_failed(self) -> bool:
        """Whether the replica has failed, or is deleted while it runs."""
        if self.is_obsolete:
            return False
        return self.phase is Phase.FAILED or (self.phase is Phase.RUNNING and self.is_terminating)

    @property
    def exit_code(self) -> int | None:
        """The last known exit code of the training container."""
        ended = None if self.pod is None else self.pod.terminated(TRAINING_CONTAINER)
        if ended is None and self.pod is not None and self.job is not None:
            ended = batch_job.end_of(self.pod)
        ended = self.failure or ended
        return None if ended is None else ended.exit_code

    @property
    def params(self) -> dict[str, object]:
        """The message parameters for this replica: its type, pod and exit code."""
        code = self.exit_code
        return {
            "type": self.replica.type,
            "child": self.name if self.pod is None else self.pod.metadata.name,
            "code": "unknown" if code is None else code,
        }

    @property
    def is_confirmed_success(self) -> bool:
        """Whether the replica succeeded, and its training container is known to have exited with
        code 0."""
        if not self.is_succeeded:
            return False
        if self.pod is None or self.job is not None:
            return True
        ended = self.pod.terminated(TRAINING_CONTAINER)
        return ended is not None and ended.exit_code == 0


class ObservedState(msgspec.Struct, dict=True):
    """All replicas of a job by type, the names of their services, and surplus children."""

    instances: Mapping[str, Sequence[ReplicaInstance]]
    services: AbstractSet[str]
    surplus_pods: Sequence[Pod]
    surplus_services: Sequence[ObjectMeta]

    def all_instances(self) -> list[ReplicaInstance]:
        return [instance for instances in self.instances.values() for instance in instances]

    @cached_property
    def suspects(self) -> Sequence[ReplicaInstance]:
        """All replicas with a pod, except the many that run undisturbed.

        Computed once, so that the diagnosis of a large job inspects each replica only once.
        """
        return [
            instance
            for instances in self.instances.values()
            for instance in instances
            if (pod := instance.pod) is not None
            and (instance.phase is not Phase.RUNNING or pod_state.is_disturbed(pod))
        ]


def observe(job: Job, children: Children) -> ObservedState:
    by_label = {replica.label: replica for replica in job.replicas}
    pods: dict[tuple[str, int], list[Pod]] = {}
    surplus: list[Pod] = []
    for pod in children.pods:
        key = replica_key(job, pod.metadata)
        if key is None:
            continue
        replica = by_label.get(key[0])
        if replica is None or key[1] >= replica.count:
            surplus.append(pod)
        else:
            pods.setdefault((replica.type, key[1]), []).append(pod)
    batch_jobs = _batch_jobs(job, children.jobs, by_label)
    services, surplus_services = _services(job, replica_services(job, children), by_label)
    return ObservedState(
        instances={
            replica.type: [
                _instance(job, replica, index, pods.get((replica.type, index), ()), batch_jobs)
                for index in range(replica.count)
            ]
            for replica in job.replicas
        },
        services=services,
        surplus_pods=surplus,
        surplus_services=surplus_services,
    )


def replica_services(job: Job, children: Children) -> Sequence[Service]:
    """The services of replicas, without those that are companions."""
    companions = {each.name for each in job.companions if each.kind == ChildKind.SERVICE}
    if not companions:
        return children.services
    return [each for each in children.services if each.metadata.name not in companions]


def ended_uids(job: Job, children: Children, observed: ObservedState) -> frozenset[str]:
    """UIDs of the pods and batch Jobs that no longer run."""
    policies = {replica.label: replica.pod_restart_policy for replica in job.replicas}
    pods = {
        pod.metadata.uid
        for pod in children.pods
        if pod_state.has_ended(pod, policy=policies.get(_label(job, pod.metadata), ""))
    }
    jobs = {each.metadata.uid for each in children.jobs if each.status.succeeded}
    for instance in observed.all_instances():
        if instance.job is None or instance.pod is None or instance.phase is not Phase.SUCCEEDED:
            continue
        if instance.pod.metadata.uid in pods:
            jobs.add(instance.job.metadata.uid)
    return frozenset(pods | jobs)


def _label(job: Job, meta: ObjectMeta) -> str:
    return meta.labels.get(job.labels.type, "")


def _instance(
    job: Job,
    replica: ReplicaType,
    index: int,
    pods: Sequence[Pod],
    batch_jobs: Mapping[str, BatchJob],
) -> ReplicaInstance:
    instance = ReplicaInstance(replica=replica, index=index)
    stored = job.status.of(replica.type)
    instance.is_completed = index in stored.completed
    if job.workload is Workload.JOB:
        _observe_batch(instance, job, pods, batch_jobs.get(instance.name))
    elif pods:
        _observe_pod(instance, job, _canonical_pod(pods, name=instance.name), stored=stored)
    if instance.is_completed and not instance.is_obsolete:
        instance.phase = Phase.SUCCEEDED
    return instance


def _observe_pod(instance: ReplicaInstance, job: Job, pod: Pod, *, stored: ReplicaStatus) -> None:
    """A stored record of the pod takes precedence over what its timestamps suggest."""
    instance.pod = pod
    is_removed = stored.has_removed(pod.metadata.uid) or _is_stopped_by_queue(job, pod)
    instance.is_obsolete = is_removed or _is_of_earlier_run(job, pod)
    instance.phase = pod_state.replica_phase(pod, policy=instance.replica.pod_restart_policy)
    last = stored.record_of(instance.index)
    instance.excused = last.excused if last is not None and last.uid == pod.metadata.uid else 0
    if last is not None and last.uid == pod.metadata.uid and last.is_restart:
        instance.is_disrupted = last.cause is RecordCause.DISRUPTED
        instance.is_consequence = last.cause is RecordCause.CONSEQUENCE
        instance.is_superseded = last.cause is RecordCause.GROUP
        instance.incident = last.incident
    else:
        instance.is_disrupted = pod_state.is_disrupted(pod, job.semantics)
    if instance.phase is not Phase.SUCCEEDED:
        return
    is_ended_early = bool(instance.incident) and pod_state.may_have_ended_by_deletion(pod)
    if instance.is_disrupted or is_ended_early or pod_state.is_evicted(pod):
        instance.phase = Phase.FAILED


def _observe_batch(
    instance: ReplicaInstance, job: Job, pods: Sequence[Pod], found: BatchJob | None
) -> None:
    """Observe a replica that runs as a batch Job. Without the Job, its pods are ignored."""
    instance.job = found
    is_decisive = job.semantics.success_criterion.includes(instance.replica.type, instance.index)
    codes = job.semantics.exit_codes
    if found is not None:
        instance.pod = batch_job.representative_pod(pods, exit_codes=codes, is_decisive=is_decisive)
    instance.phase = batch_job.phase_of(found, pods, exit_codes=codes, is_decisive=is_decisive)
    if instance.phase is Phase.FAILED and instance.pod is not None:
        instance.failure = batch_job.failure_of(instance.pod, exit_codes=codes)


def _canonical_pod(pods: Sequence[Pod], *, name: str) -> Pod:
    """Of several pods for one index, the one with the expected name, else the oldest."""
    for pod in pods:
        if pod.metadata.name == name:
            return pod
    return min(pods, key=lambda pod: (pod.metadata.creation_timestamp or "", pod.metadata.uid))


def _is_stopped_by_queue(job: Job, pod: Pod) -> bool:
    """Whether the queue evicts the job, which then waits to be admitted again."""
    if job.queue is None or not pod.metadata.is_terminating:
        return False
    return pod.has_condition(job.queue.eviction)


def _is_of_earlier_run(job: Job, pod: Pod) -> bool:
    """Whether the pod is left from before a suspension, as all terminating pods then are."""
    return job.status.is_true(ConditionType.SUSPENDED) and pod.metadata.is_terminating


def replica_key(job: Job, meta: ObjectMeta) -> tuple[str, int] | None:
    """The (type label, index) from a child's labels, or None if they are missing or malformed."""
    kind = meta.labels.get(job.labels.type)
    index = meta.labels.get(job.labels.index, "")
    if kind is None or not (index.isascii() and index.isdigit()) or len(index) > 9:
        return None
    return kind, int(index)


def completed_replicas(job: Job, status: JobStatus) -> set[tuple[str, int]]:
    """The (type label, index) of each replica that has succeeded and was not scaled down."""
    return {
        (replica.label, index)
        for replica in job.replicas
        for index in status.of(replica.type).completed
        if index < replica.count
    }


def _batch_jobs(
    job: Job, jobs: Sequence[BatchJob], by_label: Mapping[str, ReplicaType]
) -> Mapping[str, BatchJob]:
    """Batch Jobs by the name of the replica they run.

    If no Job has the expected name, one with another name counts: it may have been created under
    different naming settings, and no replica may run twice.
    """
    found: dict[str, BatchJob] = {}
    for each in jobs:
        key = replica_key(job, each.metadata)
        replica = None if key is None else by_label.get(key[0])
        if key is not None and replica is not None:
            found.setdefault(replica.name(key[1]), each)
    return found | {each.metadata.name: each for each in jobs}


def _services(
    job: Job, services: Sequence[Service], by_label: Mapping[str, ReplicaType]
) -> tuple[set[str], list[ObjectMeta]]:
    """The names of the services of existing replicas, and the surplus services."""
    names: set[str] = set()
    surplus: list[ObjectMeta] = []
    for service in services:
        key = replica_key(job, service.metadata)
        if key is None:
            continue
        replica = by_label.get(key[0])
        if replica is None or key[1] >= replica.count:
            surplus.append(service.metadata)
        else:
            names.add(service.metadata.name)
    return names, surplus
