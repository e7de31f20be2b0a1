"""One replica as a row of the table that `tfjob run` shows: its phase, restarts and the reason."""

from typing import Final

from tfjob.cli.first_failure import exit_text
from tfjob.cli.run_output import ReplicaRow
from tfjob.core.job import TRAINING_CONTAINER
from tfjob.k8s.pod import ContainerStatus, Phase, Pod, Waiting

ENDED_PHASES: Final = frozenset({Phase.SUCCEEDED, Phase.FAILED})


def row_for(
    pod: Pod,
    *,
    replica: str,
    recreated: int,
    is_gone: bool,
    is_stopped: bool,
    has_job_ended: bool,
) -> ReplicaRow:
    """`recreated` counts the pods of this replica before this one.

    A replica that still runs when its job has ended is shown as stopped: the cluster stops it. So
    is one that ends because the user has stopped the job: it has not failed.
    """
    phase, why = str(pod.phase), _reason(pod)
    has_ended = pod.phase in ENDED_PHASES
    if is_stopped and (is_gone or has_ended):
        phase, why = "Stopped", why if has_ended else ""
    elif not has_ended:
        if has_job_ended:
            phase, why = "Stopped", "the job has ended"
        elif is_gone or pod.metadata.is_terminating:
            phase, why = "Deleted" if is_gone else "Terminating", ""
    restarts = recreated + pod.restart_count
    return ReplicaRow(replica=replica, phase=phase, restarts=restarts, why=why)


def _reason(pod: Pod) -> str:
    status = pod.container_status(TRAINING_CONTAINER)
    why = "" if status is None else _container_reason(status)
    if not why and pod.phase is Phase.PENDING:
        why = next((each.message for each in pod.status.conditions if each.status == "False"), "")
    return why


def _container_reason(status: ContainerStatus) -> str:
    state, before = status.state, exit_text(status.last_state.terminated)
    if state.terminated is not None:
        ended = state.terminated
        return exit_text(ended) or f"exit code {ended.exit_code}"
    if state.waiting is not None:
        why = _waiting_reason(state.waiting)
        return f"{why} after {before}" if before and why else why
    return f"after {before}" if before else ""


def _waiting_reason(waiting: Waiting) -> str:
    """The message of CrashLoopBackOff only repeats the reason and the delay."""
    if not waiting.message or waiting.reason == "CrashLoopBackOff":
        return waiting.reason
    return f"{waiting.reason}: {waiting.message}"
