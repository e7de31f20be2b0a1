"""How a replica stands that a batch Job runs: read off the Job and the pods it made.

The newest pod speaks, and a permanent end counts even after the container was started again.
For a deciding replica an earlier pod's permanent end counts too: the Job may already have made
another pod while nobody looked.
"""

from collections.abc import Sequence

from tfjob.core.job import TRAINING_CONTAINER, ExitCodes
from tfjob.k8s.batch import BatchJob
from tfjob.k8s.pod import ContainerStatus, Phase, Pod, Terminated


def latest(pods: Sequence[Pod]) -> Pod | None:
    return max(pods, key=_age_key, default=None)


def spokesman(pods: Sequence[Pod], *, exit_codes: ExitCodes, is_decider: bool) -> Pod | None:
    """The pod by which the replica is judged."""
    ended = [pod for pod in pods if _is_permanent(end_of(pod), exit_codes)] if is_decider else []
    return latest(ended or pods)


def phase_of(
    job: BatchJob | None, pods: Sequence[Pod], *, exit_codes: ExitCodes, is_decider: bool
) -> Phase:
    if job is None:
        return Phase.UNKNOWN
    if job.status.succeeded >= 1:
        return Phase.SUCCEEDED
    if is_decider and any(_is_permanent(end_of(pod), exit_codes) for pod in pods):
        return Phase.FAILED
    newest = latest(pods)
    if newest is None:
        return Phase.RUNNING
    status = _training(newest)
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


def end_of(pod: Pod) -> Terminated | None:
    """How its training container ended, or ended before it was started again."""
    status = _training(pod)
    if status is None:
        return None
    return status.state.terminated or status.last_state.terminated


def _training(pod: Pod) -> ContainerStatus | None:
    for status in pod.status.container_statuses:
        if status.name == TRAINING_CONTAINER:
            return status
    return None


def _age_key(pod: Pod) -> tuple[str, str, str]:
    meta = pod.metadata
    return pod.status.start_time or "", meta.creation_timestamp or "", meta.uid
