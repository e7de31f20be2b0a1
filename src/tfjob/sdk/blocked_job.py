"""Why a job can never run on this machine, although its manifest is valid.

Only lasting reasons count, not an outage or a busy machine. A job is blocked as long as none of its
pods runs, has run or may still start.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from tfjob.core.job import Job
from tfjob.core.status import ConditionType
from tfjob.k8s import quantity
from tfjob.k8s.pod import Pod
from tfjob.k8s.resource_usage import ZERO
from tfjob.local.node.resource_fit import requests_of, shortages
from tfjob.sdk.jobs import ClusterJob
from tfjob.sdk.machine_size import Amounts, amount_text

_CREATE_FAILED: Final = "FailedCreate"
_REFUSALS: Final = (" is invalid: ", " is forbidden", "cannot be handled as a ")
"""How the API server words the errors Invalid, Forbidden and BadRequest."""
_CONFIG_ERROR: Final = "CreateContainerConfigError"
_GATED: Final = "SchedulingGated"
_UNSCHEDULABLE: Final = "Unschedulable"


def is_refusal(reason: str, message: str) -> bool:
    """Whether an event reports a pod that the API server will never accept."""
    return reason.startswith(_CREATE_FAILED) and any(each in message for each in _REFUSALS)


def is_unschedulable(pod: Pod) -> bool:
    return any(
        each.status == "False" and each.reason == _UNSCHEDULABLE for each in pod.status.conditions
    )


def blocked_reason(
    found: ClusterJob,
    pods: Mapping[str, Pod],
    *,
    refusals: Sequence[str],
    allocatable: Amounts | None,
    size_remedy: str,
) -> str:
    """Why no replica of the job can ever run; empty if one may.

    `pods` are the job's pods by the names of their replicas. Without `allocatable`, the size of the
    machine is unknown and blocks nothing. `size_remedy` is the remedy for a job that is too large.
    """
    if found.status.is_true(ConditionType.SUSPENDED):
        return "the job is suspended; set `suspend` to false to run it"
    if not pods:
        return refusals[0] if refusals else ""
    reasons = [
        _pod_reason(found, pod, allocatable, size_remedy=size_remedy) for pod in pods.values()
    ]
    if not all(reasons):
        return ""
    return f"{next(iter(pods))}: {reasons[0]}"


def _pod_reason(
    found: ClusterJob, pod: Pod, allocatable: Amounts | None, *, size_remedy: str
) -> str:
    statuses = (*pod.status.init_container_statuses, *pod.status.container_statuses)
    for status in statuses:
        waiting = status.state.waiting
        if waiting is not None and waiting.reason == _CONFIG_ERROR:
            return f"{waiting.message}; add the missing object to the file"
    for condition in pod.status.conditions:
        if condition.reason == _GATED and condition.status == "False":
            return f"{condition.message}; remove `schedulingGates` from its template"
    if is_unschedulable(pod) and allocatable is not None:
        size = _too_large(found, pod, allocatable)
        return f"{size}; {size_remedy}" if size else ""
    return ""


def _too_large(found: ClusterJob, pod: Pod, allocatable: Amounts) -> str:
    """`requests 8 nvidia.com/gpu, but this machine has 0`; empty if the pod would fit."""
    template = _template_of(found, pod)
    amounts = {name: quantity.parse(text) or ZERO for name, text in allocatable.items()}
    short = shortages(template, used={}, allocatable=amounts)
    if not short:
        return ""
    requests = requests_of(template)
    parts = [
        f"{amount_text(requests[name])} {name}, but this machine has"
        f" {amount_text(amounts.get(name, ZERO))}"
        for name in short
    ]
    return f"requests {' and '.join(parts)}"


def _template_of(found: ClusterJob, pod: Pod) -> Mapping[str, Any]:
    if not isinstance(found.job, Job):
        return {}
    label = pod.metadata.labels.get(found.job.labels.type)
    return next((each.template for each in found.job.replicas if each.label == label), {})
