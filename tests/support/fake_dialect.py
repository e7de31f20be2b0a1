"""A made-up API of jobs: the smallest dialect.

Its replicas are batch Jobs. A token is stored in its spec before they are created. Its companions
are a ConfigMap, a Service and, if the cluster serves that kind, a board. Its status shows more than
the neutral one.
"""

from collections.abc import Callable, Iterator
from typing import Any

from tfjob.core.exit_codes import ExitCodes
from tfjob.core.invalid_job import InvalidJob
from tfjob.core.job import (
    Companion,
    Job,
    LabelKeys,
    Owner,
    ReplicaType,
    RestartPolicy,
    Semantics,
    ServicePort,
    SuccessCriterion,
    Workload,
)
from tfjob.core.messages import Messages, MessageTemplate
from tfjob.core.observe import observe
from tfjob.core.status import Condition, ConditionType, JobStatus
from tfjob.dialects.base import (
    NOTHING_BEYOND,
    BeyondHub,
    ChildApi,
    Conversion,
    Manifest,
    Settings,
    StatusContext,
)
from tfjob.k8s import field
from tfjob.k8s.field import Fault

Json = dict[str, Any]
GROUP, VERSION, KIND, PLURAL = "toy.example", "v1", "ToyJob", "toyjobs"
JOBS = f"/apis/{GROUP}/{VERSION}/namespaces/default/{PLURAL}"
COMPONENT = "toy-controller"
LABEL = "toy.example/job"
SCRIPT = ChildApi("ConfigMap", "", "v1", "configmaps")
BOARD = ChildApi("Board", "boards.example", "v1", "boards", is_optional=True)
_SENTENCES = {
    each: MessageTemplate(each.title().replace("_", ""), each.replace("_", " "))
    for each in Messages.__struct_fields__
    if each not in {"component", "master_advice", "coordinator_advice", "child_create_failed"}
}
_WORDING = Messages(
    **_SENTENCES,
    child_create_failed=MessageTemplate("ChildCreateFailed", "{error}"),
    component=COMPONENT,
    master_advice="have one toy",
    coordinator_advice="have one toy",
)
_PHASES = {"Done": ConditionType.SUCCEEDED, "Broken": ConditionType.FAILED}


class FakeDialect:
    group, version, kind, plural = GROUP, VERSION, KIND, PLURAL
    short_name = "toy"
    component = COMPONENT
    workload = Workload.JOB
    child_selector = LABEL
    job_label = LABEL
    companions = (SCRIPT, BOARD)
    shows_children = True
    status_fields = frozenset({"phase", "active", "beside", "trouble", "nothing"})
    generated_fields: frozenset[str] = frozenset()

    def pod_groups(self, settings: Settings) -> ChildApi | None:  # noqa: ARG002 - of the protocol
        return None

    def validate(self, manifest: Manifest) -> list[Fault]:
        if manifest["spec"].get("replicas", 1) > 0:
            return []
        return [field.invalid("spec.replicas", manifest["spec"]["replicas"], "must be positive")]

    def with_status(self, job: Job, manifest: Manifest) -> None:  # noqa: ARG002 - of the protocol
        return None

    def decode(
        self,
        manifest: Manifest,
        settings: Settings,
        *,
        is_checked: bool = False,  # noqa: ARG002 - of the protocol; this API has no rules
    ) -> Job | InvalidJob:
        meta = manifest["metadata"]
        namespace, uid = meta.get("namespace", "default"), meta.get("uid", "")
        owner = Owner(f"{GROUP}/{VERSION}", KIND, meta["name"], namespace, uid)
        status = _decoded_status(manifest.get("status") or {})
        faults = self.validate(manifest)
        if faults:
            return InvalidJob(owner, _WORDING, faults, status)
        return Job(
            owner=owner,
            replicas=[_replica(manifest["spec"], job=meta["name"])],
            labels=LabelKeys(type="toy.example/type", index="toy.example/index"),
            semantics=Semantics(
                success_criterion=SuccessCriterion(types=("Toy",), index=0),
                exit_codes=ExitCodes(at_least=128),
                only_decisive_replica_fails_job=True,
            ),
            messages=_WORDING,
            workload=Workload.JOB,
            companions=_companions(manifest["spec"], settings, job=meta["name"]),
            child_labels={LABEL: _label(meta["name"])},
            status=status,
            is_deleting=bool(meta.get("deletionTimestamp")),
        )

    def unknown_fields(self, manifest: Manifest) -> list[str]:
        return [
            f"spec.{key}"
            for key in manifest["spec"]
            if key not in {"replicas", "id", "boardAsleep"}
        ]

    def defaulted_spec(
        self,
        manifest: Manifest,
        settings: Settings,  # noqa: ARG002 - of the protocol
        *,
        tokens: Iterator[str],
        is_taken: Callable[[str], bool],
    ) -> Json | None:
        if self.validate(manifest) or "id" in manifest["spec"]:
            return None
        free = (token for token in tokens if not is_taken(f"toy-{token}-0"))
        return {**manifest["spec"], "id": next(free)}

    def encode_status(
        self, job: Job | InvalidJob, status: JobStatus, observed: StatusContext
    ) -> Json:
        phase = next((name for name, kind in _PHASES.items() if status.is_true(kind)), "Working")
        instances = observe(job, observed.children).all_instances() if isinstance(job, Job) else []
        return {
            "phase": phase,
            "active": sum(instance.is_active for instance in instances),
            "beside": sorted(kind for kind, _ in observed.children.companions),
            "trouble": observed.create_error,
            "nothing": None,
        }

    def to_hub(self, manifest: Manifest, *, target: str = "") -> Conversion:  # noqa: ARG002 - no field differs
        return Conversion(dict(manifest))

    def from_hub(self, manifest: Manifest, beyond: BeyondHub = NOTHING_BEYOND) -> Conversion:  # noqa: ARG002 - as above
        return Conversion(dict(manifest))

    def crd(self) -> Json:
        found = definition(GROUP, VERSION, KIND, plural=PLURAL)
        found["spec"]["names"]["shortNames"] = [self.short_name]
        return found


def definition(group: str, version: str, kind: str, *, plural: str) -> Json:
    """A definition that takes any spec and any status."""
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    schema = {"type": "object", "properties": {"spec": anything, "status": anything}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"kind": kind, "plural": plural, "singular": kind.lower()},
            "versions": [
                {
                    "name": version,
                    "served": True,
                    "storage": True,
                    "subresources": {"status": {}},
                    "schema": {"openAPIV3Schema": schema},
                }
            ],
        },
    }


def board_crd() -> Json:
    return definition(BOARD.group, BOARD.version, BOARD.kind, plural=BOARD.plural)


def fake_job(name: str = "t", replicas: int = 2, **spec: Any) -> Json:
    return {
        "apiVersion": f"{GROUP}/{VERSION}",
        "kind": KIND,
        "metadata": {"name": name},
        "spec": {"replicas": replicas, **spec},
    }


def _label(job: str) -> str:
    """Labels are shorter than names may be."""
    return job[:63]


def _replica(spec: Json, *, job: str) -> ReplicaType:
    labels = {LABEL: _label(job), "toy.example/type": "toy"}
    container = {"name": "tensorflow", "image": "toy", "command": ["true"]}
    return ReplicaType(
        type="Toy",
        label="toy",
        count=spec.get("replicas", 1),
        restart=RestartPolicy.ON_FAILURE,
        pod_restart_policy="OnFailure",
        template={"spec": {"containers": [container]}},
        name_prefix=f"toy-{spec.get('id', 'xxxx')}-",
        host_suffix="",
        port=2222,
        pod_labels=labels,
        service_labels=labels,
        selector=labels,
        service_ports=[ServicePort("toy", 2222)],
        task="toy",
    )


def _companions(spec: Json, settings: Settings, *, job: str) -> list[Companion]:
    name = f"beside-{spec.get('id', 'xxxx')}"
    metadata = {"name": name, "labels": {LABEL: _label(job)}}
    script = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"a": "b"}}
    door = {"apiVersion": "v1", "kind": "Service", "metadata": metadata}
    found = [
        Companion(kind="ConfigMap", name=name, manifest=script),
        Companion(kind="Service", name=name, manifest={**door, "spec": {"ports": [{"port": 80}]}}),
    ]
    if BOARD.name in settings.served:
        asleep = spec.get("boardAsleep", False)
        body = {"apiVersion": "boards.example/v1", "kind": "Board", "metadata": metadata}
        board = {**body, "spec": {"suspend": asleep}}
        found.append(
            Companion(kind="Board", name=name, manifest=board, enforced_spec={"suspend": asleep})
        )
    return found


def _decoded_status(stored: Json) -> JobStatus:
    if "phase" not in stored:
        return JobStatus()
    kinds = [ConditionType.CREATED.value]
    if stored["phase"] in _PHASES:
        kinds.append(_PHASES[stored["phase"]].value)
    found = [Condition(kind, "True", "", "", None, None) for kind in kinds]
    return JobStatus(conditions=tuple(found))
