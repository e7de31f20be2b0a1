"""Causes that only the events of a pod show: mounts, sandboxes and probes.

A pod's events are read only if its status is not enough: the pod has a node and its sandbox is not
ready, or its container was killed and has a probe. An event counts until a later one shows that the
pod got past the problem.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final

import msgspec

from tfjob.core.diagnosis.causes import Cause
from tfjob.core.job import TRAINING_CONTAINER, Job, ReplicaType
from tfjob.k8s import time
from tfjob.k8s.event import PodEvent
from tfjob.k8s.pod import ContainerStatus, Phase, Pod

FIRST_LOOKUP: Final = timedelta(seconds=3)
_MAX_PERIOD: Final = 7
"""After about six minutes, the events of a pod are read every six minutes."""
_STARTING: Final[Mapping[str, Cause]] = {
    "FailedMount": Cause.MOUNT_FAILED,
    "FailedAttachVolume": Cause.MOUNT_FAILED,
    "FailedMapVolume": Cause.MOUNT_FAILED,
    "FailedCreatePodSandBox": Cause.SANDBOX_FAILED,
}
_GOT_PAST: Final = frozenset({"Pulling", "Pulled", "Created", "Started"})
_OFTEN_ONCE: Final = "FailedMount"
"""A kubelet reports it once for a pod that is new to it, and mounts the volume a moment later."""
_UNHEALTHY: Final = "Unhealthy"
_KILLING: Final = "Killing"
_PROBES: Final = ("Liveness probe", "Startup probe")
_KILLED_BY_PROBE: Final = ("failed liveness probe", "failed startup probe")
_PROBE_FIELDS: Final = ("livenessProbe", "startupProbe")
_SKEW: Final = timedelta(seconds=5)
_LONGEST_GRACE: Final = timedelta(minutes=10)


class Lookup(msgspec.Struct, frozen=True):
    """A pod whose events are to be read, once in each period."""

    uid: str
    period: str


def due_lookup(job: Job, pods: Iterable[Pod], *, now: datetime) -> Lookup | None:
    """The pod whose events would explain more than its status; None if there is none.

    One pod of a job is enough: the others usually wait for the same thing.
    """
    probed = {each.label for each in job.replicas if has_probe(each)}
    label = job.labels.type
    for pod in pods:
        if pod.metadata.is_terminating:
            continue
        if is_starting(pod):
            begun = _scheduled_at(pod)
            if begun is not None and now >= time.add(begun, FIRST_LOOKUP):
                return Lookup(pod.metadata.uid, f"start/{_period(now - begun)}")
        elif probed and pod.metadata.labels.get(label) in probed:
            status = pod.container_status(TRAINING_CONTAINER)
            if status is not None and _has_failed(status):
                return Lookup(pod.metadata.uid, f"run/{status.restart_count}")
    return None


def next_lookup_at(pods: Iterable[Pod], *, now: datetime) -> datetime | None:
    """When the events of the pods that have not started are to be read next."""
    begins = [_scheduled_at(pod) for pod in pods if is_starting(pod)]
    # The scheduler's clock may be ahead, so a time in the future counts too.
    moments = [
        time.add(
            begun,
            FIRST_LOOKUP if now < time.add(begun, FIRST_LOOKUP) else _next_period(now - begun),
        )
        for begun in begins
        if begun is not None
    ]
    return min(moments, default=None)


def relevant(events: Iterable[PodEvent]) -> list[PodEvent]:
    """The events that a diagnosis can use, the newest first.

    Of those that show progress, the newest is enough.
    """
    found: list[PodEvent] = []
    got_past = False
    for event in sorted(events, key=lambda each: each.order, reverse=True):
        if event.reason in _GOT_PAST:
            if not got_past:
                found.append(event)
            got_past = True
        elif (
            event.reason in _STARTING
            or is_probe_kill(event)
            or is_unhealthy(event.reason, event.message)
        ):
            found.append(event)
    return found


def starting_event(pod: Pod, events: Sequence[PodEvent]) -> PodEvent | None:
    """The event that shows why the pod does not start."""
    own = [each for each in events if each.involved_object.uid == pod.metadata.uid]
    for event in sorted(own, key=lambda each: each.order, reverse=True):
        if event.reason in _GOT_PAST:
            return None
        if event.reason == _OFTEN_ONCE and (event.count or 1) < 2:
            continue
        if event.reason in _STARTING:
            return event
    return None


def starting_cause(reason: str) -> Cause | None:
    return _STARTING.get(reason)


def probe_event(pod: Pod, events: Sequence[PodEvent], *, killed_at: datetime | None) -> str:
    """The message about the probe that had the container killed at that time; may be empty."""
    own = [each for each in events if each.involved_object.uid == pod.metadata.uid]
    kills = [each for each in own if is_probe_kill(each) and _is_about(each, killed_at)]
    if not kills:
        return ""
    failed = [each for each in own if is_unhealthy(each.reason, each.message)]
    return max(failed or kills, key=lambda each: each.order).message


def is_unhealthy(reason: str, message: str) -> bool:
    return reason == _UNHEALTHY and message.startswith(_PROBES)


def is_probe_kill(event: PodEvent) -> bool:
    return event.reason == _KILLING and any(each in event.message for each in _KILLED_BY_PROBE)


def has_probe(replica: ReplicaType) -> bool:
    """Whether the kubelet kills the training container when a probe fails."""
    for container in (replica.template.get("spec") or {}).get("containers") or ():
        if container.get("name") == TRAINING_CONTAINER:
            return any(container.get(each) for each in _PROBE_FIELDS)
    return False


def is_starting(pod: Pod) -> bool:
    """Whether the pod has a node, but its volumes and its sandbox are not ready yet."""
    if pod.phase is not Phase.PENDING or not pod.spec.node_name or pod.metadata.is_terminating:
        return False
    if has_sandbox(pod):
        return False
    statuses = (*pod.status.init_container_statuses, *pod.status.container_statuses)
    return all(_is_created(each) for each in statuses)


def has_sandbox(pod: Pod) -> bool:
    """Whether volumes and network are ready, so that only images and containers are left."""
    return pod.has_condition("PodReadyToStartContainers")


def _is_created(status: ContainerStatus) -> bool:
    waiting = status.state.waiting
    return waiting is not None and waiting.reason in {"", "ContainerCreating", "PodInitializing"}


def _scheduled_at(pod: Pod) -> datetime | None:
    for condition in pod.status.conditions:
        if condition.type == "PodScheduled" and condition.status == "True":
            return time.parse(condition.last_transition_time)
    return time.parse(pod.metadata.creation_timestamp)


def _period(age: timedelta) -> int:
    """0 from 3 to 6 seconds, 1 up to 12, 2 up to 24 and so on; later all have the same length."""
    steps = int(age / FIRST_LOOKUP)
    period = steps.bit_length() - 1
    return period if period < _MAX_PERIOD else steps >> _MAX_PERIOD << _MAX_PERIOD


def _next_period(age: timedelta) -> timedelta:
    """The age at which the next period begins."""
    steps = int(age / FIRST_LOOKUP)
    period = min(steps.bit_length(), _MAX_PERIOD)
    return FIRST_LOOKUP * (((steps >> period) + 1) << period)


def _has_failed(status: ContainerStatus) -> bool:
    ended = status.state.terminated or status.last_state.terminated
    return ended is not None and ended.exit_code != 0


def _is_about(event: PodEvent, killed_at: datetime | None) -> bool:
    """Whether the event is about the container that ended at `killed_at`: a killed container ends
    within its grace period."""
    at = event.last_seen
    if at is None or killed_at is None:
        return True
    return -_SKEW <= killed_at - at <= _LONGEST_GRACE
