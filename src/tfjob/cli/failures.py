"""Which replica is to blame: the one that failed first and did not come back.

What fails later usually fails because of it. A replica that runs again has been forgiven, unless
nobody else is left to blame. It knows pods, and not what their job makes of them.
"""

import msgspec

from tfjob.core.job import TRAINING_CONTAINER
from tfjob.k8s.pod import Phase, Pod


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
        elif not why and replica in self._open and pod.phase is Phase.RUNNING:
            self._forgiven = self._open.pop(replica)

    def first(self) -> Failure | None:
        return next(iter(self._open.values()), self._forgiven)


def _why(pod: Pod) -> str:
    """How the training container, or else the pod, failed; empty while it has not."""
    for status in pod.status.container_statuses:
        if status.name != TRAINING_CONTAINER or status.state.running is not None:
            continue
        ended = status.state.terminated or status.last_state.terminated
        if ended is not None and ended.exit_code:
            return f"exit code {ended.exit_code}"
    if pod.phase is Phase.FAILED:
        return pod.status.reason or pod.status.message or "no exit code"
    return ""
