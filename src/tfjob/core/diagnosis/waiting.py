"""Why a pod waits, according to its scheduler and its kubelet, and whether all pods are idle.

A pod that is making progress (scheduled, pulling, creating) has no cause. An unschedulable pod is
reported only after a few seconds, because the next scheduling attempt often places it.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import Final

import msgspec

from tfjob.core.diagnosis import pod_events
from tfjob.core.diagnosis.causes import Cause
from tfjob.core.observe import ObservedState, ReplicaInstance
from tfjob.core.stuck_pods import WARN_AFTER
from tfjob.k8s import time
from tfjob.k8s.event import PodEvent
from tfjob.k8s.pod import ContainerStatus, Phase, Pod, PodCondition

IDLE: Final = "tfjob.dev/Idle"
"""The condition that the node sets on pods whose processes use no CPU and print nothing."""
SCHEDULING_GRACE: Final = timedelta(seconds=3)
GROUP_SILENCE: Final = timedelta(seconds=30)
"""How long a scheduler may take to report anything about a PodGroup."""
_POD_SILENCE: Final = timedelta(minutes=2)
"""The same for a pod. Of many new pods, kube-scheduler reaches some late."""
_IMAGE: Final = frozenset(
    {
        "ErrImagePull",
        "ImagePullBackOff",
        "ErrImageNeverPull",
        "InvalidImageName",
        "ImageInspectError",
        "RegistryUnavailable",
        "SignatureValidationFailed",
    }
)
_NOT_STARTED: Final = frozenset(
    {"RunContainerError", "CreateContainerError", "StartError", "ContainerCannotRun"}
)
_MISSING: Final = ("not found", "couldn't find key", "non-existent")
_EXECUTION: Final = ("exec", "no command specified", "permission denied", "no such file")
"""Parts of the message about a container whose command cannot be executed."""
_SCHEDULING: Final[Sequence[tuple[Cause, Sequence[str]]]] = (
    (
        Cause.VOLUME_NOT_BOUND,
        ("persistentvolumeclaim", "volume node affinity", "persistent volume"),
    ),
    (
        Cause.DEVICE_NOT_ALLOCATED,
        ("resourceclaim", "resource claim", "cannot allocate all claims", "device class"),
    ),
    (Cause.GANG_INCOMPLETE, ("pod group", "podgroup", "gang")),
    (Cause.INSUFFICIENT_RESOURCES, ("insufficient ", "too many pods", "free ports")),
    (
        Cause.NO_MATCHING_NODE,
        ("didn't match", "untolerated taint", "didn't satisfy", "had taint", "unschedulable"),
    ),
)
"""In order of precedence; the phrases are compared in lower case."""


class Wait(msgspec.Struct, frozen=True, kw_only=True):
    """Why one replica, or the job as a whole if `replica` is empty, does not run yet."""

    cause: Cause
    since: datetime | None = None
    """When it began, if the cluster reports that."""
    replica: str = ""
    node: str = ""
    reason: str = ""
    detail: str = ""
    due: datetime | None = None
    """When to report it, if it lasts until then; None to report it now."""


def of_instance(
    instance: ReplicaInstance, *, now: datetime, events: Sequence[PodEvent] = ()
) -> Iterator[Wait]:
    pod = instance.pod
    if pod is None or instance.is_obsolete or instance.is_completed:
        return
    replica = f"{instance.replica.label.lower()}-{instance.index}"
    if pod.metadata.is_terminating:
        yield from _terminating(pod, replica, now=now)
        return
    if pod.phase in {Phase.SUCCEEDED, Phase.FAILED}:
        return
    containers = [
        found
        for status in (*pod.status.init_container_statuses, *pod.status.container_statuses)
        if (found := _of_container(status, pod, replica)) is not None
    ]
    if containers:
        yield containers[0]
    elif not pod.spec.node_name:
        yield from _of_scheduling(pod, replica, now=now)
    elif pod_events.is_starting(pod):
        yield from _of_start(pod, replica, events)


def _of_container(status: ContainerStatus, pod: Pod, replica: str) -> Wait | None:
    waiting = status.state.waiting
    if waiting is None:
        return None
    if waiting.reason in _IMAGE:
        cause = Cause.IMAGE_NOT_PULLED
    elif waiting.reason == "CreateContainerConfigError":
        cause = _config_cause(waiting.message)
    elif waiting.reason in _NOT_STARTED:
        cause = _start_cause(waiting.message)
    else:
        return None
    return Wait(
        cause=cause,
        since=None,
        replica=replica,
        node=pod.spec.node_name,
        reason=waiting.reason,
        detail=waiting.message,
    )


def due_after(since: datetime | None, grace: timedelta, *, now: datetime) -> datetime | None:
    """When to report a wait; None to report it now. A time in the future comes from another clock
    and does not show how long the wait has lasted."""
    if since is None or since > now:
        return None
    due = time.add(since, grace)
    return due if now < due else None


def silent_until(created: datetime | None, silence: timedelta, *, now: datetime) -> datetime | None:
    """When to report that a scheduler has ignored a new object; None to report it now.

    An object that seems to be created in the future is new, so its full grace applies.
    """
    due = now if created is None else time.add(created, silence)
    return due if now < due else None


def _config_cause(message: str) -> Cause:
    # The local node mounts volumes while it creates the container.
    if "persistentvolumeclaim" in message:
        return Cause.VOLUME_NOT_BOUND
    is_missing = any(each in message for each in _MISSING)
    return Cause.CONFIG_MISSING if is_missing else Cause.CONTAINER_NOT_CREATED


def _start_cause(message: str) -> Cause:
    is_command = any(each in message.lower() for each in _EXECUTION)
    return Cause.CONTAINER_NOT_STARTED if is_command else Cause.CONTAINER_NOT_CREATED


def _of_start(pod: Pod, replica: str, events: Sequence[PodEvent]) -> Iterator[Wait]:
    event = pod_events.starting_event(pod, events)
    cause = None if event is None else pod_events.starting_cause(event.reason)
    if event is not None and cause is not None:
        yield Wait(
            cause=cause,
            since=None,
            replica=replica,
            node=pod.spec.node_name,
            reason=event.reason,
            detail=event.message,
        )


def _of_scheduling(pod: Pod, replica: str, *, now: datetime) -> Iterator[Wait]:
    is_known = False
    for condition in pod.status.conditions:
        is_known = is_known or condition.type == "PodScheduled"
        if condition.type != "PodScheduled" or condition.status == "True":
            continue
        since = time.parse(condition.last_transition_time)
        is_gated = condition.reason == Cause.SCHEDULING_GATED
        yield Wait(
            cause=scheduling_cause(condition),
            since=since,
            replica=replica,
            reason=condition.reason,
            detail=condition.message,
            due=None if is_gated else due_after(since, SCHEDULING_GRACE, now=now),
        )
    created = time.parse(pod.metadata.creation_timestamp)
    if not is_known and created is not None:
        name = pod.spec.scheduler_name
        yield Wait(
            cause=Cause.SCHEDULER_SILENT,
            since=created,
            replica=replica,
            detail=f"schedulerName {name}" if name else "",
            due=silent_until(created, _POD_SILENCE, now=now),
        )


def scheduling_cause(condition: PodCondition) -> Cause:
    """Why a pod has no node, according to its scheduler's message."""
    if condition.reason == Cause.SCHEDULING_GATED:
        return Cause.SCHEDULING_GATED
    message = condition.message.lower()
    for cause, phrases in _SCHEDULING:
        if any(phrase in message for phrase in phrases):
            return cause
    return Cause.UNSCHEDULABLE


def _terminating(pod: Pod, replica: str, *, now: datetime) -> Iterator[Wait]:
    gone_by = time.parse(pod.metadata.deletion_timestamp)
    if gone_by is not None and now >= time.add(gone_by, WARN_AFTER):
        yield Wait(
            cause=Cause.STUCK_TERMINATING,
            since=gone_by,
            replica=replica,
            node=pod.spec.node_name,
        )


def of_stalled_job(observed: ObservedState) -> Iterator[Wait]:
    """One wait if all replicas are idle, since the last of them became idle; else none.

    A replica that waits for others is idle too, so one idle replica says nothing about the job.
    """
    found: list[PodCondition] = []
    for instance in _unfinished(observed):
        condition = _idle_condition(instance)
        # Most jobs return here at their first replica.
        if condition is None:
            return
        found.append(condition)
    if found:
        latest = max(found, key=lambda each: each.last_transition_time or "")
        since = time.parse(latest.last_transition_time)
        yield Wait(cause=Cause.STALLED, since=since, reason=latest.reason, detail=latest.message)


def _unfinished(observed: ObservedState) -> Iterator[ReplicaInstance]:
    for instances in observed.instances.values():
        for instance in instances:
            if not instance.is_completed and not instance.is_succeeded:
                yield instance


def _idle_condition(instance: ReplicaInstance) -> PodCondition | None:
    if instance.pod is None or not instance.is_active:
        return None
    conditions = instance.pod.status.conditions
    return next((each for each in conditions if each.type == IDLE and each.status == "True"), None)
