"""The fields of a pod that the controller reads: phase, container states and conditions.

Of the spec only the node name, the PodGroup and the restart policy are read, which determines the
containers that the kubelet restarts.
"""

from collections.abc import Sequence
from enum import StrEnum
from typing import Final

import msgspec

from tfjob.k8s.meta import ObjectMeta


class Phase(StrEnum):
    PENDING = "Pending"
    RUNNING = "Running"
    SUCCEEDED = "Succeeded"
    FAILED = "Failed"
    UNKNOWN = "Unknown"


MAX_OUTPUT = 2048
"""Characters kept of the output of a container; a kubelet reports up to 12 KiB of a pod."""
MAX_TEXT = 1024
"""Characters kept of the message of a waiting container."""


class Terminated(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    exit_code: int = 0
    reason: str = ""
    message: str = ""
    """The end of it: the last lines say most."""
    started_at: str | None = None
    finished_at: str | None = None

    def __post_init__(self) -> None:
        if len(self.message) > MAX_OUTPUT:
            msgspec.structs.force_setattr(self, "message", self.message[-MAX_OUTPUT:])


class Waiting(msgspec.Struct, frozen=True, gc=False):
    reason: str = ""
    message: str = ""

    def __post_init__(self) -> None:
        if len(self.message) > MAX_TEXT:
            msgspec.structs.force_setattr(self, "message", self.message[:MAX_TEXT])


class Running(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    started_at: str | None = None


class ContainerState(msgspec.Struct, frozen=True, gc=False):
    waiting: Waiting | None = None
    running: Running | None = None
    terminated: Terminated | None = None


_BEING_CREATED: Final = frozenset({"", "ContainerCreating", "PodInitializing"})


class ContainerStatus(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    name: str = ""
    restart_count: int = 0
    state: ContainerState = ContainerState()
    last_state: ContainerState = ContainerState()

    @property
    def last_run(self) -> int:
        """The number of the run that `last_state` describes, counted from 0.

        While a container waits for a restart, the kubelet has not counted that restart; one that
        is being created is counted. One that runs again has ended before, counted or not.
        """
        if self.state.waiting is not None and self.state.waiting.reason not in _BEING_CREATED:
            return self.restart_count
        first = 0 if self.state.running is not None else -1
        return max(self.restart_count - 1, first)


class PodCondition(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    type: str = ""
    status: str = ""
    reason: str = ""
    message: str = ""
    last_transition_time: str | None = None


class PodStatus(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    phase: str = ""
    observed_generation: int = 0
    reason: str = ""
    message: str = ""
    start_time: str | None = None
    conditions: Sequence[PodCondition] = ()
    container_statuses: Sequence[ContainerStatus] = ()
    init_container_statuses: Sequence[ContainerStatus] = ()


class SchedulingGroup(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    pod_group_name: str = ""


class PodSpec(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    node_name: str = ""
    restart_policy: str = ""
    scheduler_name: str = ""
    scheduling_group: SchedulingGroup | None = None


class Pod(msgspec.Struct, frozen=True, gc=False):
    metadata: ObjectMeta
    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()

    @property
    def phase(self) -> Phase:
        """The reported phase; Pending if there is none yet, Unknown for an unknown value."""
        text = self.status.phase
        if not text:
            return Phase.PENDING
        return _PHASES.get(text, Phase.UNKNOWN)

    def container_status(self, name: str) -> ContainerStatus | None:
        """The status of a container, or None if none is reported."""
        for status in self.status.container_statuses:
            if status.name == name:
                return status
        return None

    def terminated(self, container: str) -> Terminated | None:
        """The terminated state of a container, or None if it has not terminated."""
        status = self.container_status(container)
        return None if status is None else status.state.terminated

    @property
    def restart_count(self) -> int:
        """Restarts of all containers, init containers included."""
        regular = sum(each.restart_count for each in self.status.container_statuses)
        return regular + sum(each.restart_count for each in self.status.init_container_statuses)

    def has_condition(self, name: str) -> bool:
        return any(each.type == name and each.status == "True" for each in self.status.conditions)


_PHASES = {str(phase): phase for phase in Phase}
