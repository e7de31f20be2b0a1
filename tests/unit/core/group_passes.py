"""Reconciles of a job in recovery mode Group, and the pods that it loses."""

from typing import Any

from tests.support.builders import Passes, a_pod, at, manifest, pods
from tfjob.dialects.job_annotations import RECOVERY
from tfjob.k8s import time
from tfjob.k8s.pod import ContainerState, ContainerStatus, Pod, Running, Terminated, Waiting


def running(
    roles: str = "W3", found: Any = None, *, restart: str = "ExitCode", **fields: Any
) -> Passes:
    mode = fields.pop("mode", "Group")
    given = manifest(roles, restart=restart, **fields, annotations={RECOVERY: mode})
    passes = Passes(given)
    passes.go()
    passes.go(*(pods(worker="RRR") if found is None else found), now=at(1))
    return passes


def failed(role: str, index: int, code: int, seconds: float, **fields: Any) -> Pod:
    return a_pod(role, index, "Failed", exit_code=code, ran=(-50, seconds), **fields)


def in_place(index: int, seconds: float, *, restarts: int = 1, **fields: Any) -> Pod:
    """A worker that was killed, and whose container the kubelet has restarted."""
    state = ContainerState(running=Running(time.render(at(seconds + 1))))
    return _worker(index, restarts, state, _killed(seconds), **fields)


def just_ended(index: int, seconds: float, *, restarts: int = 0, code: int = 137) -> Pod:
    """A worker that was killed, and whose container the kubelet restarts next."""
    return _worker(index, restarts, _killed(seconds, code=code))


def crash_loop(index: int, seconds: float, *, restarts: int) -> Pod:
    """A worker that was killed, and whose restart the kubelet delays."""
    state = ContainerState(waiting=Waiting(reason="CrashLoopBackOff"))
    return _worker(index, restarts, state, _killed(seconds))


def _killed(seconds: float, *, code: int = 137) -> ContainerState:
    return ContainerState(
        terminated=Terminated(
            exit_code=code,
            reason="Error",
            started_at=time.render(at(-50)),
            finished_at=time.render(at(seconds)),
        )
    )


def _worker(
    index: int,
    restarts: int,
    state: ContainerState,
    last_state: ContainerState = ContainerState(),  # noqa: B008 - frozen
    **fields: Any,
) -> Pod:
    status = ContainerStatus(
        name="tensorflow", restart_count=restarts, state=state, last_state=last_state
    )
    return a_pod("worker", index, others=[status], **fields)


def records(passes: Passes, kind: str = "Worker") -> dict[str, tuple[str, str]]:
    found = passes.job.status.of(kind).records
    return {each.uid: (str(each.cause), each.incident) for each in found}


def restarts(passes: Passes) -> int:
    return passes.job.status.restarts


LOST = "uid-j-worker-1/0"


def generation(number: int, *lost: Pod) -> list[Pod]:
    """All workers of one run, of which some are lost."""
    replaced = {each.metadata.name: each for each in lost}
    found = [a_pod("worker", index, uid=f"{number}-{index}") for index in range(3)]
    return [replaced.get(each.metadata.name, each) for each in found]
