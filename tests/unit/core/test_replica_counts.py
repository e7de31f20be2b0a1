"""Counts of active, succeeded and failed replicas."""

import msgspec

from tests.support.builders import NOW, a_job, a_pod, pods
from tfjob.core import replica_counts
from tfjob.core.job import Job
from tfjob.core.observe import Children, ReplicaInstance, observe
from tfjob.core.status import JobStatus, PodRecord, ReplicaStatus
from tfjob.k8s.pod import ContainerStatus, Pod

SELECTOR = (
    "training.kubeflow.org/job-name=j,training.kubeflow.org/operator-name=tfjob-controller,"
    "training.kubeflow.org/replica-type=worker"
)
BUSY = ReplicaStatus(
    active=2,
    succeeded=1,
    failed=3,
    restarts=4,
    completed=frozenset({1}),
    records=(PodRecord(index=0, uid="u", streak=2, at=NOW),),
    selector="s",
)


def instances_of(job: Job, *found: Pod) -> list[ReplicaInstance]:
    return list(observe(job, Children(pods=found)).instances["Worker"])


def test_each_replica_is_counted_once() -> None:
    job = a_job("W7", restart="OnFailure")
    instances = instances_of(job, *pods(worker="PRSsFT"))
    counted = replica_counts.counted(job.replicas[0], instances, stored=ReplicaStatus(restarts=3))
    assert counted == ReplicaStatus(
        active=1,
        succeeded=2,
        failed=2,
        restarts=3,
        completed=frozenset({2, 3}),
        selector=SELECTOR,
    )


def test_a_stored_success_stays_counted_without_its_pod() -> None:
    job = a_job("W2")
    job = msgspec.structs.replace(
        job, status=JobStatus(replicas={"Worker": ReplicaStatus(completed=frozenset({1, 5}))})
    )
    counted = replica_counts.counted(
        job.replicas[0], instances_of(job, *pods(worker="R")), stored=job.status.of("Worker")
    )
    assert (counted.active, counted.succeeded, counted.completed) == (1, 1, frozenset({1, 5}))


def test_a_type_that_restarts_after_success_remembers_no_success() -> None:
    job = a_job("W2")
    replica = msgspec.structs.replace(job.replicas[0], restarts_on_success=True)
    stored = ReplicaStatus(completed=frozenset({0}))
    counted = replica_counts.counted(replica, instances_of(job, *pods(worker="SR")), stored=stored)
    assert (counted.succeeded, counted.completed) == (1, frozenset())


def test_after_success_what_runs_counts_as_succeeded() -> None:
    after = replica_counts.after_success(ReplicaStatus(active=2, succeeded=1, failed=1))
    assert after == ReplicaStatus(succeeded=3, failed=1)
    assert replica_counts.after_success(after) == after


def test_after_failure_only_what_clean_up_leaves_is_active() -> None:
    assert replica_counts.after_failure(ReplicaStatus(active=3), remaining=1).active == 1
    assert replica_counts.after_failure(ReplicaStatus(active=1), remaining=3).active == 1


def test_restarts_in_place_are_those_of_all_containers_of_pods_that_stay() -> None:
    job = a_job("W3", restart="OnFailure")
    init = [ContainerStatus(name="init", restart_count=2)]
    others = [ContainerStatus(name="proxy", restart_count=4)]
    instances = instances_of(job, a_pod("worker", 0, restarts=1, init=init, others=others))
    assert replica_counts.in_place_restarts(instances) == 7
    instances[0].is_obsolete = True
    assert replica_counts.in_place_restarts(instances) == 0


def test_failures_are_summed_over_all_types() -> None:
    status = JobStatus(replicas={"PS": ReplicaStatus(failed=1), "Worker": ReplicaStatus(failed=2)})
    assert replica_counts.failed_total(status) == 3


def test_while_suspended_replicas_that_still_run_are_active() -> None:
    suspended = replica_counts.while_suspended(JobStatus(), active={"PS": 2})
    assert suspended.of("PS").active == 2


def test_while_suspended_nothing_is_active_and_the_other_counts_stay() -> None:
    suspended = replica_counts.while_suspended(
        JobStatus(replicas={"Worker": BUSY}, start_time=NOW), active={"Worker": 0}
    )
    assert suspended.of("Worker") == ReplicaStatus(
        succeeded=1, failed=3, restarts=4, completed=frozenset({1}), selector="s"
    )
    assert suspended.start_time == NOW


def test_while_suspended_every_type_of_the_spec_has_an_entry_and_no_other() -> None:
    suspended = replica_counts.while_suspended(
        JobStatus(replicas={"PS": BUSY}), active={"Worker": 0}
    )
    assert suspended.replicas == {"Worker": ReplicaStatus()}


def test_after_resume_only_restarts_stay_counted() -> None:
    status = replica_counts.after_resume(JobStatus(replicas={"Worker": BUSY}, start_time=NOW))
    assert status.replicas == {"Worker": ReplicaStatus(restarts=4, selector="s")}
    assert status.start_time == NOW
