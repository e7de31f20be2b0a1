"""The failures that a pod shows."""

import msgspec
import pytest

from tests.support.builders import NOW, a_job, a_pod, at, container, decoded, manifest, replica_spec
from tfjob.core.diagnosis import failures
from tfjob.core.diagnosis.causes import Cause
from tfjob.core.diagnosis.failures import Failure
from tfjob.core.job import Job
from tfjob.core.observe import Children, observe
from tfjob.k8s.pod import ContainerState, ContainerStatus, Pod, PodCondition, Terminated, Waiting


def failures_of(pod: Pod, job: Job | None = None) -> list[Failure]:
    observed = observe(job or a_job("W1", restart="OnFailure"), Children(pods=[pod]))
    return list(failures.of_instance(observed.all_instances()[0], now=NOW))


def target(reason: str) -> list[PodCondition]:
    return [PodCondition(type="DisruptionTarget", status="True", reason=reason)]


@pytest.mark.parametrize(
    ("pod", "cause"),
    [
        (a_pod(phase="Failed", exit_code=137, reason="OOMKilled"), Cause.OUT_OF_MEMORY),
        (a_pod(phase="Failed", exit_code=127, reason="StartError"), Cause.CONTAINER_NOT_STARTED),
        (a_pod(phase="Failed", exit_code=126), Cause.CONTAINER_NOT_STARTED),
        (a_pod(phase="Failed", exit_code=137), Cause.KILLED),
        (a_pod(phase="Failed", exit_code=3), Cause.PROGRAM_FAILED),
        (a_pod(phase="Failed", exit_code=1, output="ValueError: x"), Cause.PYTHON_ERROR),
        (a_pod(phase="Failed", pod_reason="Evicted"), Cause.NODE_PRESSURE),
        (a_pod(phase="Failed", pod_reason="NodeLost"), Cause.NODE_LOST),
        (a_pod(phase="Failed", pod_reason="Shutdown"), Cause.NODE_LOST),
        (a_pod(phase="Failed", pod_reason="OutOfcpu"), Cause.POD_REJECTED),
        (a_pod(phase="Failed", pod_reason="NoCommand"), Cause.CONTAINER_NOT_STARTED),
        (a_pod(phase="Failed", pod_reason="Odd"), Cause.UNKNOWN),
        (a_pod(deleted=-5), Cause.POD_DELETED),
        (a_pod(deleted=-5, conditions=target("PreemptionByScheduler")), Cause.PREEMPTED),
        (a_pod(deleted=-5, conditions=target("EvictionByEvictionAPI")), Cause.DRAINED),
        (a_pod(deleted=-5, conditions=target("DeletionByTaintManager")), Cause.NODE_LOST),
        (
            a_pod(phase="Failed", exit_code=137, conditions=target("TerminationByKubelet")),
            Cause.NODE_PRESSURE,
        ),
        (
            a_pod(
                phase="Failed",
                exit_code=137,
                pod_reason="Terminated",
                conditions=target("TerminationByKubelet"),
            ),
            Cause.NODE_LOST,
        ),
        (
            a_pod(
                phase="Failed",
                exit_code=137,
                pod_reason="Preempting",
                conditions=target("TerminationByKubelet"),
            ),
            Cause.PREEMPTED,
        ),
        (
            a_pod(phase="Failed", exit_code=137, reason="ContainerStatusUnknown"),
            Cause.UNKNOWN,
        ),
    ],
)
def test_the_evidence_names_the_cause(pod: Pod, cause: Cause) -> None:
    (found,) = failures_of(pod)
    assert found.incident.cause is cause
    assert found.incident.replica == "worker-0"


@pytest.mark.parametrize(
    ("exit_code", "cause"),
    [
        (1, Cause.NEVER_CONNECTED),
        (134, Cause.NEVER_CONNECTED),
        (137, Cause.KILLED),
        (143, Cause.KILLED),
    ],
)
def test_output_does_not_explain_a_signal_from_outside(exit_code: int, cause: Cause) -> None:
    """A chief that is killed after it has lost a worker has said so, and trained on."""
    output = "last error: failed to connect to all addresses: Connection refused"
    (found,) = failures_of(a_pod(phase="Failed", exit_code=exit_code, output=output))
    assert found.incident.cause is cause


@pytest.mark.parametrize(
    "pod", [a_pod(), a_pod(phase="Pending"), a_pod(phase="Succeeded", exit_code=0)]
)
def test_a_pod_in_order_shows_nothing(pod: Pod) -> None:
    assert failures_of(pod) == []


def test_a_restart_in_place_is_the_same_failure_as_the_end_before_it() -> None:
    ended = Terminated(exit_code=1, reason="Error", started_at=None, finished_at=None)
    first = ContainerStatus(name="tensorflow", state=ContainerState(terminated=ended))
    then = ContainerStatus(
        name="tensorflow", restart_count=1, last_state=ContainerState(terminated=ended)
    )
    (seen,) = failures_of(a_pod(others=[first]))
    (again,) = failures_of(a_pod(others=[then]))
    assert seen.incident.key == again.incident.key == "uid-j-worker-0/0"


def test_a_run_that_waits_for_its_first_restart_is_the_same_failure() -> None:
    ended = ContainerState(terminated=Terminated(exit_code=1, reason="Error"))
    waits = ContainerState(waiting=Waiting(reason="ImagePullBackOff"))
    status = ContainerStatus(name="tensorflow", state=waits, last_state=ended)
    (found,) = failures_of(a_pod(others=[status]))
    assert found.incident.key == "uid-j-worker-0/0"


def test_a_run_whose_restart_is_delayed_is_not_the_one_before_it() -> None:
    ended = ContainerState(terminated=Terminated(exit_code=1, reason="Error"))
    ends = ContainerStatus(name="tensorflow", restart_count=1, state=ended)
    waits = ContainerStatus(
        name="tensorflow",
        restart_count=1,
        state=ContainerState(waiting=Waiting(reason="CrashLoopBackOff")),
        last_state=ended,
    )
    keys = [
        [each.incident.key for each in failures_of(a_pod(others=[one]))] for one in (ends, waits)
    ]
    assert keys == [["uid-j-worker-0/1"], ["uid-j-worker-0/1"]]


@pytest.mark.parametrize("reason", ["ContainerCreating", "PodInitializing"])
def test_a_container_that_is_created_again_shows_the_run_before(reason: str) -> None:
    """As after a restart of the node: the kubelet has counted the restart already."""
    status = ContainerStatus(
        name="tensorflow",
        restart_count=1,
        state=ContainerState(waiting=Waiting(reason=reason)),
        last_state=ContainerState(terminated=Terminated(exit_code=137)),
    )
    (found,) = failures_of(a_pod(others=[status]))
    assert found.incident.key == "uid-j-worker-0/0"


def test_an_init_container_whose_restart_is_delayed_is_named() -> None:
    ended = ContainerState(terminated=Terminated(exit_code=1, reason="Error"))
    waits = ContainerState(waiting=Waiting(reason="CrashLoopBackOff"))
    status = ContainerStatus(name="fetch", state=waits, last_state=ended)
    (found,) = failures_of(a_pod(phase="Pending", init=[status]))
    assert found.incident.cause is Cause.INIT_CONTAINER_FAILED


def test_an_eviction_after_a_restart_in_place_is_a_failure_of_its_own() -> None:
    ended = ContainerState(terminated=Terminated(exit_code=1, reason="Error"))
    status = ContainerStatus(name="tensorflow", restart_count=1, last_state=ended)
    found = failures_of(a_pod(phase="Failed", pod_reason="Evicted", others=[status]))
    assert [(each.incident.cause, each.incident.key) for each in found] == [
        (Cause.PROGRAM_FAILED, "uid-j-worker-0/0"),
        (Cause.NODE_PRESSURE, "uid-j-worker-0/1"),
    ]


def test_a_deletion_and_the_exit_after_it_are_one_failure() -> None:
    (asked,) = failures_of(a_pod(deleted=-5))
    (gone,) = failures_of(a_pod(phase="Failed", exit_code=143, deleted=-5, ran=(-50, -1)))
    assert asked.incident == gone.incident


def test_an_init_container_is_named() -> None:
    ended = ContainerState(terminated=Terminated(exit_code=4, reason="Error"))
    pod = a_pod(phase="Failed", init=[ContainerStatus(name="fetch", state=ended)])
    (found,) = failures_of(pod, a_job("W1", restart="Never"))
    assert found.incident.cause is Cause.INIT_CONTAINER_FAILED
    assert (found.incident.detail, found.incident.exit_code) == ("fetch", 4)


def test_an_oom_kill_tells_the_limit() -> None:
    limited = container(resources={"limits": {"memory": "200Mi"}})
    given = manifest("W1")
    given["spec"]["tfReplicaSpecs"]["Worker"] = replica_spec(1, containers=[limited])
    (found,) = failures_of(a_pod(phase="Failed", exit_code=137, reason="OOMKilled"), decoded(given))
    assert found.incident.detail == "limit 200Mi"


def test_a_failure_without_a_time_is_of_now() -> None:
    pod = a_pod(phase="Failed", pod_reason="Evicted")
    (found,) = failures_of(pod)
    assert found.incident.at == at(0)
    assert msgspec.structs.asdict(found.incident)["node"] == "node-1"
