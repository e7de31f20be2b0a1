"""What one pod's own report says: whether it has ended, and whether it was disrupted.

The only judgement of either: status, clean-up, counts and limits all ask here. A kubelet reports
a container's end about a second before the pod's phase leaves Running.
"""

from datetime import datetime, timedelta

from tfjob.core.job import TRAINING_CONTAINER, RestartPolicy, Rules
from tfjob.core.time_math import shifted
from tfjob.k8s import time
from tfjob.k8s.meta import ObjectMeta
from tfjob.k8s.pod import ContainerStatus, Phase, Pod, Terminated

_ENDED = frozenset({Phase.SUCCEEDED, Phase.FAILED})
_DISRUPTIONS = frozenset(
    {"Evicted", "NodeLost", "NodeShutdown", "Preempting", "Shutdown", "Terminated"}
)


def has_ended(pod: Pod, *, policy: str = "") -> bool:
    """All its containers have ended and none is started again; native sidecars do not count.

    `policy` is the restart policy the pod was made with, where the pod itself does not say.
    """
    if pod.phase in _ENDED:
        return True
    statuses = pod.status.container_statuses
    if pod.phase is Phase.PENDING or not statuses:
        return False
    policy = pod.spec.restart_policy or policy or RestartPolicy.ALWAYS
    if pod.metadata.is_terminating:
        policy = RestartPolicy.NEVER
    return all(_has_ended_for_good(each, policy) for each in statuses)


def judged_phase(pod: Pod, *, policy: str) -> Phase:
    """The phase of the replica: its pod's, unless the training container has ended for good.

    `policy` is the pod's own restart policy, which says what its kubelet starts again.
    """
    phase = pod.phase
    if phase in {Phase.PENDING, Phase.SUCCEEDED} or policy == RestartPolicy.ALWAYS:
        return phase
    ended = pod.terminated(TRAINING_CONTAINER)
    if ended is None:
        return phase
    if ended.exit_code == 0:
        return Phase.SUCCEEDED
    return phase if policy == RestartPolicy.ON_FAILURE else Phase.FAILED


def is_disrupted(pod: Pod, rules: Rules) -> bool:
    """The cluster or a user ended this pod, not the program in it; the exit code says nothing."""
    if pod.metadata.is_terminating and not _ended_before_deletion(pod):
        return True
    return not rules.counts_evictions and is_evicted(pod)


def is_evicted(pod: Pod) -> bool:
    """It was evicted, preempted, or lost with its node."""
    return pod.status.reason in _DISRUPTIONS or pod.has_condition("DisruptionTarget")


def deletion_asked_at(meta: ObjectMeta) -> datetime | None:
    """When the deletion of an object on its way out was asked for."""
    gone_by = time.parse(meta.deletion_timestamp)
    grace = timedelta(seconds=meta.deletion_grace_period_seconds or 0)
    return None if gone_by is None else shifted(gone_by, -grace)


def _ended_before_deletion(pod: Pod) -> bool:
    """The training container had ended when the deletion was asked for, as far as times tell.

    Asked only of a pod whose end and deletion are first seen together. With a grace period of 0
    the time of the request is lost: a kubelet that is done with a pod moves it to now. An API
    server removes a pod that has ended at once, unless a finalizer holds it, so that one without
    finalizers was still running when its deletion was asked for. A container that its kubelet was
    about to start again had not ended.
    """
    meta = pod.metadata
    if meta.deletion_grace_period_seconds == 0 and not meta.finalizers:
        return False
    ended = pod.terminated(TRAINING_CONTAINER)
    if ended is None or _starts_again(ended, pod.spec.restart_policy):
        return False
    finished, asked = time.parse(ended.finished_at), deletion_asked_at(meta)
    return finished is not None and asked is not None and finished < asked


def _starts_again(ended: Terminated, policy: str) -> bool:
    """A kubelet starts a container again that ended so, as long as its pod stays."""
    return policy == RestartPolicy.ALWAYS or (
        policy == RestartPolicy.ON_FAILURE and ended.exit_code != 0
    )


def _has_ended_for_good(status: ContainerStatus, policy: str) -> bool:
    ended = status.state.terminated
    if ended is None or policy == RestartPolicy.ALWAYS:
        return False
    return policy == RestartPolicy.NEVER or ended.exit_code == 0
