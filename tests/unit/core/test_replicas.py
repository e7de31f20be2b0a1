"""Missing children."""

from typing import Any

import msgspec
import pytest

from tests.support.builders import NOW, a_batch_job, a_job, a_service, at, pods
from tfjob.core import replicas
from tfjob.core.job import Companion, Job, Workload
from tfjob.core.observe import Children, observe
from tfjob.core.plan import Create, Rule
from tfjob.core.status import JobStatus, PodRecord, ReplicaStatus
from tfjob.k8s.child_types import CompanionObject
from tfjob.k8s.meta import ObjectMeta


def missing(job: Job, **children: Any) -> tuple[list[Create], Any]:
    found = observe(job, Children(**children))
    return replicas.missing_workloads(job, found, status=job.status, now=NOW)


def stored(job: Job, **statuses: ReplicaStatus) -> Job:
    return msgspec.structs.replace(job, status=JobStatus(replicas=statuses))


def test_each_missing_pod_is_named_with_its_place() -> None:
    creates, due = missing(a_job("P1 W2"), pods=pods(worker="R"))
    assert creates == [
        Create(kind="Pod", name="j-ps-0", type="PS", index=0),
        Create(kind="Pod", name="j-worker-1", type="Worker", index=1),
    ]
    assert due is None


@pytest.mark.parametrize("letter", ["P", "R", "F", "S", "T", "U"])
def test_nothing_is_created_beside_a_pod_that_is_still_there(letter: str) -> None:
    assert missing(a_job("W1"), pods=pods(worker=letter)) == ([], None)


def test_a_replica_that_has_succeeded_is_not_recreated() -> None:
    job = stored(a_job("W3"), Worker=ReplicaStatus(completed=frozenset({0, 2})))
    creates, _ = missing(job)
    assert [each.name for each in creates] == ["j-worker-1"]


def test_earliest_end_of_a_backoff_is_returned() -> None:
    records = tuple(
        PodRecord(index=index, uid="u", streak=streak, at=NOW)
        for index, streak in ((0, 4), (1, 3), (2, 1))
    )
    job = stored(a_job("P1 W3"), Worker=ReplicaStatus(records=records))
    creates, due = missing(job)
    assert [each.name for each in creates] == ["j-ps-0", "j-worker-2"]
    assert due == at(20)


def test_each_missing_service_is_named_with_its_place() -> None:
    job = a_job("P1 W2")
    found = observe(job, Children(services=[a_service("worker", 0)]))
    assert replicas.missing_services(job, found) == [
        Create("Service", "j-ps-0", "PS", 0, rule=Rule.MISSING_SERVICE),
        Create("Service", "j-worker-1", "Worker", 1, rule=Rule.MISSING_SERVICE),
    ]


def test_batch_jobs_are_created_where_those_run_the_replicas() -> None:
    job = msgspec.structs.replace(a_job("W2"), workload=Workload.JOB)
    creates, _ = missing(job, pods=pods(worker="-R"), jobs=[a_batch_job("worker", 0)])
    assert creates == [Create(kind="Job", name="j-worker-1", type="Worker", index=1)]


def test_a_batch_job_that_has_succeeded_is_not_recreated() -> None:
    job = stored(a_job("W1"), Worker=ReplicaStatus(completed=frozenset({0})))
    assert missing(msgspec.structs.replace(job, workload=Workload.JOB)) == ([], None)


def test_missing_companions_are_created_with_an_owner_reference() -> None:
    board = Companion(
        kind="Deployment",
        name="board",
        manifest={"kind": "Deployment", "metadata": {"name": "board", "labels": {"a": "b"}}},
    )
    script = Companion(kind="ConfigMap", name="script", manifest={"data": {"x": "y"}})
    job = msgspec.structs.replace(a_job("W1"), companions=[board, script])
    owners = [job.owner.reference()]
    assert replicas.missing_companions(job, Children()) == [
        Create(
            kind="Deployment",
            name="board",
            body={
                "kind": "Deployment",
                "metadata": {"name": "board", "labels": {"a": "b"}, "ownerReferences": owners},
            },
            rule=Rule.MISSING_COMPANION,
        ),
        Create(
            kind="ConfigMap",
            name="script",
            body={"data": {"x": "y"}, "metadata": {"ownerReferences": owners}},
            rule=Rule.MISSING_COMPANION,
        ),
    ]
    stands = CompanionObject(metadata=ObjectMeta(name="any"))
    there = Children(companions={("Deployment", "board"): stands, ("Service", "script"): stands})
    assert [each.name for each in replicas.missing_companions(job, there)] == ["script"]
