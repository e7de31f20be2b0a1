"""Why a job can never run on this machine, although its manifest is valid.

Only what cannot pass by itself counts: an outage or a busy machine does not. A job counts as
blocked while it has no pod that runs, has run or may still start.
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

Amounts = Mapping[str, str]
"""The allocatable resources of a node, as its status lists them."""
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
) -> str:
    """Why nothing of the job can ever run; empty if something may.

    `pods` are the job's pods by the names of their replicas. Without `allocatable` the size of the
    machine is unknown and blocks nothing.
    """
    if found.status.is_true(ConditionType.SUSPENDED):
        return "the job is suspended; set `suspend` to false to run it"
    if not pods:
        return refusals[0] if refusals else ""
    reasons = [_pod_reason(found, pod, allocatable) for pod in pods.values()]
    if not all(reasons):
        return ""
    return f"{next(iter(pods))}: {reasons[0]}"


def _pod_reason(found: ClusterJob, pod: Pod, allocatable: Amounts | None) -> str:
    statuses = (*pod.status.init_container_statuses, *pod.status.container_statuses)
    for status in statuses:
        waiting = status.state.waiting
        if waiting is not None and waiting.reason == _CONFIG_ERROR:
            return f"{waiting.message}; add the missing object to the file"
    for condition in pod.status.conditions:
        if condition.reason == _GATED and condition.status == "False":
            return f"{condition.message}; remove `schedulingGates` from its template"
    if is_unschedulable(pod) and allocatable is not None:
        return _too_large(found, pod, allocatable)
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
        f"{requests[name].render()} {name}, but this machine has {allocatable.get(name, '0')}"
        for name in short
    ]
    return f"requests {' and '.join(parts)}; lower the request to run the job here"


def _template_of(found: ClusterJob, pod: Pod) -> Mapping[str, Any]:
    if not isinstance(found.job, Job):
        return {}
    label = pod.metadata.labels.get(found.job.labels.type)
    return next((each.template for each in found.job.replicas if each.label == label), {})
