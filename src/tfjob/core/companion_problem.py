"""Why a companion such as a TensorBoard does not run, from its Deployment and its newest pod.

The text stays the same as long as the cause does, so that the status that shows it is not written
after each attempt.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tfjob.core.job import Companion, Job
from tfjob.core.observe import Children
from tfjob.k8s.meta import ObjectMeta
from tfjob.k8s.pod import ContainerStatus, Pod

_STARTING = frozenset({"", "ContainerCreating", "PodInitializing"})
_PULLING = frozenset({"ErrImagePull", "ImagePullBackOff"})
_CRASHING = "CrashLoopBackOff"
_REFUSED = "ReplicaFailure"
_MAX_TEXT = 300


def companion_problem(companion: Companion, children: Children) -> str:
    """Why the companion cannot start; empty while it runs, starts or does not exist."""
    found = children.companions.get((companion.kind, companion.name))
    if found is None or found.status.ready_replicas or found.spec.replicas == 0:
        return ""
    pods = [pod for pod in children.companion_pods if _selects(companion, pod.metadata)]
    refusal = _refusal(found.status.conditions)
    return (pod_problem(pods) or refusal)[:_MAX_TEXT]


def pods_of_companions(job: Job, pods: Iterable[Pod]) -> list[Pod]:
    """The pods that controllers of companions created, found by their labels."""
    return [
        pod
        for pod in pods
        if pod.metadata.controller_uid not in {None, job.owner.uid}
        and any(_selects(each, pod.metadata) for each in job.companions)
    ]


def pod_problem(pods: Sequence[Pod]) -> str:
    """Why the newest of these pods does not run; empty while it runs or starts."""
    present = [pod for pod in pods if not pod.metadata.is_terminating]
    newest = max(present, key=lambda pod: pod.metadata.creation_timestamp or "", default=None)
    if newest is None or newest.has_condition("Ready"):
        return ""
    status = newest.status
    for each in (*status.init_container_statuses, *status.container_statuses):
        if problem := _container_problem(each):
            return problem
    for condition in status.conditions:
        if condition.type == "PodScheduled" and condition.status == "False":
            return condition.message or condition.reason
    return ""


def _container_problem(status: ContainerStatus) -> str:
    waiting = status.state.waiting
    ended = status.state.terminated or status.last_state.terminated
    if waiting is not None and waiting.reason in _PULLING:
        return f"the image of container {status.name} cannot be pulled"
    if waiting is not None and waiting.reason not in {*_STARTING, _CRASHING}:
        return f"{waiting.reason}: {waiting.message}" if waiting.message else waiting.reason
    if status.state.running is None and ended is not None and ended.exit_code:
        line = ended.message.strip().partition("\n")[0]
        exited = f"container {status.name} exited with code {ended.exit_code}"
        return f"{exited}: {line}" if line else exited
    return ""


def _refusal(conditions: object) -> str:
    """Why the Deployment's pods cannot be created."""
    for each in conditions if isinstance(conditions, list) else ():
        if isinstance(each, Mapping) and each.get("type") == _REFUSED:
            return str(each.get("message") or "") if each.get("status") == "True" else ""
    return ""


def _selects(companion: Companion, meta: ObjectMeta) -> bool:
    """Whether the companion is a Deployment that selects an object of these labels."""
    selector: Mapping[str, Any] = (companion.manifest.get("spec") or {}).get("selector") or {}
    labels = selector.get("matchLabels")
    if companion.kind != "Deployment" or not labels:
        return False
    return all(meta.labels.get(key) == value for key, value in labels.items())
