"""The phase of a replica that runs as a batch Job; the first matching row applies."""

import pytest

from tests.support.builders import a_batch_job, at
from tfjob.core import batch_job
from tfjob.core.exit_codes import ExitCodes
from tfjob.k8s import time
from tfjob.k8s.meta import ObjectMeta
from tfjob.k8s.pod import (
    ContainerState,
    ContainerStatus,
    Phase,
    Pod,
    PodStatus,
    Running,
    Terminated,
    Waiting,
)

CODES = ExitCodes(at_least=128, permanent_reasons=frozenset({"OOMKilled"}))
RUNNING = ContainerState(running=Running())
WAITING = ContainerState(waiting=Waiting(reason="CrashLoopBackOff"))
NOTHING = ContainerState()


def exited(code: int, reason: str = "Error") -> ContainerState:
    return ContainerState(terminated=Terminated(exit_code=code, reason=reason))


def a_pod_of(
    state: ContainerState = NOTHING,
    last: ContainerState = NOTHING,
    *,
    name: str = "tensorflow",
    started: float | None = 0,
    created: float | None = 0,
    uid: str = "u",
) -> Pod:
    statuses = [
        ContainerStatus(name="sidecar", state=exited(1)),
        ContainerStatus(name=name, state=state, last_state=last),
    ]
    return Pod(
        metadata=ObjectMeta(
            name=uid,
            uid=uid,
            creation_timestamp=None if created is None else time.render(at(created)),
        ),
        status=PodStatus(
            start_time=None if started is None else time.render(at(started)),
            container_statuses=statuses,
        ),
    )


def phase_of(*pods: Pod, succeeded: int = 0, is_decisive: bool = False) -> Phase:
    job = a_batch_job(succeeded=succeeded)
    return batch_job.phase_of(job, pods, exit_codes=CODES, is_decisive=is_decisive)


def test_without_its_job_a_replica_is_unknown() -> None:
    found = [a_pod_of(exited(1))]
    assert batch_job.phase_of(None, found, exit_codes=CODES, is_decisive=True) is Phase.UNKNOWN


def test_a_succeeded_job_has_succeeded_unless_a_deciding_pod_failed_for_good() -> None:
    assert phase_of(a_pod_of(exited(1)), succeeded=1) is Phase.SUCCEEDED
    assert phase_of(a_pod_of(exited(137)), succeeded=1, is_decisive=True) is Phase.SUCCEEDED
    assert phase_of(a_pod_of(exited(1)), succeeded=1, is_decisive=True) is Phase.FAILED
    after = a_pod_of(exited(0), exited(1))
    assert phase_of(after, succeeded=1, is_decisive=True) is Phase.FAILED


def test_a_job_without_pods_is_running() -> None:
    assert phase_of() is Phase.RUNNING
    assert phase_of(is_decisive=True) is Phase.RUNNING


def test_pod_without_a_status_of_the_training_container_is_unknown() -> None:
    assert phase_of(a_pod_of(RUNNING, name="trainer")) is Phase.UNKNOWN
    assert phase_of(a_pod_of(exited(1), name="trainer"), is_decisive=True) is Phase.UNKNOWN


@pytest.mark.parametrize(
    ("state", "last", "expected"),
    [
        pytest.param(exited(0), NOTHING, Phase.SUCCEEDED, id="exit-0"),
        pytest.param(exited(0), exited(143), Phase.SUCCEEDED, id="exit-0-after-a-retry"),
        pytest.param(exited(1), NOTHING, Phase.FAILED, id="permanent-exit"),
        pytest.param(exited(127), NOTHING, Phase.FAILED, id="last-permanent-code"),
        pytest.param(exited(128), NOTHING, Phase.RUNNING, id="first-retryable-code"),
        pytest.param(exited(137), NOTHING, Phase.RUNNING, id="retryable-exit"),
        pytest.param(exited(137, "OOMKilled"), NOTHING, Phase.FAILED, id="out-of-memory"),
        pytest.param(RUNNING, exited(1), Phase.FAILED, id="permanent-though-started-again"),
        pytest.param(WAITING, exited(1), Phase.FAILED, id="permanent-though-waiting"),
        pytest.param(RUNNING, exited(137), Phase.RUNNING, id="killed-and-started-again"),
        pytest.param(RUNNING, exited(0), Phase.RUNNING, id="ended-well-and-started-again"),
        pytest.param(RUNNING, NOTHING, Phase.RUNNING, id="running"),
        pytest.param(WAITING, NOTHING, Phase.RUNNING, id="waiting"),
        pytest.param(NOTHING, NOTHING, Phase.UNKNOWN, id="no-state-at-all"),
        pytest.param(NOTHING, exited(0), Phase.UNKNOWN, id="only-an-old-success"),
    ],
)
@pytest.mark.parametrize("is_decisive", [True, False])
def test_state_of_the_training_container_decides(
    state: ContainerState, last: ContainerState, expected: Phase, is_decisive: bool
) -> None:
    assert phase_of(a_pod_of(state, last), is_decisive=is_decisive) is expected


@pytest.mark.parametrize("state", [exited(0), exited(137), RUNNING, WAITING, NOTHING])
def test_a_permanent_end_of_a_deciding_replica_decides_whatever_came_after_it(
    state: ContainerState,
) -> None:
    pod = a_pod_of(state, exited(1))
    assert phase_of(pod, is_decisive=True) is Phase.FAILED
    found = batch_job.failure_of(pod, exit_codes=CODES)
    assert found is not None
    assert found.exit_code == 1


def test_of_several_pods_the_one_started_last_counts() -> None:
    older = a_pod_of(RUNNING, started=0, uid="older")
    newer = a_pod_of(exited(100), started=9, uid="newer")
    for order in ((older, newer), (newer, older)):
        assert phase_of(*order) is Phase.FAILED


def test_a_pod_that_has_not_started_is_the_oldest() -> None:
    started = a_pod_of(exited(1), started=0, created=0)
    unstarted = a_pod_of(RUNNING, started=None, created=99)
    assert phase_of(started, unstarted) is Phase.FAILED


def test_of_pods_started_together_the_one_made_last_counts() -> None:
    first = a_pod_of(exited(1), created=0, uid="z")
    second = a_pod_of(RUNNING, created=1, uid="a")
    assert batch_job.latest([second, first]) is second
    assert batch_job.latest([first, a_pod_of(created=None, uid="zz")]) is first
    assert batch_job.latest([]) is None


def test_a_node_whose_clock_is_behind_does_not_make_its_pod_the_older() -> None:
    earlier = a_pod_of(exited(1), created=0, started=600, uid="earlier")
    later = a_pod_of(RUNNING, created=9, started=10, uid="later")
    assert phase_of(earlier, later) is Phase.RUNNING


def test_an_earlier_permanent_end_counts_for_the_deciding_replica_alone() -> None:
    earlier = a_pod_of(exited(2), started=0)
    later = a_pod_of(RUNNING, started=9)
    assert phase_of(earlier, later, is_decisive=True) is Phase.FAILED
    assert phase_of(earlier, later) is Phase.RUNNING


@pytest.mark.parametrize("code", [0, 137])
def test_earlier_retryable_failure_does_not_count(code: int) -> None:
    earlier = a_pod_of(exited(code), started=0)
    assert phase_of(earlier, a_pod_of(RUNNING, started=9), is_decisive=True) is Phase.RUNNING


def test_an_earlier_pod_started_again_after_a_permanent_end_still_counts() -> None:
    earlier = a_pod_of(RUNNING, exited(2), started=0)
    assert phase_of(earlier, a_pod_of(RUNNING, started=9), is_decisive=True) is Phase.FAILED
