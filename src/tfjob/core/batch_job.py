"""The phase of a replica that runs as a batch Job, derived from the Job and its pods.

The newest pod determines the phase. For a decisive replica, a permanent failure counts whenever it
is observed: in an earlier pod, and also after the container was restarted.
"""

from collections.abc import Sequence

from tfjob.core.exit_codes import ExitCodes
from tfjob.core.job import TRAINING_CONTAINER
from tfjob.k8s.child_types import BatchJob
from tfjob.k8s.pod import ContainerStatus, Phase, Pod, Terminated


def latest(pods: Sequence[Pod]) -> Pod | None:
    return max(pods, key=_age_key, default=None)


def representative_pod(
    pods: Sequence[Pod], *, exit_codes: ExitCodes, is_decisive: bool
) -> Pod | None:
    """The pod that determines the phase of the replica."""
    ended = [pod for pod in pods if _has_failed(pod, exit_codes)] if is_decisive else []
    return latest(ended or pods)


def phase_of(
    job: BatchJob | None, pods: Sequence[Pod], *, exit_codes: ExitCodes, is_decisive: bool
) -> Phase:
    if job is None:
        return Phase.UNKNOWN
    if is_decisive and any(_has_failed(pod, exit_codes) for pod in pods):
        return Phase.FAILED
    if job.status.succeeded >= 1:
        return Phase.SUCCEEDED
    newest = latest(pods)
    if newest is None:
        return Phase.RUNNING
    status = newest.container_status(TRAINING_CONTAINER)
    return Phase.UNKNOWN if status is None else _phase_of_container(status, exit_codes)


def _phase_of_container(status: ContainerStatus, exit_codes: ExitCodes) -> Phase:
    for ended in (status.state.terminated, status.last_state.terminated):
        if ended is None:
            continue
        if ended.exit_code != 0:
            return Phase.FAILED if _is_permanent(ended, exit_codes) else Phase.RUNNING
        if ended is status.state.terminated:
            return Phase.SUCCEEDED
    if status.state.running is not None or status.state.waiting is not None:
        return Phase.RUNNING
    return Phase.UNKNOWN


def _is_permanent(ended: Terminated | None, exit_codes: ExitCodes) -> bool:
    if ended is None or ended.exit_code == 0:
        return False
    return not exit_codes.is_retryable(ended.exit_code, reason=ended.reason)


def failure_of(pod: Pod, *, exit_codes: ExitCodes) -> Terminated | None:
    """The most recent permanent failure of the training container."""
    status = pod.container_status(TRAINING_CONTAINER)
    if status is None:
        return None
    ends = (status.state.terminated, status.last_state.terminated)
    return next((each for each in ends if _is_permanent(each, exit_codes)), None)


def _has_failed(pod: Pod, exit_codes: ExitCodes) -> bool:
    return failure_of(pod, exit_codes=exit_codes) is not None


def end_of(pod: Pod) -> Terminated | None:
    """How the training container terminated, now or before its last restart."""
    status = pod.container_status(TRAINING_CONTAINER)
    if status is None:
        return None
    return status.state.terminated or status.last_state.terminated


def _age_key(pod: Pod) -> tuple[bool, str, str, str]:
    """Order by creation time: start times come from the clocks of different nodes."""
    meta, started = pod.metadata, pod.status.start_time or ""
    return bool(started), meta.creation_timestamp or "", started, meta.uid
