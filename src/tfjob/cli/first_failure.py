"""Which replica's failure explains the failure of its job, and a hint for common ones.

The earliest failure by finish time wins, because later ones usually follow from it. A replica that
was restarted and runs again is cleared, unless another replica fails within a minute of its
failure: a restarted TensorFlow worker makes its peers abort. A pod that ends while it is being
deleted has not failed by itself.
"""

import re
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

import msgspec

from tfjob.core.job import TRAINING_CONTAINER
from tfjob.k8s import time
from tfjob.k8s.pod import Phase, Pod, Terminated

OUT_OF_MEMORY: Final = "OOMKilled"
"""The one container reason that says more than the exit code does."""
_MISSING_MODULE: Final = re.compile(
    r"(?:ModuleNotFoundError|ImportError): No module named '?([\w.]+)"
)
_KNOCK_ON: Final = timedelta(seconds=60)
"""A failure this soon after that of another replica counts as its consequence."""


class Failure(msgspec.Struct, frozen=True):
    replica: str
    why: str
    finished: datetime | None = None
    is_out_of_memory: bool = False


class Failures:
    """The failures of all replicas, in the order in which they were observed."""

    def __init__(self) -> None:
        self._open: dict[str, Failure] = {}
        self._recovered: list[Failure] = []
        self._deleted: Failure | None = None

    def observe(self, replica: str, pod: Pod) -> None:
        """Record the state of a replica; call it in the order of events."""
        failure = _failure(replica, pod)
        if failure is not None and pod.metadata.is_terminating:
            self._deleted = self._deleted or failure
        elif failure is not None:
            self._open.setdefault(replica, failure)
        elif pod.phase is Phase.RUNNING:
            self._recover(replica, pod)

    def first(self) -> Failure | None:
        """The failure to report; None if no replica has failed."""
        if not self._open:
            return self._recovered[-1] if self._recovered else self._deleted
        final = _earliest(list(self._open.values()))
        causes = [each for each in self._recovered if _is_cause(each, final)]
        return _earliest([*causes, final])

    def _recover(self, replica: str, pod: Pod) -> None:
        """The failure may not have been observed itself: then `lastState` holds it."""
        failure = self._open.pop(replica, None) or _previous_failure(replica, pod)
        if failure is not None and failure not in self._recovered:
            self._recovered.append(failure)


def memory_text(failure: Failure, limit: str) -> str:
    """How the replica failed, with its memory limit if it exceeded it."""
    if not failure.is_out_of_memory or not limit:
        return failure.why
    return f"{failure.why}: it used more than its memory limit of {limit}"


def exit_text(ended: Terminated | None) -> str:
    """`exit code 3`, and the reason where that says more; empty for success."""
    if ended is None or not ended.exit_code:
        return ""
    why = f"exit code {ended.exit_code}"
    return f"{why}, {ended.reason}" if ended.reason == OUT_OF_MEMORY else why


def hint_for(lines: Sequence[str], *, python: str) -> str:
    """What to try next after a failure with these last lines; empty if they give no clue."""
    for line in reversed(lines):
        match = _MISSING_MODULE.search(line)
        if match:
            return (
                f"{match[1]} is not installed for {python or 'this Python'}; activate the virtual"
                " environment that has it, or name its Python with --python"
            )
    return ""


def _earliest(failures: list[Failure]) -> Failure:
    """By finish time; the first one observed if a time is missing."""
    times = [each.finished for each in failures if each.finished is not None]
    if len(times) < len(failures):
        return failures[0]
    return failures[times.index(min(times))]


def _is_cause(failure: Failure, final: Failure) -> bool:
    if failure.replica == final.replica or failure.finished is None or final.finished is None:
        return False
    return timedelta() <= final.finished - failure.finished <= _KNOCK_ON


def _failure(replica: str, pod: Pod) -> Failure | None:
    """How the training container, or else the pod, failed; None while it has not."""
    status = pod.container_status(TRAINING_CONTAINER)
    if status is not None and status.state.running is None:
        failure = _container_failure(
            replica, status.state.terminated or status.last_state.terminated
        )
        if failure is not None:
            return failure
    if pod.phase is Phase.FAILED:
        return Failure(replica, pod.status.reason or pod.status.message or "no exit code")
    return None


def _previous_failure(replica: str, pod: Pod) -> Failure | None:
    """How the training container failed before its last restart."""
    status = pod.container_status(TRAINING_CONTAINER)
    return None if status is None else _container_failure(replica, status.last_state.terminated)


def _container_failure(replica: str, ended: Terminated | None) -> Failure | None:
    if ended is None or not ended.exit_code:
        return None
    return Failure(
        replica,
        exit_text(ended),
        finished=time.parse(ended.finished_at),
        is_out_of_memory=ended.reason == OUT_OF_MEMORY,
    )
