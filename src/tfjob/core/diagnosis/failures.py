"""Reads the failures of a replica from its pod: what ended it, when, and on what evidence.

A failure is identified by the pod's UID and the number of the container's run. A disrupted pod has
one failure, the disruption; how its containers end afterwards is not evidence of anything.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Final

import msgspec

from tfjob.core.diagnosis import pod_events
from tfjob.core.diagnosis.causes import Cause
from tfjob.core.diagnosis.diagnosis import Incident, fitted_incident
from tfjob.core.diagnosis.training_errors import error_in
from tfjob.core.job import TRAINING_CONTAINER, ReplicaType
from tfjob.core.observe import ReplicaInstance
from tfjob.core.pod_state import deletion_requested_at
from tfjob.k8s import time
from tfjob.k8s.event import PodEvent
from tfjob.k8s.pod import ContainerStatus, Phase, Pod, Terminated

_SIGNALS: Final = 128
"""Exit codes above this one are signals."""
_FROM_OUTSIDE: Final = frozenset({9, 15})
"""SIGKILL and SIGTERM come from outside: what the program printed before is not why it ended."""
_START_ERRORS: Final = frozenset({"StartError", "ContainerCannotRun", "RunContainerError"})
_START_CODES: Final = frozenset({126, 127, 128})
_OUT_OF_MEMORY: Final = "OOMKilled"
_BY_KUBELET: Final = "TerminationByKubelet"
_LOST_TRACK: Final = "ContainerStatusUnknown"
"""The kubelet does not know how the container ended; its exit code is made up."""
_TARGETS: Final[Mapping[str, Cause]] = {
    "PreemptionByScheduler": Cause.PREEMPTED,
    "EvictionByEvictionAPI": Cause.DRAINED,
    "DeletionByTaintManager": Cause.NODE_LOST,
    "DeletionByPodGC": Cause.NODE_LOST,
}
"""Reasons of the condition DisruptionTarget. For TerminationByKubelet, see the pod's reason."""
_POD_REASONS: Final[Mapping[str, Cause]] = {
    "Evicted": Cause.NODE_PRESSURE,
    "Preempting": Cause.PREEMPTED,
    "NodeLost": Cause.NODE_LOST,
    "NodeShutdown": Cause.NODE_LOST,
    "Shutdown": Cause.NODE_LOST,
    "Terminated": Cause.NODE_LOST,
    "UnexpectedAdmissionError": Cause.POD_REJECTED,
    "NodeAffinity": Cause.POD_REJECTED,
    "OutOfcpu": Cause.POD_REJECTED,
    "OutOfmemory": Cause.POD_REJECTED,
    "OutOfpods": Cause.POD_REJECTED,
    "NoCommand": Cause.CONTAINER_NOT_STARTED,  # only the local node, which has no images
}


class Failure(msgspec.Struct, frozen=True):
    """An observed failure, and what is needed to decide whether it is only a consequence."""

    incident: Incident
    replica: ReplicaType
    started: datetime | None = None
    output: str = ""
    follows: str = ""
    """The key of the failure for which the operator restarts this replica with its group."""


def of_instance(
    instance: ReplicaInstance, *, now: datetime, events: Sequence[PodEvent] = ()
) -> Iterator[Failure]:
    pod = instance.pod
    if pod is None or instance.is_obsolete or instance.is_completed:
        return
    seen = _Seen(instance, pod, time.truncate(now), events)
    status = pod.container_status(TRAINING_CONTAINER)
    if instance.is_superseded:
        yield seen.group_restart(instance.incident)
        return
    before = [] if status is None else list(_before(seen, status))
    if _is_of_earlier_run(instance.incident, pod):
        yield from (each for each in before if each.incident.key == instance.incident)
        return
    yield from before
    if instance.is_failed and instance.is_disrupted:
        yield seen.disruption(0 if status is None else status.restart_count)
        return
    ended = None if status is None else status.state.terminated
    if status is not None and ended is not None and ended.exit_code:
        yield seen.exit(ended, run=status.restart_count)
    elif _has_failed_as_a_whole(instance, pod, ended) and not _has_init_failure(pod):
        yield seen.pod_failure(0 if status is None else status.restart_count)
    yield from _init_failures(seen)


def _has_failed_as_a_whole(instance: ReplicaInstance, pod: Pod, ended: Terminated | None) -> bool:
    """Whether the pod as it is now has failed.

    A replica can also count as failed because of an earlier run of a container that was restarted.
    """
    is_over = ended is not None or pod.phase in {Phase.FAILED, Phase.SUCCEEDED}
    return instance.phase is Phase.FAILED and is_over


def _is_of_earlier_run(incident: str, pod: Pod) -> bool:
    """Whether the pod is replaced because of a run before its current one."""
    return incident.startswith(f"{pod.metadata.uid}/") and incident != last_key(pod)


def last_key(pod: Pod) -> str:
    """The key of the failure with which the pod has ended."""
    return f"{pod.metadata.uid}/{training_restarts(pod)}"


def key_before_restart(pod: Pod) -> str:
    """The key of the failure before the last restart in place."""
    return f"{pod.metadata.uid}/{training_restarts(pod) - 1}"


class EndedRun(msgspec.Struct, frozen=True):
    """A run of the training container that has ended in a pod that continues."""

    key: str
    run: int
    finished: datetime | None
    is_counted: bool
    """The kubelet has already counted the restart that follows."""


def last_ended_run(pod: Pod) -> EndedRun | None:
    """The last run that the kubelet restarts or has restarted in place."""
    status = pod.container_status(TRAINING_CONTAINER)
    if status is None:
        return None
    ended, run = status.state.terminated, status.restart_count
    if ended is None or not ended.exit_code:
        ended, run = status.last_state.terminated, status.last_run
    if ended is None or run < 0:
        return None
    return EndedRun(
        key=f"{pod.metadata.uid}/{run}",
        run=run,
        finished=time.parse(ended.finished_at),
        is_counted=run < status.restart_count,
    )


def training_restarts(pod: Pod) -> int:
    """How often the kubelet has restarted the training container."""
    status = pod.container_status(TRAINING_CONTAINER)
    return 0 if status is None else status.restart_count


def _before(seen: "_Seen", status: ContainerStatus) -> Iterator[Failure]:
    """The failure before the last restart in place; the status shows none before that."""
    ended, run = status.last_state.terminated, status.last_run
    if ended is not None and ended.exit_code and run >= 0:
        yield seen.exit(ended, run=run)


def _has_init_failure(pod: Pod) -> bool:
    return any(
        each.state.terminated is not None and each.state.terminated.exit_code
        for each in pod.status.init_container_statuses
    )


def _init_failures(seen: "_Seen") -> Iterator[Failure]:
    for status in seen.pod.status.init_container_statuses:
        ended, run = status.state.terminated, status.restart_count
        if ended is None or not ended.exit_code:
            ended, run = status.last_state.terminated, status.last_run
        if ended is not None and ended.exit_code and run >= 0:
            yield seen.init_failure(status.name, ended, run=run)
            return


class _Seen:
    """One observed pod of a replica."""

    def __init__(
        self, instance: ReplicaInstance, pod: Pod, now: datetime, events: Sequence[PodEvent]
    ) -> None:
        self._instance = instance
        self.pod = pod
        self._now = now
        self._events = events

    def exit(self, ended: Terminated, *, run: int) -> Failure:
        """The end of the training container."""
        replica = self._instance.replica
        cause, detail = _exit_cause(ended, replica)
        if cause is Cause.OUT_OF_MEMORY:
            limit = _memory_limit(replica)
            detail = f"limit {limit}" if limit else ""
        elif probe := self._failed_probe(ended):
            cause, detail = Cause.PROBE_FAILED, probe
        return self._failure(f"{run}", cause, ended=ended, detail=detail)

    def _failed_probe(self, ended: Terminated) -> str:
        if not self._events:
            return ""
        killed_at = time.parse(ended.finished_at)
        return pod_events.probe_event(self.pod, self._events, killed_at=killed_at)

    def init_failure(self, container: str, ended: Terminated, *, run: int) -> Failure:
        cause = Cause.INIT_CONTAINER_FAILED
        return self._failure(f"{container}/{run}", cause, ended=ended, detail=container)

    def disruption(self, run: int) -> Failure:
        pod = self.pod
        target = next(
            (
                each
                for each in pod.status.conditions
                if each.type == "DisruptionTarget" and each.status == "True"
            ),
            None,
        )
        at = None if target is None else time.parse(target.last_transition_time)
        if target is not None and target.reason != _BY_KUBELET:
            cause = _TARGETS.get(target.reason, Cause.POD_DELETED)
            reason, detail = target.reason, target.message
        else:
            other = Cause.POD_DELETED if target is None else Cause.NODE_PRESSURE
            cause = _POD_REASONS.get(pod.status.reason, other)
            reason, detail = pod.status.reason, pod.status.message
            if target is not None:
                reason, detail = reason or target.reason, detail or target.message
        at = at or deletion_requested_at(pod.metadata) or _latest_end(pod)
        return self._failure(f"{run}", cause, at=at, reason=reason, detail=detail)

    def group_restart(self, incident: str) -> Failure:
        """The end of a pod whose group the operator restarts."""
        at = _latest_end(self.pod) or deletion_requested_at(self.pod.metadata)
        run = f"{training_restarts(self.pod)}"
        found = self._failure(run, Cause.KILLED, at=at)
        return msgspec.structs.replace(found, follows=incident)

    def pod_failure(self, run: int) -> Failure:
        """The failure of a pod of which no container shows the cause."""
        status = self.pod.status
        cause = _POD_REASONS.get(status.reason, Cause.UNKNOWN)
        at = _latest_end(self.pod)
        return self._failure(f"{run}", cause, at=at, reason=status.reason, detail=status.message)

    def _failure(
        self,
        run: str,
        cause: Cause,
        *,
        ended: Terminated | None = None,
        at: datetime | None = None,
        reason: str = "",
        detail: str = "",
    ) -> Failure:
        at = (time.parse(ended.finished_at) if ended is not None else at) or self._now
        incident = Incident(
            key=f"{self.pod.metadata.uid}/{run}",
            cause=cause,
            kind=self._instance.replica.label.lower(),
            index=self._instance.index,
            at=time.truncate(at),
            node=self.pod.spec.node_name,
            exit_code=None if ended is None else ended.exit_code,
            reason=reason if ended is None else ended.reason,
            detail=detail,
        )
        return Failure(
            # In the stored form, so that it stays the same once its pod is gone.
            fitted_incident(incident),
            self._instance.replica,
            started=None if ended is None else time.parse(ended.started_at),
            output="" if ended is None else ended.message,
        )


def _exit_cause(ended: Terminated, replica: ReplicaType) -> tuple[Cause, str]:
    """The cause of an exit, and what the output says about it."""
    if ended.reason == _OUT_OF_MEMORY:
        return Cause.OUT_OF_MEMORY, ""
    if ended.reason == _LOST_TRACK:
        return Cause.UNKNOWN, ended.message
    if ended.reason in _START_ERRORS or ended.exit_code in _START_CODES:
        return Cause.CONTAINER_NOT_STARTED, ended.message.strip().rpartition("\n")[2]
    signal = ended.exit_code - _SIGNALS
    if signal not in _FROM_OUTSIDE:
        found = error_in(ended.message, uses_accelerator=_uses_accelerator(replica))
        if found is not None:
            return found.cause, found.line
    return (Cause.KILLED, f"signal {signal}") if signal > 0 else (Cause.PROGRAM_FAILED, "")


def _latest_end(pod: Pod) -> datetime | None:
    ends = [
        moment
        for status in pod.status.container_statuses
        if status.state.terminated is not None
        and (moment := time.parse(status.state.terminated.finished_at)) is not None
    ]
    return max(ends, default=None)


def _memory_limit(replica: ReplicaType) -> str:
    return str(_limits(replica).get("memory", ""))


def _uses_accelerator(replica: ReplicaType) -> bool:
    """Whether the replica asks for a device of a vendor, such as nvidia.com/gpu."""
    return any("/" in name for name in _limits(replica))


def _limits(replica: ReplicaType) -> Mapping[str, object]:
    for container in (replica.template.get("spec") or {}).get("containers") or ():
        if container.get("name") == TRAINING_CONTAINER:
            resources = container.get("resources")
            limits = resources.get("limits") if isinstance(resources, Mapping) else None
            return limits if isinstance(limits, Mapping) else {}
    return {}
