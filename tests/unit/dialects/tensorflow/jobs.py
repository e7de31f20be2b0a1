"""TfJobs for tests, with their children and their status over several reconciles."""

import copy
from collections.abc import Mapping, Sequence
from typing import Any

import yaml

from tests.support.builders import NOW, manifests_of
from tfjob.core.invalid_job import InvalidJob, reject
from tfjob.core.job import Job
from tfjob.core.observe import Children
from tfjob.core.plan import Plan
from tfjob.core.reconcile import reconcile
from tfjob.dialects.base import Settings, StatusContext
from tfjob.dialects.tensorflow.config import FLAG, ControllerConfig
from tfjob.dialects.tensorflow.v1alpha1 import TensorflowV1alpha1
from tfjob.k8s.child_types import BatchJob, BatchJobStatus, CompanionObject, Service
from tfjob.k8s.meta import ObjectMeta, OwnerReference
from tfjob.k8s.pod import ContainerState, ContainerStatus, Pod, PodStatus, Running, Terminated

Json = dict[str, Any]
DIALECT = TensorflowV1alpha1()
RUNTIME_ID = "76no"
SETTINGS = Settings()
EXAMPLE = """
apiVersion: tensorflow.org/v1alpha1
kind: TfJob
metadata: {name: example-job, namespace: n, uid: U}
spec:
  replicaSpecs:
  - replicas: 1
    tfReplicaType: MASTER
    template: &template
      spec:
        restartPolicy: OnFailure
        containers: [{name: tensorflow, image: sample}]
  - replicas: 1
    tfReplicaType: WORKER
    template: *template
  - {replicas: 2, tfReplicaType: PS}
"""


def example(**spec: Any) -> Json:
    """The published example: MASTER 1, WORKER 1, PS 2 without a template."""
    found: Json = copy.deepcopy(yaml.safe_load(EXAMPLE))
    found["spec"] |= spec
    return found


def template(*names: str, **spec: Any) -> Json:
    """A pod template with a container of each name."""
    containers = [{"name": name, "image": "img"} for name in names or ("tensorflow",)]
    return {"spec": {"containers": containers, **spec}}


def entry(kind: str | None = None, replicas: int | None = None, **fields: Any) -> Json:
    """One replica type with a template, unless another is given."""
    named = {"tfReplicaType": kind, "replicas": replicas}
    given = {key: value for key, value in named.items() if value is not None}
    return {"template": template(), **given, **fields}


def tfjob(*entries: Any, name: str = "j", **spec: Any) -> Json:
    return {
        "apiVersion": "tensorflow.org/v1alpha1",
        "kind": "TfJob",
        "metadata": {"name": name, "namespace": "n", "uid": "U"},
        "spec": {"replicaSpecs": list(entries), **spec},
    }


def set_up(**fields: Any) -> Settings:
    return Settings(options={FLAG: ControllerConfig(**fields)})


def stored(given: Json, settings: Settings = SETTINGS, *, token: str = RUNTIME_ID) -> Json:
    """The job once its spec has been completed and stored."""
    spec = DIALECT.defaulted_spec(given, settings, tokens=iter([token]), is_taken=lambda _: False)
    return given if spec is None else {**given, "spec": spec}


def decoded(given: Json, settings: Settings = SETTINGS) -> Job:
    found = DIALECT.decode(given, settings)
    assert isinstance(found, Job), found
    return found


def details(given: Json) -> list[str]:
    """What is wrong with a job, in the contract's words."""
    return [fault.detail for fault in DIALECT.validate(given)]


def built(given: Json, settings: Settings = SETTINGS) -> dict[tuple[str, str], Json]:
    """Everything that is made for a new job, by kind and name."""
    job = decoded(stored(given, settings), settings)
    plan = reconcile(job=job, children=Children(), now=NOW)
    return {(each["kind"], each["metadata"]["name"]): each for each in manifests_of(job, plan)}


def defaults_of(given: Json) -> list[Json]:
    """What the status of a new job shows of what the operator supplies."""
    found: list[Json] = Life(given).go().status["replicaSpecs"]
    return found


def training(child: Json) -> Json:
    """The training container of a batch Job."""
    containers = child["spec"]["template"]["spec"]["containers"]
    (found,) = [each for each in containers if each["name"] == "tensorflow"]
    assert isinstance(found, dict)
    return found


def tf_config(child: Json) -> str:
    (found,) = [each for each in training(child)["env"] if each["name"] == "TF_CONFIG"]
    return str(found["value"])


def end(code: int, reason: str = "") -> ContainerState:
    return ContainerState(terminated=Terminated(exit_code=code, reason=reason or "Error"))


def up() -> ContainerState:
    return ContainerState(running=Running())


def a_pod(
    kind: str = "MASTER",
    index: int = 0,
    *,
    state: ContainerState | None = None,
    last: ContainerState | None = None,
    restarts: int = 0,
    suffix: str = "aaaaa",
    started: str = "2026-01-02T03:00:00Z",
    others: Sequence[ContainerStatus] = (),
    phase: str = "Running",
) -> Pod:
    """A pod that the batch Job of one replica has made."""
    name = f"{kind.lower()}-{RUNTIME_ID}-{index}"
    own = ContainerStatus(
        name="tensorflow",
        state=state or up(),
        last_state=last or ContainerState(),
        restart_count=restarts,
    )
    return Pod(
        metadata=_meta(f"{name}-{suffix}", kind=kind, index=index, owner=f"uid-{name}"),
        status=PodStatus(phase=phase, start_time=started, container_statuses=[*others, own]),
    )


def _meta(
    name: str, *, kind: str | None = None, index: int | None = None, owner: str = "U"
) -> ObjectMeta:
    labels = {"tensorflow.org": "", "runtime_id": RUNTIME_ID, "tf_job_name": "j"}
    if kind is not None:
        labels |= {"job_type": kind, "task_index": str(index)}
    owners = [OwnerReference(uid=owner, controller=True)]
    return ObjectMeta(name=name, uid=f"uid-{name}", labels=labels, owner_references=owners)


def around(
    job: Job, *pods: Pod, succeeded: Sequence[str] = (), missing: Sequence[str] = ()
) -> Children:
    """Every child of a job but the missing ones; batch Jobs in `succeeded` have ended well."""
    replicas = [
        (replica, index, replica.name(index))
        for replica in job.replicas
        for index in range(replica.count)
    ]
    boards = [each.name for each in job.companions if each.kind == "Service"]
    return Children(
        pods=pods,
        jobs=[
            BatchJob(
                metadata=_meta(name, kind=replica.type, index=index),
                status=BatchJobStatus(succeeded=int(name in succeeded)),
            )
            for replica, index, name in replicas
            if f"Job/{name}" not in missing
        ],
        services=[
            *(
                Service(metadata=_meta(name, kind=replica.type, index=index))
                for replica, index, name in replicas
                if f"Service/{name}" not in missing
            ),
            *(Service(metadata=_meta(name)) for name in boards),
        ],
        companions={
            (each.kind, each.name): CompanionObject(metadata=_meta(each.name))
            for each in job.companions
            if each.kind != "Service"
        },
    )


class Life:
    """A job over several passes: each stores its status, and the next one reads it back."""

    def __init__(self, given: Json, settings: Settings = SETTINGS) -> None:
        self._settings = settings
        self._given = stored(given, settings)
        self.status: Mapping[str, Any] = {}
        self.plan = Plan()

    @property
    def job(self) -> Job:
        return decoded({**self._given, "status": self.status}, self._settings)

    @property
    def shown(self) -> tuple[Any, Any]:
        return self.status.get("phase"), self.status.get("state")

    def states(self) -> dict[str, dict[str, int]]:
        return {
            each["tf_replica_type"]: each["ReplicasStates"]
            for each in self.status["replicaStatuses"]
        }

    def go(self, children: Children | None = None, *, create_error: str = "") -> "Life":
        """One more pass over these children; all stand where none are given."""
        job = self.job
        found = around(job) if children is None else children
        self.plan = reconcile(job=job, children=found, now=NOW)
        observed = StatusContext(
            children=found,
            stored=self.status,
            now=NOW,
            create_error=create_error,
            read_spec=lambda: self._given["spec"],
        )
        self.status = DIALECT.encode_status(job, self.plan.status or job.status, observed)
        return self

    def made(self) -> list[str]:
        return [f"{each.kind}/{each.name}" for each in self.plan.creates]

    def told(self) -> list[tuple[str, str, str]]:
        return [(str(each.type), each.reason, each.message) for each in self.plan.events]


def refused(given: Json, settings: Settings = SETTINGS) -> tuple[Mapping[str, Any], Plan]:
    """The status and the plan of a stored job that cannot run."""
    job = DIALECT.decode(given, settings)
    assert isinstance(job, InvalidJob), job
    plan = reject(job, now=NOW)
    assert plan.status is not None
    return DIALECT.encode_status(job, plan.status, StatusContext(now=NOW)), plan
