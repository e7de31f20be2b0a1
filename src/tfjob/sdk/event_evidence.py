"""Causes that only events show: mounts, sandboxes, probes, and failed creates of other operators.

Events are used only if the pods and the stored status do not show the cause. An event counts only
while its pod exists and does not run; for a probe, if its pod was restarted.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from tfjob.core.diagnosis import api_refusals, pod_events
from tfjob.core.diagnosis.causes import CATALOGUE, Cause
from tfjob.core.diagnosis.diagnosis import Diagnosis, fitted
from tfjob.k8s import time
from tfjob.k8s.pod import Phase, Pod
from tfjob.sdk import jobs
from tfjob.sdk.job_events import WARNING, JobEvent
from tfjob.sdk.jobs import ClusterJob

_CREATE_FAILED: Final = "FailedCreate"


def cause_in(
    found: ClusterJob, pods: Sequence[Pod], events: Sequence[JobEvent], *, now: datetime
) -> Diagnosis | None:
    """The cause that the latest relevant event shows; None if there is no such event."""
    by_uid = {pod.metadata.uid: pod for pod in pods}
    for event in reversed(events):
        pod = by_uid.get(event.involved_object.uid)
        cause = _refusal(event, pods) if pod is None else _of_pod(event, pod)
        if event.type == WARNING and cause is not None:
            return _diagnosis(found, cause, event, pod, now=now)
    return None


def _of_pod(event: JobEvent, pod: Pod) -> Cause | None:
    if pod.phase is Phase.PENDING:
        # An old warning no longer counts once the sandbox is ready and the image is being pulled.
        return None if pod_events.has_sandbox(pod) else pod_events.starting_cause(event.reason)
    is_probe = pod_events.is_unhealthy(event.reason, event.message)
    return Cause.PROBE_FAILED if is_probe and pod.restart_count else None


def _refusal(event: JobEvent, pods: Sequence[Pod]) -> Cause | None:
    """A refused create of a job that has no pod at all."""
    if pods or not event.reason.startswith(_CREATE_FAILED):
        return None
    return api_refusals.cause_of(event.message)


def _diagnosis(
    found: ClusterJob, cause: Cause, event: JobEvent, pod: Pod | None, *, now: datetime
) -> Diagnosis:
    replica = "" if pod is None else jobs.replica_name(found, pod)
    return fitted(
        Diagnosis(
            cause=cause,
            message=f"{replica or 'the job'} {CATALOGUE[cause].text} ({event.message})",
            since=time.parse(event.last_timestamp) or now,
            replica=replica,
            node="" if pod is None else pod.spec.node_name,
            reason=event.reason,
        )
    )
