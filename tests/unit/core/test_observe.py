"""The observed state of each replica."""

from typing import Any

import msgspec
import pytest

from tests.support.builders import NOW, a_batch_job, a_job, a_pod, a_service, at, pods
from tfjob.core.job import Job, Workload
from tfjob.core.observe import Children, ObservedState, ReplicaInstance, observe
from tfjob.core.status import Condition, JobStatus, PodRecord, RecordCause, ReplicaStatus
from tfjob.k8s.meta import ObjectMeta
from tfjob.k8s.pod import ContainerState, ContainerStatus, Phase, Pod, PodCondition, Running

WELL = ContainerStatus(name="tensorflow", state=ContainerState(running=Running()))


def seen(job: Job, *found: Pod, **children: Any) -> ObservedState:
    return observe(job, Children(pods=found, **children))


def first(job: Job, *found: Pod) -> ReplicaInstance:
    return seen(job, *found).all_instances()[0]


def resumed(job: Job, *, is_suspended: bool = False, start: float | None = 0) -> Job:
    """A job that was suspended once and, unless it still is, started again then."""
    condition = Condition(
        type="Suspended",
        status="True" if is_suspended else "False",
        reason="",
        message="",
        last_update=NOW,
        last_transition=NOW,
    )
    status = JobStatus(conditions=(condition,), start_time=None if start is None else at(start))
    return msgspec.structs.replace(job, status=status)


def test_every_replica_has_a_slot_in_order_with_its_pod() -> None:
    instances = seen(a_job("P1 W2"), *pods(worker="-R", ps="P")).all_instances()
    assert [instance.name for instance in instances] == ["j-ps-0", "j-worker-0", "j-worker-1"]
    assert [instance.phase for instance in instances] == [Phase.PENDING, None, Phase.RUNNING]
    assert [instance.pod is not None for instance in instances] == [True, False, True]


@pytest.mark.parametrize("index", ["-1", "x", "", "1.0", "²", "1234567890"])
def test_a_pod_whose_index_is_no_use_is_nobodys(index: str) -> None:
    found = seen(a_job("W1"), a_pod("worker", index, name="odd"))
    assert found.all_instances()[0].pod is None
    assert found.surplus_pods == []


def test_a_pod_without_an_index_is_nobodys() -> None:
    labels = {"training.kubeflow.org/replica-type": "worker"}
    pod = msgspec.structs.replace(a_pod(), metadata=ObjectMeta(name="odd", labels=labels))
    assert seen(a_job("W1"), pod).all_instances()[0].pod is None


def test_a_child_without_a_type_is_nobodys() -> None:
    labels = {"training.kubeflow.org/replica-index": "0"}
    pod = msgspec.structs.replace(a_pod(), metadata=ObjectMeta(name="odd", labels=labels))
    assert seen(a_job("W1"), pod).surplus_pods == []


def test_a_pod_beyond_the_count_or_of_a_foreign_type_is_surplus() -> None:
    far = a_pod("worker", "123456789")
    found = seen(a_job("W2"), a_pod("worker", "x"), *pods(worker="RRR", ps="R"), far)
    names = [each.metadata.name for each in found.surplus_pods]
    assert names == ["j-worker-2", "j-ps-0", "j-worker-123456789"]
    assert [instance.pod is not None for instance in found.all_instances()] == [True, True]


def test_services_are_kept_by_name_or_surplus_by_place() -> None:
    services = [a_service("worker", 0), a_service("worker", 1), a_service("ps", 0)]
    found = seen(a_job("W1"), services=[a_service("worker", "-1"), *services])
    assert found.services == {"j-worker-0"}
    assert [each.name for each in found.surplus_services] == ["j-worker-1", "j-ps-0"]


def test_of_several_pods_the_one_of_the_canonical_name_counts() -> None:
    other = a_pod("worker", 0, "Failed", name="adopted", created=-600)
    assert first(a_job("W1"), other, a_pod("worker", 0)).phase is Phase.RUNNING


def test_of_several_pods_of_other_names_the_oldest_counts() -> None:
    young = a_pod("worker", 0, "Failed", name="young", created=-10, uid="a")
    old = a_pod("worker", 0, name="old", created=-20, uid="b")
    undated = msgspec.structs.replace(
        old, metadata=msgspec.structs.replace(old.metadata, name="x", creation_timestamp=None)
    )
    for order, oldest in (
        ([young, old], "old"),
        ([old, young], "old"),
        ([old, undated, young], "x"),
    ):
        pod = first(a_job("W1"), *order).pod
        assert pod is not None
        assert pod.metadata.name == oldest


def test_the_pods_own_policy_says_what_its_node_starts_again() -> None:
    job = a_job("W1", restart="OnFailure")
    replica = msgspec.structs.replace(job.replicas[0], pod_restart_policy="Never")
    recreating = msgspec.structs.replace(job, replicas=[replica])
    pod = a_pod("worker", 0, exit_code=1)
    assert first(job, pod).phase is Phase.RUNNING
    assert first(recreating, pod).phase is Phase.FAILED


@pytest.mark.parametrize(
    ("letter", "active", "succeeded", "failed", "done"),
    [
        ("P", False, False, False, False),
        ("R", True, False, False, False),
        ("U", False, False, False, False),
        ("S", False, True, False, True),
        ("s", False, True, False, False),
        ("F", False, False, True, False),
        ("T", False, False, True, False),
        ("-", False, False, False, False),
    ],
)
def test_how_a_replica_stands(
    letter: str, active: bool, succeeded: bool, failed: bool, done: bool
) -> None:
    instance = first(a_job("W1"), *pods(worker=letter))
    assert (instance.is_active, instance.is_succeeded) == (active, succeeded)
    assert (instance.is_failed, instance.is_confirmed_success) == (failed, done)


@pytest.mark.parametrize("letter", ["R", "S", "F", "T"])
def test_a_replica_that_is_leaving_stands_for_nothing(letter: str) -> None:
    instance = first(a_job("W1"), *pods(worker=letter))
    instance.is_obsolete = True
    states = [
        instance.is_active,
        instance.is_succeeded,
        instance.is_failed,
        instance.is_confirmed_success,
    ]
    assert not any(states)


def test_a_pending_pod_that_is_being_deleted_has_not_failed() -> None:
    assert not first(a_job("W1"), a_pod("worker", 0, "Pending", deleted=-1)).is_failed


@pytest.mark.parametrize("letter", ["-", "R", "F"])
def test_a_stored_success_stands_whatever_its_pod_says(letter: str) -> None:
    job = a_job("W1")
    stored = JobStatus(replicas={"Worker": ReplicaStatus(completed=frozenset({0}))})
    instance = first(msgspec.structs.replace(job, status=stored), *pods(worker=letter))
    assert instance.is_completed
    assert instance.is_succeeded
    assert instance.is_confirmed_success is (letter == "-")


@pytest.mark.parametrize("created", [-900, 0, 900])
@pytest.mark.parametrize("deleted", [None, -900, 0, 900])
def test_a_pod_on_record_as_removed_is_leaving_whatever_its_times_say(
    created: float, deleted: float | None
) -> None:
    entry = PodRecord(index=0, uid="old", streak=0, at=NOW, cause=RecordCause.REMOVED)
    status = JobStatus(replicas={"Worker": ReplicaStatus(records=(entry,))})
    job = msgspec.structs.replace(resumed(a_job("W1")), status=status)
    assert first(job, a_pod("worker", 0, created=created, deleted=deleted, uid="old")).is_obsolete
    other = a_pod("worker", 0, created=created, deleted=deleted, uid="new")
    assert not first(job, other).is_obsolete


def test_while_suspended_every_pod_on_its_way_out_is_leaving() -> None:
    job = resumed(a_job("W1"), is_suspended=True, start=None)
    assert first(job, a_pod("worker", 0, created=5, deleted=9)).is_obsolete
    assert not first(job, a_pod("worker", 0)).is_obsolete


def test_in_a_job_that_was_never_suspended_no_pod_is_of_an_earlier_run() -> None:
    pod = a_pod("worker", 0, deleted=-5)
    assert not first(a_job("W1", status={"startTime": "2026-01-02T03:04:05Z"}), pod).is_obsolete


def batch_job() -> Job:
    return msgspec.structs.replace(a_job("W2"), workload=Workload.JOB)


def test_a_replica_that_a_batch_job_runs_is_read_off_the_job() -> None:
    instances = seen(
        batch_job(),
        a_pod("worker", 0, exit_code=143, deleted=-5),
        a_pod("worker", 1),
        jobs=[a_batch_job("worker", 0, succeeded=1)],
    ).all_instances()
    assert [instance.phase for instance in instances] == [Phase.SUCCEEDED, Phase.UNKNOWN]
    assert [instance.job is not None for instance in instances] == [True, False]
    assert [instance.pod is not None for instance in instances] == [True, False]
    assert instances[0].is_confirmed_success
    assert not instances[0].is_terminating


def test_a_pod_of_a_batch_job_that_is_being_deleted_is_still_active() -> None:
    leaving = a_pod("worker", 0, restarts=1, waiting=("Crash", ""), deleted=-5)
    instance = seen(batch_job(), leaving, jobs=[a_batch_job("worker", 0)]).all_instances()[0]
    assert (instance.is_active, instance.is_failed) == (True, False)


def test_only_the_deciding_replica_is_spoilt_by_an_earlier_pod() -> None:
    found = [
        a_pod("worker", index, exit_code=code, name=f"{index}-{code}", created=created)
        for index in (0, 1)
        for code, created in ((1, -100), (137, -50))
    ]
    instances = seen(
        batch_job(), *found, jobs=[a_batch_job("worker", 0), a_batch_job("worker", 1)]
    ).all_instances()
    assert [instance.phase for instance in instances] == [Phase.FAILED, Phase.RUNNING]


@pytest.mark.parametrize(
    ("pod", "is_suspect"),
    [
        (a_pod(others=[WELL]), False),
        (a_pod(), False),
        (a_pod(phase="Pending"), True),
        (a_pod(phase="Failed", exit_code=1), True),
        (a_pod(deleted=-5), True),
        (a_pod(restarts=1), True),
        (a_pod(exit_code=1), True),
        (a_pod(waiting=("ErrImagePull", "")), True),
        (a_pod(others=[WELL], init=[ContainerStatus(name="init")]), False),
        (a_pod(others=[WELL], init=[ContainerStatus(name="init", restart_count=1)]), True),
        (a_pod(init=[ContainerStatus(name="init")]), True),
        (a_pod(conditions=[PodCondition(type="Ready", status="True")]), False),
        (a_pod(conditions=[PodCondition(type="Ready", status="False")]), True),
    ],
)
def test_only_an_undisturbed_run_is_no_suspect(pod: Pod, is_suspect: bool) -> None:
    observed = seen(a_job("W2", restart="OnFailure"), pod)
    assert [each.pod for each in observed.suspects] == ([pod] if is_suspect else [])
