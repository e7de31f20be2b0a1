"""Decides from a pod's status whether it has ended and whether it was disrupted.

Status, clean-up, counts and limits all use these functions. They do not rely on the phase alone: a
kubelet reports the end of a container about a second before the pod's phase leaves Running.
"""

from datetime import datetime, timedelta

from tfjob.core.job import TRAINING_CONTAINER, RestartPolicy, Semantics
from tfjob.k8s import time
from tfjob.k8s.meta import ObjectMeta
from tfjob.k8s.pod import ContainerStatus, Phase, Pod, PodCondition, Terminated

_ENDED = frozenset({Phase.SUCCEEDED, Phase.FAILED})
_DISRUPTIONS = frozenset(
    {"Evicted", "NodeLost", "NodeShutdown", "Preempting", "Shutdown", "Terminated"}
)


def has_ended(pod: Pod, *, policy: str = "") -> bool:
    """Whether all containers have terminated for good; native sidecars do not count.

    `policy` is the restart policy that the pod was created with, in case its spec has none.
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


def has_ended_undisturbed(pod: Pod) -> bool:
    """Whether the replica of the pod has ended, and nobody has deleted or disrupted the pod."""
    if pod.metadata.is_terminating or replica_phase(pod, policy="") not in _ENDED:
        return False
    return not is_evicted(pod)


def replica_phase(pod: Pod, *, policy: str) -> Phase:
    """The phase of the replica: that of its pod, unless the training container has ended for good.

    The pod's own restart policy decides, which may be different in an adopted pod. `policy` is the
    one that the operator creates pods with, in case the spec has none.
    """
    phase = pod.phase
    policy = pod.spec.restart_policy or policy
    if phase in {Phase.PENDING, Phase.SUCCEEDED} or policy == RestartPolicy.ALWAYS:
        return phase
    ended = pod.terminated(TRAINING_CONTAINER)
    if ended is None:
        return phase
    if ended.exit_code == 0:
        return Phase.SUCCEEDED
    return phase if policy == RestartPolicy.ON_FAILURE else Phase.FAILED


def is_disturbed(pod: Pod) -> bool:
    """Whether a pod does not run, is being deleted, or has a container that restarted or waits."""
    status = pod.status
    if pod.metadata.deletion_timestamp is not None or status.phase != Phase.RUNNING:
        return True
    for each in status.container_statuses:
        if each.restart_count or each.state.running is None:
            return True
    init = status.init_container_statuses
    if not status.container_statuses:
        return bool(init) or any(each.status != "True" for each in status.conditions)
    return bool(init) and any(each.restart_count for each in init)


def is_disrupted(pod: Pod, semantics: Semantics) -> bool:
    """Whether the cluster or a user stopped the pod, so that its exit code is meaningless."""
    if pod.metadata.is_terminating and not _ended_before_deletion(pod):
        return True
    return not semantics.counts_evictions and is_evicted(pod)


def is_evicted(pod: Pod) -> bool:
    """Whether the pod was evicted, preempted, or lost with its node.

    The Eviction API also sets its condition on pods that have ended, to empty a drained node. A pod
    does not count as evicted if it had ended before that, and before the deletion that follows.
    """
    if pod.status.reason in _DISRUPTIONS:
        return True
    marks = [each for each in pod.status.conditions if _is_disruption_mark(each)]
    return any(not _ended_before_mark(pod, each) for each in marks)


def may_have_ended_by_deletion(pod: Pod) -> bool:
    """Whether a pod that was running when its deletion was decided may have ended because of it.

    Only the generation can prove that the kubelet did not know about the deletion. Times prove
    nothing, because they come from two clocks.
    """
    return pod.metadata.is_terminating and not _is_of_earlier_generation(pod)


def _is_disruption_mark(condition: PodCondition) -> bool:
    return condition.type == "DisruptionTarget" and condition.status == "True"


def _ended_before_mark(pod: Pod, mark: PodCondition) -> bool:
    ended, marked = pod.terminated(TRAINING_CONTAINER), time.parse(mark.last_transition_time)
    if ended is None or marked is None or not _is_of_earlier_generation(pod):
        return False
    finished = time.parse(ended.finished_at)
    return finished is not None and finished < marked


def _is_of_earlier_generation(pod: Pod) -> bool:
    """Whether the pod is terminating and its kubelet's last report is from before the deletion."""
    observed = pod.status.observed_generation
    return pod.metadata.is_terminating and 0 < observed < pod.metadata.generation


def deletion_requested_at(meta: ObjectMeta) -> datetime | None:
    """When the deletion of a terminating object was requested."""
    gone_by = time.parse(meta.deletion_timestamp)
    grace = timedelta(seconds=meta.deletion_grace_period_seconds or 0)
    return None if gone_by is None else time.add(gone_by, -grace)


def _ended_before_deletion(pod: Pod) -> bool:
    """Whether the training container had ended when the deletion was requested.

    Used only if the end and the deletion are first observed together. A deletion increments the
    generation of the pod, so a kubelet that reports an end for an earlier generation did not know
    about the deletion. Kubelets before 1.34 do not report the generation; then times decide. With a
    grace period of 0 the time of the request is lost, because the kubelet sets it to the present
    once the pod has stopped. Such a pod counts as running at its deletion, so that an end after a
    deletion is never taken for a success. A container that would have been restarted had not ended.
    """
    meta = pod.metadata
    ended = pod.terminated(TRAINING_CONTAINER)
    if ended is None or _starts_again(ended, pod.spec.restart_policy):
        return False
    if pod.status.observed_generation and meta.generation:
        return _is_of_earlier_generation(pod)
    if meta.deletion_grace_period_seconds == 0:
        return False
    finished, asked = time.parse(ended.finished_at), deletion_requested_at(meta)
    return finished is not None and asked is not None and finished < asked


def _starts_again(ended: Terminated, policy: str) -> bool:
    """Whether a kubelet restarts a container that ended like this, unless its pod is deleted."""
    return policy == RestartPolicy.ALWAYS or (
        policy == RestartPolicy.ON_FAILURE and ended.exit_code != 0
    )


def _has_ended_for_good(status: ContainerStatus, policy: str) -> bool:
    ended = status.state.terminated
    if ended is None or policy == RestartPolicy.ALWAYS:
        return False
    return policy == RestartPolicy.NEVER or ended.exit_code == 0
