"""The TensorBoard of a job: a vendor TensorBoard object if the cluster has the API, else our own.

Our own is a Deployment and a Service that read logs from volumes only; other sources get a warning
and never block the job. A TensorBoard never changes its kind once it is created.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from tfjob.core.companion_problem import companion_problem
from tfjob.core.job import Companion, Job
from tfjob.core.observe import Children
from tfjob.core.plan import ChildKind
from tfjob.dialects.base import ChildApi, Settings
from tfjob.dialects.naming import label_value
from tfjob.dialects.tensorstack import api, t9k_scheduler
from tfjob.dialects.tensorstack.tensorboard_spec import Board
from tfjob.k8s.child_types import CompanionObject

VENDOR = ChildApi("TensorBoard", "tensorstack.dev", "v1beta1", "tensorboards", is_optional=True)
OWN = ChildApi("Deployment", "apps", "v1", "deployments")
_API_VERSIONS = {VENDOR.kind: f"{VENDOR.group}/{VENDOR.version}", OWN.kind: "apps/v1"}
_FOLDER = "/t9k/tensorboard"
_PORT = 6006


def companions(
    board: Board | None,
    *,
    name: str,
    job_name: str,
    settings: Settings,
    stored: Mapping[str, Any],
) -> list[Companion]:
    """The objects of the TensorBoard; `stored` is its part of the status."""
    if board is None:
        return []
    if _is_vendors(settings, stored):
        return [_vendors(board, name=name, job_name=job_name)]
    if not board.sources and board.elsewhere:
        return []
    backend = t9k_scheduler.backend_of(settings)
    return [
        _deployment(board, name=name, job_name=job_name, backend=backend),
        _service(name=name, job_name=job_name),
    ]


def warnings(
    board: Board | None, *, settings: Settings, stored: Mapping[str, Any]
) -> list[tuple[str, str]]:
    if board is None or not board.elsewhere or _is_vendors(settings, stored):
        return []
    shown = ", ".join(board.elsewhere)
    message = (
        f"TensorBoard cannot read {shown}: this cluster has no {VENDOR.name}, without which only"
        " t9k://pvc/ and logDir.pvc can be read; the job runs on"
    )
    return [(api.TENSORBOARD_UNSUPPORTED, message)]


def status_of(job: Job, children: Children, *, create_error: str) -> dict[str, Any] | None:
    """The TensorBoard's part of the status, or None if the job requests none.

    `create_error` is why it could not be created.
    """
    main = next((each for each in job.companions if each.kind in _API_VERSIONS), None)
    if main is None:
        return _unsupported(job)
    found = children.companions.get((main.kind, main.name))
    dependent = {
        "apiVersion": _API_VERSIONS[main.kind],
        "kind": main.kind,
        "name": main.name,
        "namespace": job.namespace,
        **({} if found is None else {"uid": found.metadata.uid}),
    }
    problem = companion_problem(main, children)
    state = _state(main.name, found, create_error=create_error, problem=problem)
    return {"name": main.name, "dependent": dependent, **state}


def _unsupported(job: Job) -> dict[str, Any] | None:
    for reason, text in job.warnings:
        if reason == api.TENSORBOARD_UNSUPPORTED:
            return _warnings(kind="Warning", reason="DependentUnsupported", note=text)
    return None


def _state(
    name: str, found: CompanionObject | None, *, create_error: str, problem: str
) -> dict[str, Any]:
    if found is None and create_error:
        return _warnings(kind="Warning", note=create_error)
    if found is None:
        return _warnings(note=f"TensorBoard [{name}] does not exist")
    if found.spec.suspend or found.spec.replicas == 0:
        return _warnings(note=f"TensorBoard [{name}] is suspended")
    if found.status.ready_replicas or found.status.phase == api.RUNNING:
        note = f"TensorBoard [{name}] is ready"
        return _warnings(is_ready=True, reason="DependentReady", note=note)
    if problem:
        return _warnings(kind="Warning", note=f"TensorBoard [{name}] is not ready: {problem}")
    return _warnings(note=f"TensorBoard [{name}] is not ready")


def _warnings(
    *,
    is_ready: bool = False,
    kind: str = "Normal",
    reason: str = "DependentNotReady",
    note: str,
) -> dict[str, Any]:
    return {"ready": is_ready, "reason": reason, "action": "NOP", "note": note, "type": kind}


def _is_vendors(settings: Settings, stored: Mapping[str, Any]) -> bool:
    """An existing TensorBoard keeps its kind, even if the vendor's API is installed later."""
    dependent = stored.get("dependent")
    made = dependent if isinstance(dependent, Mapping) and dependent.get("uid") else {}
    if made.get("kind") == OWN.kind:
        return False
    return made.get("kind") == VENDOR.kind or VENDOR.name in settings.served


def _labels(job_name: str) -> dict[str, str]:
    return {api.LABEL_JOB: label_value(job_name), "app": "tensorboard"}


def _metadata(name: str, job_name: str) -> dict[str, Any]:
    return {"name": name, "labels": {**_labels(job_name), api.LABEL_COMPONENT: api.COMPONENT}}


def _vendors(board: Board, *, name: str, job_name: str) -> Companion:
    manifest = {
        "apiVersion": _API_VERSIONS[VENDOR.kind],
        "kind": VENDOR.kind,
        "metadata": _metadata(name, job_name),
        "spec": board.given,
    }
    kept = {"suspend": board.is_suspended}
    return Companion(kind=VENDOR.kind, name=name, manifest=manifest, enforced_spec=kept)


def _deployment(board: Board, *, name: str, job_name: str, backend: str) -> Companion:
    labels = _labels(job_name)
    kept = {"replicas": 0 if board.is_suspended else 1}
    # The operator watches pods of this component, and reports why this one does not start.
    pod_labels, scheduler = {**labels, api.LABEL_COMPONENT: api.COMPONENT}, {}
    if board.queue and backend == t9k_scheduler.T9K:
        pod_labels[api.LABEL_QUEUE] = label_value(board.queue)
        scheduler = {"schedulerName": api.SCHEDULER}
    claims = list(dict.fromkeys(source.claim for source in board.sources))
    manifest = {
        "apiVersion": _API_VERSIONS[OWN.kind],
        "kind": OWN.kind,
        "metadata": _metadata(name, job_name),
        "spec": {
            **kept,
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": pod_labels},
                "spec": {
                    **scheduler,
                    "containers": [_container(board, claims)],
                    "volumes": [_volume(place, claim) for place, claim in enumerate(claims)],
                },
            },
        },
    }
    return Companion(kind=OWN.kind, name=name, manifest=manifest, enforced_spec=kept)


def _container(board: Board, claims: Sequence[str]) -> dict[str, Any]:
    found: dict[str, Any] = {
        "name": "tensorboard",
        "image": board.image,
        "command": [
            *("tensorboard", "--logdir", _FOLDER),
            *("--host", "0.0.0.0", "--port", str(_PORT)),  # noqa: S104 - inside a pod of its own
        ],
        "ports": [{"name": "http", "containerPort": _PORT}],
        "volumeMounts": [
            {
                "name": _volume_name(claims.index(source.claim)),
                "mountPath": f"{_FOLDER}/{place}-{source.claim}",
                **({"subPath": source.path} if source.path else {}),
                "readOnly": True,
            }
            for place, source in enumerate(board.sources)
        ],
    }
    if board.resources:
        found["resources"] = board.resources
    return found


def _volume(place: int, claim: str) -> dict[str, Any]:
    """A read-only volume, one per claim, because some claims can be attached only once."""
    return {
        "name": _volume_name(place),
        "persistentVolumeClaim": {"claimName": claim, "readOnly": True},
    }


def _volume_name(place: int) -> str:
    return f"logs-{place}"


def _service(*, name: str, job_name: str) -> Companion:
    manifest = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": _metadata(name, job_name),
        "spec": {
            "selector": _labels(job_name),
            "ports": [{"name": "http", "port": 80, "targetPort": _PORT}],
        },
    }
    return Companion(kind=ChildKind.SERVICE, name=name, manifest=manifest)
