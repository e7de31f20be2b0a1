"""Builders for jobs, pods, services and children, in the shorthand of the contract's tables."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from tfjob.core.child_manifests import ManifestBuilder
from tfjob.core.invalid_job import InvalidJob
from tfjob.core.job import Job
from tfjob.core.observe import Children
from tfjob.core.plan import Plan
from tfjob.core.reconcile import reconcile
from tfjob.core.status import JobStatus
from tfjob.dialects.base import Settings, StatusContext
from tfjob.dialects.kubeflow.v1 import KubeflowV1
from tfjob.k8s import time
from tfjob.k8s.child_types import BatchJob, BatchJobStatus, Service
from tfjob.k8s.meta import ObjectMeta, OwnerReference
from tfjob.k8s.pod import (
    ContainerState,
    ContainerStatus,
    Pod,
    PodCondition,
    PodSpec,
    PodStatus,
    Terminated,
    Waiting,
)

OWNER = {
    "apiVersion": "kubeflow.org/v1",
    "kind": "TFJob",
    "name": "j",
    "uid": "U",
    "controller": True,
    "blockOwnerDeletion": True,
}
"""The owner reference of the children of every job that is built here."""
NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
DIALECT = KubeflowV1()
UID = "U"
_NAMES = {"C": "Chief", "M": "Master", "P": "PS", "W": "Worker", "E": "Evaluator"}
_STATES: Mapping[str, Mapping[str, Any]] = {
    "P": {"phase": "Pending"},
    "R": {"phase": "Running"},
    "U": {"phase": "Unknown"},
    "S": {"phase": "Succeeded", "exit_code": 0},
    "s": {"phase": "Succeeded"},
    "F": {"phase": "Failed", "exit_code": 1},
    "K": {"phase": "Failed", "exit_code": 137},
    "T": {"phase": "Running", "deleted": -5},
}


def at(seconds: float) -> datetime:
    """A moment relative to NOW."""
    return NOW + timedelta(seconds=seconds)


def container(**fields: Any) -> dict[str, Any]:
    return {"name": "tensorflow", "image": "img", **fields}


def replica_spec(replicas: int | None = 1, **fields: Any) -> dict[str, Any]:
    """One entry of tfReplicaSpecs; `template` and `containers` may be given."""
    containers = fields.pop("containers", [container()])
    template = fields.pop("template", {"spec": {"containers": containers}})
    found: dict[str, Any] = {"template": template, **fields}
    if replicas is not None:
        found["replicas"] = replicas
    return found


def manifest(
    roles: str = "W1",
    *,
    restart: str | None = None,
    name: str = "j",
    namespace: str = "n",
    run_policy: Mapping[str, Any] | None = None,
    status: Mapping[str, Any] | None = None,
    annotations: Mapping[str, str] | None = None,
    **spec: Any,
) -> dict[str, Any]:
    """A TFJob in the contract's shorthand: `manifest("C1 P2 W4")`."""
    specs: dict[str, Any] = {}
    for role in roles.split():
        entry = replica_spec(int(role[1:]))
        if restart is not None:
            entry["restartPolicy"] = restart
        specs[_NAMES[role[0]]] = entry
    found: dict[str, Any] = {
        "apiVersion": "kubeflow.org/v1",
        "kind": "TFJob",
        "metadata": {"name": name, "namespace": namespace, "uid": UID},
        "spec": {"tfReplicaSpecs": specs, **spec},
    }
    if run_policy is not None:
        found["spec"]["runPolicy"] = dict(run_policy)
    if status is not None:
        found["status"] = dict(status)
    if annotations is not None:
        found["metadata"]["annotations"] = dict(annotations)
    return found


def decoded(given: Mapping[str, Any], settings: Settings | None = None) -> Job:
    found = DIALECT.decode(given, settings or Settings())
    assert isinstance(found, Job), found
    return found


def rejected(given: Mapping[str, Any]) -> InvalidJob:
    found = DIALECT.decode(given, Settings())
    assert isinstance(found, InvalidJob), found
    return found


def a_job(roles: str = "W1", settings: Settings | None = None, **fields: Any) -> Job:
    return decoded(manifest(roles, **fields), settings)


def meta(
    name: str,
    *,
    job: str = "j",
    role: str | None = None,
    index: int | str | None = None,
    uid: str | None = None,
    created: float = -60,
    deleted: float | None = None,
    grace: int = 30,
    owner: str | None = UID,
) -> ObjectMeta:
    labels = {
        "training.kubeflow.org/operator-name": "tfjob-controller",
        "training.kubeflow.org/job-name": job,
    }
    if role is not None:
        labels["training.kubeflow.org/replica-type"] = role
    if index is not None:
        labels["training.kubeflow.org/replica-index"] = str(index)
    owners = [OwnerReference(uid=owner, controller=True)] if owner else []
    return ObjectMeta(
        name=name,
        namespace="n",
        uid=uid or f"uid-{name}",
        resource_version="1",
        creation_timestamp=time.render(at(created)),
        deletion_timestamp=None if deleted is None else time.render(at(deleted + grace)),
        deletion_grace_period_seconds=None if deleted is None else grace,
        labels=labels,
        owner_references=owners,
    )


def a_pod(
    role: str = "worker",
    index: int | str = 0,
    phase: str = "Running",
    *,
    exit_code: int | None = None,
    reason: str = "",
    output: str = "",
    restarts: int = 0,
    waiting: tuple[str, str] | None = None,
    conditions: Sequence[PodCondition] = (),
    ran: tuple[float, float] = (-50, -1),
    pod_reason: str = "",
    node: str = "node-1",
    others: Iterable[ContainerStatus] = (),
    init: Sequence[ContainerStatus] = (),
    name: str | None = None,
    **fields: Any,
) -> Pod:
    """A pod of job `j`. With an exit code its training container has terminated."""
    state = ContainerState()
    if exit_code is not None:
        state = ContainerState(
            terminated=Terminated(
                exit_code=exit_code,
                reason=reason or ("Completed" if exit_code == 0 else "Error"),
                message=output,
                started_at=time.render(at(ran[0])),
                finished_at=time.render(at(ran[1])),
            )
        )
    elif waiting is not None:
        state = ContainerState(waiting=Waiting(reason=waiting[0], message=waiting[1]))
    own = []
    if exit_code is not None or restarts or waiting is not None:
        own = [ContainerStatus(name="tensorflow", restart_count=restarts, state=state)]
    pod_name = name or f"j-{role}-{index}"
    return Pod(
        metadata=meta(pod_name, role=role, index=index, **fields),
        spec=PodSpec(node_name=node),
        status=PodStatus(
            phase=phase,
            reason=pod_reason,
            start_time=time.render(at(-55)),
            conditions=conditions,
            container_statuses=[*own, *others],
            init_container_statuses=init,
        ),
    )


def pods(**roles: str) -> list[Pod]:
    """Pods by role, one letter per index: `pods(worker="RS-", ps="PP")`.

    P R U are phases; S succeeded with exit code 0, s without a code; F failed with exit code 1,
    K with 137; T runs and is being deleted; - there is no pod.
    """
    return [
        a_pod(role, index, **_STATES[letter])
        for role, letters in roles.items()
        for index, letter in enumerate(letters)
        if letter != "-"
    ]


def a_batch_job(role: str = "worker", index: int = 0, *, succeeded: int = 0) -> BatchJob:
    return BatchJob(
        metadata=meta(f"j-{role}-{index}", role=role, index=index),
        status=BatchJobStatus(succeeded=succeeded),
    )


def a_service(role: str = "worker", index: int | str = 0, **fields: Any) -> Service:
    return Service(metadata=meta(f"j-{role}-{index}", role=role, index=index, **fields))


def services_of(pods: Iterable[Pod]) -> list[Service]:
    """One service per pod, under the pod's name and labels."""
    return [Service(metadata=pod.metadata) for pod in pods]


def decide(job: Job, *pods: Pod, now: datetime = NOW, **children: Any) -> Plan:
    """One reconcile; every pod has a service unless services are given."""
    children.setdefault("services", services_of(pods))
    return reconcile(job=job, children=Children(pods=pods, **children), now=now)


def status_after(job: Job, plan: Plan) -> JobStatus:
    return job.status if plan.status is None else plan.status


def conditions_of(status: JobStatus) -> list[str]:
    """`Created`, `Running=F`, … in array order, as the contract writes them."""
    return [each.type if each.is_true else f"{each.type}=F" for each in status.conditions]


def created_names(plan: Plan, kind: str) -> list[str]:
    return [each.name for each in plan.creates if each.kind == kind]


def deleted_names(plan: Plan, kind: str) -> list[str]:
    return [each.name for each in plan.deletes if each.kind == kind]


def events_of(plan: Plan) -> list[tuple[str, str, str]]:
    return [(str(each.type), each.reason, each.message) for each in plan.events]


def manifests_of(job: Job, plan: Plan) -> list[dict[str, Any]]:
    builder = ManifestBuilder(job)
    return [builder.manifest(each) for each in plan.creates]


def stored(job: Job, plan: Plan) -> Job:
    """The job with the plan's status, without encoding and decoding it."""
    return msgspec.structs.replace(job, status=status_after(job, plan))


def following(
    given: Mapping[str, Any], plan: Plan, *, job: Job, settings: Settings | None = None
) -> Job:
    """The job as the next reconcile reads it: with the plan's status encoded and decoded."""
    shown = DIALECT.encode_status(job, status_after(job, plan), StatusContext())
    return decoded({**given, "status": shown}, settings)


class Passes:
    """A job over several reconciles: each stores its status, and the next one reads it."""

    def __init__(self, given: Mapping[str, Any], settings: Settings | None = None) -> None:
        self._given = given
        self._settings = settings
        self.job = decoded(given, settings)

    @property
    def conditions(self) -> list[str]:
        return conditions_of(self.job.status)

    def go(self, *found: Pod, now: datetime = NOW, **children: Any) -> Plan:
        """Reconcile once more with these children."""
        plan = decide(self.job, *found, now=now, **children)
        self.job = following(self._given, plan, job=self.job, settings=self._settings)
        return plan

    def edit(self, given: Mapping[str, Any]) -> None:
        """Replace the spec, as a user does; the status stays."""
        shown = DIALECT.encode_status(self.job, self.job.status, StatusContext())
        self._given = given
        self.job = decoded({**given, "status": shown}, self._settings)
