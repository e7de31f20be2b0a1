"""Which replica is to blame: the one that failed first and did not come back.

What fails later usually fails because of it. A replica that runs again has been forgiven, unless
nobody else is left to blame. It knows pods, and not what their job makes of them.
"""

import msgspec

from tfjob.core.job import TRAINING_CONTAINER
from tfjob.k8s.pod import ContainerStatus, Phase, Pod, Terminated

_OUT_OF_MEMORY = "OOMKilled"
"""The one reason that says more than the exit code does."""


class Failure(msgspec.Struct, frozen=True):
    replica: str
    why: str


class Failures:
    def __init__(self) -> None:
        self._open: dict[str, Failure] = {}
        self._forgiven: Failure | None = None

    def see(self, replica: str, pod: Pod) -> None:
        """One more look at a replica, in the order in which things happened."""
        why = _why(pod)
        if why and replica not in self._open:
            self._open[replica] = Failure(replica, why)
        elif not why and pod.phase is Phase.RUNNING:
            self._forgive(replica, pod)

    def _forgive(self, replica: str, pod: Pod) -> None:
        """Its failure may have passed between two looks, so that only the pod remembers it."""
        failure = self._open.pop(replica, None)
        if failure is None and (before := _before(pod)):
            failure = Failure(replica, before)
        self._forgiven = failure or self._forgiven

    def first(self) -> Failure | None:
        return next(iter(self._open.values()), self._forgiven)


def _why(pod: Pod) -> str:
    """How the training container, or else the pod, failed; empty while it has not."""
    status = _training(pod)
    if status is not None and status.state.running is None:
        why = _end(status.state.terminated or status.last_state.terminated)
        if why:
            return why
    if pod.phase is Phase.FAILED:
        return pod.status.reason or pod.status.message or "no exit code"
    return ""


def _before(pod: Pod) -> str:
    """How the training container failed before it was started again."""
    status = _training(pod)
    return "" if status is None else _end(status.last_state.terminated)


def _end(ended: Terminated | None) -> str:
    if ended is None or not ended.exit_code:
        return ""
    why = f"exit code {ended.exit_code}"
    return f"{why}, {ended.reason}" if ended.reason == _OUT_OF_MEMORY else why


def _training(pod: Pod) -> ContainerStatus | None:
    statuses = pod.status.container_statuses
    return next((each for each in statuses if each.name == TRAINING_CONTAINER), None)
