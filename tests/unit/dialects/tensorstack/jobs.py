"""TensorFlowTrainingJobs for tests, and the passes over them, as short as the contract writes them.

A play stores the status of every pass in the API's own shape and reads it back for the next one.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import msgspec

from tests.support.builders import NOW, at, manifests_of
from tfjob.core.invalid_job import InvalidJob, reject
from tfjob.core.job import Job
from tfjob.core.observe import Children
from tfjob.core.plan import Plan
from tfjob.core.reconcile import reconcile
from tfjob.dialects.base import Settings, StatusContext
from tfjob.dialects.tensorstack.v1beta1 import TensorStackV1beta1
from tfjob.k8s import time
from tfjob.k8s.child_types import Service
from tfjob.k8s.meta import ObjectMeta, OwnerReference
from tfjob.k8s.pod import (
    ContainerState,
    ContainerStatus,
    Pod,
    PodStatus,
    Running,
    Terminated,
    Waiting,
)

Json = dict[str, Any]
DIALECT = TensorStackV1beta1()
UID = "b7a3b1f2"
ID = "d617d"
"""The first five characters of the UID's SHA-1."""
_TYPES = {"C": "chief", "W": "worker", "P": "ps", "E": "evaluator"}
_ENDED = {"Succeeded": 0, "Failed": 1}


def container(name: str = "tensorflow", /, **fields: Any) -> Json:
    return {"name": name, "image": "example.invalid/tensorflow", **fields}


def replica(kind: str = "worker", count: int | None = 1, **fields: Any) -> Json:
    """One entry of replicaSpecs; further fields are its own."""
    fields.setdefault("template", {"spec": {"containers": [container()]}})
    found: Json = {"type": kind, **fields}
    if count is not None:
        found["replicas"] = count
    return found


def training_job(roles: str = "W1", *, restart: str | None = None, **spec: Any) -> Json:
    """A job such as `training_job("C1 P2 W4", restart="ExitCode", runPolicy={…})`."""
    own = {} if restart is None else {"restartPolicy": restart}
    specs = [replica(_TYPES[role[0]], int(role[1:]), **own) for role in roles.split()]
    return {
        "apiVersion": "batch.tensorstack.dev/v1beta1",
        "kind": "TensorFlowTrainingJob",
        "metadata": {"name": "j", "namespace": "n", "uid": UID},
        "spec": {"replicaSpecs": specs, **spec},
    }


def decoded(given: Mapping[str, Any], **settings: Any) -> Job:
    found = DIALECT.decode(given, Settings(**settings))
    assert isinstance(found, Job), found
    return found


def name_of(kind: str, index: int) -> str:
    return f"j-{ID}-{kind}-{index}"


def meta(kind: str, index: int, *, uid: str = "", deleted: datetime | None = None) -> ObjectMeta:
    name = name_of(kind, index)
    return ObjectMeta(
        name=name,
        namespace="n",
        uid=uid or f"uid-{name}",
        creation_timestamp=time.render(at(-60)),
        deletion_timestamp=None if deleted is None else time.render(deleted),
        deletion_grace_period_seconds=None if deleted is None else 0,
        labels={
            "tensorflowtrainingjob": "j",
            "tensorstack.dev/component": "tensorflowtrainingjob",
            "replica-type": kind,
            "replica-index": str(index),
        },
        owner_references=[OwnerReference(uid=UID, controller=True)],
    )


def pod(
    kind: str = "worker",
    index: int = 0,
    phase: str = "Running",
    *,
    code: int | None = None,
    uid: str = "",
    ended: datetime | None = None,
    deleted: datetime | None = None,
    reason: str = "",
) -> Pod:
    """A pod of the job; one that ended has a code unless the reason says that there is none."""
    if code is None and not reason:
        code = _ENDED.get(phase)
    state = ContainerState(waiting=Waiting(reason="ContainerCreating"))
    if code is not None:
        moment = time.render(ended or at(-5))
        state = ContainerState(terminated=Terminated(exit_code=code, finished_at=moment))
    elif phase == "Running":
        state = ContainerState(running=Running(started_at=time.render(at(-50))))
    statuses = [] if reason else [ContainerStatus(name="tensorflow", state=state)]
    return Pod(
        metadata=meta(kind, index, uid=uid, deleted=deleted),
        status=PodStatus(phase=phase, reason=reason, container_statuses=statuses),
    )


def pods(phase: str = "Running", /, **counts: int) -> list[Pod]:
    """`pods(worker=4)`: so many of each type, all alike."""
    return [pod(kind, index, phase) for kind, count in counts.items() for index in range(count)]


class Play:
    """A job over several passes."""

    def __init__(self, given: Mapping[str, Any], **settings: Any) -> None:
        self._given = dict(given)
        self._settings = Settings(**settings)
        self.status: Json = {}

    @property
    def job(self) -> Job | InvalidJob:
        return DIALECT.decode({**self._given, "status": self.status}, self._settings)

    def go(
        self,
        *found: Pod,
        now: datetime = NOW,
        has_services: bool = True,
        create_error: str = "",
        **children: Any,
    ) -> Plan:
        """One more pass; every replica has its service unless it is said otherwise."""
        job = self.job
        seen = Children(pods=found, services=services(job) if has_services else (), **children)
        if isinstance(job, Job):
            plan = reconcile(job=job, children=seen, now=now)
        else:
            plan = reject(job, children=seen, now=now)
        observed = StatusContext(
            children=seen, stored=self.status, now=now, create_error=create_error
        )
        self.status = DIALECT.encode_status(job, plan.status or job.status, observed)
        # As it is after it was sent and read.
        self.status = msgspec.json.decode(msgspec.json.encode(self.status))
        return plan

    def edit(self, **spec: Any) -> None:
        """Change parts of the spec, as a user does."""
        self._given["spec"] = {**self._given["spec"], **spec}

    @property
    def conditions(self) -> dict[str, str]:
        return {each["type"]: each["status"] for each in self.status["conditions"]}

    def condition(self, kind: str) -> tuple[str, str, str]:
        """Status, reason and message."""
        (found,) = [each for each in self.status["conditions"] if each["type"] == kind]
        return found["status"], found["reason"], found["message"]

    def aggregate(self) -> dict[str, int]:
        """The numbers that are not zero."""
        return {key: value for key, value in self.status["aggregate"].items() if value}

    def replica(self, kind: str, index: int) -> Json:
        (task,) = [each for each in self.status["tasks"] if each["type"] == kind]
        found: Json = task["replicas"][index]
        return found


def services(job: Job | InvalidJob) -> Sequence[Service]:
    """One for each replica."""
    if isinstance(job, InvalidJob):
        return ()
    return [
        Service(metadata=meta(each.type, index))
        for each in job.replicas
        for index in range(each.count)
    ]


def made(job: Job, plan: Plan, kind: str) -> dict[str, Json]:
    """What a plan makes of one kind, by name, as it would be sent."""
    found = manifests_of(job, plan)
    return {each["metadata"]["name"]: each for each in found if each["kind"] == kind}


def first_pods(given: Mapping[str, Any], **settings: Any) -> dict[str, Json]:
    """The pods of a new job."""
    job = decoded(given, **settings)
    return made(job, reconcile(job=job, children=Children(), now=NOW), "Pod")


def training_container(manifest: Json) -> Json:
    containers: list[Json] = manifest["spec"]["containers"]
    return next(each for each in containers if each["name"] == "tensorflow")


FINISHED = {"Running": "False", "Failed": "False", "Completed": "True"}
LOST = {"Running": "False", "Failed": "True", "Completed": "True"}


def running(roles: str = "W4", **fields: Any) -> Play:
    """A job all of whose pods run."""
    play = Play(training_job(roles, **fields))
    play.go(*everything(roles))
    assert play.status["phase"] == "Running"
    return play


def everything(roles: str) -> list[Any]:
    names = {"C": "chief", "W": "worker", "P": "ps", "E": "evaluator"}
    return pods(**{names[role[0]]: int(role[1:]) for role in roles.split()})


def but(roles: str, *others: Any) -> list[Any]:
    """All pods of these roles run, but for the given ones."""
    told = {each.metadata.name: each for each in everything(roles)}
    return list((told | {each.metadata.name: each for each in others}).values())


def finish(play: Play) -> dict[str, str]:
    return {kind: play.conditions[kind] for kind in FINISHED}
