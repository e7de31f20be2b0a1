"""Encoding the status omits empty values, and decoding accepts anything."""

from typing import Any

import pytest

from tests.support.builders import NOW, Passes, a_pod, at, manifest
from tfjob.core.diagnosis.causes import Cause
from tfjob.core.diagnosis.diagnosis import Diagnosis
from tfjob.core.status import Condition, JobStatus, Limit, PodRecord, RecordCause, ReplicaStatus
from tfjob.dialects.kubeflow import status
from tfjob.k8s import time

CONDITION = {
    "type": "Running",
    "status": "True",
    "reason": "TFJobRunning",
    "message": "TFJob n/j is running.",
    "lastUpdateTime": "2026-01-02T03:04:05Z",
    "lastTransitionTime": "2026-01-02T03:04:05Z",
}
FULL = {
    "conditions": [CONDITION],
    "replicaStatuses": {
        "Worker": {
            "active": 1,
            "succeeded": 2,
            "failed": 3,
            "restarts": 4,
            "completedIndexes": "0,2-4",
            "recentRestarts": [
                {
                    "index": 1,
                    "uid": "u",
                    "streak": 2,
                    "time": "2026-01-02T03:04:05Z",
                    "cause": "InPlace",
                    "inPlace": 3,
                    "incident": "u/0",
                }
            ],
            "selector": "a=b",
        },
        "PS": {},
    },
    "startTime": "2026-01-02T03:04:05Z",
    "completionTime": "2026-01-02T03:04:06Z",
    "lastReconcileTime": "2026-01-02T03:04:07Z",
    "limitReached": "BackoffLimit",
    "trainingCompletionTime": "2026-01-02T03:04:06Z",
    "diagnosis": {
        "cause": "Killed",
        "message": "worker-1 was killed by a signal",
        "remedy": "Look at the events of the pod and of its node.",
        "since": "2026-01-02T03:04:05Z",
    },
}


def test_status_comes_back_as_it_was_written() -> None:
    assert status.encode(status.decode(FULL)) == FULL
    assert FULL.keys() == status.FIELDS


def test_full_status_is_read_field_by_field() -> None:
    found = status.decode(FULL)
    assert found == JobStatus(
        conditions=(
            Condition(
                type="Running",
                status="True",
                reason="TFJobRunning",
                message="TFJob n/j is running.",
                last_update=NOW,
                last_transition=NOW,
            ),
        ),
        replicas={
            "Worker": ReplicaStatus(
                active=1,
                succeeded=2,
                failed=3,
                restarts=4,
                completed=frozenset({0, 2, 3, 4}),
                records=(
                    PodRecord(
                        index=1,
                        uid="u",
                        streak=2,
                        at=NOW,
                        cause=RecordCause.IN_PLACE,
                        in_place=3,
                        incident="u/0",
                    ),
                ),
                selector="a=b",
            ),
            "PS": ReplicaStatus(),
        },
        start_time=NOW,
        completion_time=at(1),
        last_reconcile_time=at(2),
        limit_reached=Limit.BACKOFF,
        training_completed=at(1),
        diagnosis=Diagnosis(
            cause=Cause.KILLED, message="worker-1 was killed by a signal", since=NOW
        ),
    )


def test_empty_status_writes_nothing() -> None:
    assert status.encode(JobStatus()) == {}


def test_zeros_are_left_out_but_the_type_is_not() -> None:
    shown = status.encode(JobStatus(replicas={"Worker": ReplicaStatus(succeeded=1, active=0)}))
    assert shown == {"replicaStatuses": {"Worker": {"succeeded": 1}}}
    assert status.encode(JobStatus(replicas={"PS": ReplicaStatus()})) == {
        "replicaStatuses": {"PS": {}}
    }


def test_order_of_conditions_is_kept() -> None:
    kinds = ["Created", "Suspended", "Running"]
    stored = {"conditions": [CONDITION | {"type": kind} for kind in kinds]}
    assert [each.type for each in status.decode(stored).conditions] == kinds
    assert [each["type"] for each in status.encode(status.decode(stored))["conditions"]] == kinds


def test_of_two_entries_of_one_type_the_later_counts() -> None:
    twice = [CONDITION, CONDITION | {"type": "Created"}, CONDITION | {"status": "False"}]
    found = status.decode({"conditions": twice}).conditions
    assert [(each.type, each.status) for each in found] == [
        ("Created", "True"),
        ("Running", "False"),
    ]


def test_old_names_of_counts_are_ignored() -> None:
    found = status.decode({"replicaStatuses": {"Worker": {"running": 1}}})
    assert found.replicas == {"Worker": ReplicaStatus()}


@pytest.mark.parametrize(
    "stored",
    [
        None,
        [],
        "x",
        7,
        {"conditions": {}},
        {"conditions": [None, 1, {}, {"type": 5}, {"type": ""}]},
        {"replicaStatuses": []},
        {"startTime": 5, "completionTime": "yesterday", "lastReconcileTime": {}},
    ],
)
def test_useless_status_is_read_as_none(stored: object) -> None:
    assert status.decode(stored) == JobStatus()


@pytest.mark.parametrize(
    ("value", "found"), [(True, 0), (-5, 0), (10**30, 2**31 - 1), ("3", 0), (1.5, 0), (None, 0)]
)
def test_useless_count_is_read_within_bounds(value: Any, found: int) -> None:
    stored = {"replicaStatuses": {"Worker": {"active": value, "restarts": value}}}
    replica = status.decode(stored).of("Worker")
    assert (replica.active, replica.restarts) == (found, found)


def test_completed_indexes_are_bounded() -> None:
    stored = {"replicaStatuses": {"Worker": {"completedIndexes": "0-999999999,x,5-3,-1"}}}
    assert len(status.decode(stored).of("Worker").completed) == 5_000


def test_restart_without_a_time_is_forgotten() -> None:
    records = [{"index": 0, "uid": "u", "streak": 1}, None, {"time": time.render(NOW)}]
    stored = {"replicaStatuses": {"Worker": {"recentRestarts": records}}}
    assert status.decode(stored).of("Worker").records == (
        PodRecord(0, "", 0, NOW, RecordCause.REMOVED),
    )


def test_whole_status_after_success_is_that_of_the_contract() -> None:
    passes = Passes(manifest("C1 W1", restart="ExitCode"))
    passes.go()
    passes.go(a_pod("chief"), a_pod("worker"), now=at(1))
    ended = [a_pod(role, 0, "Succeeded", exit_code=0) for role in ("chief", "worker")]
    passes.go(*ended, now=at(2))
    first, last = time.render(NOW), time.render(at(2))

    def condition(kind: str, state: str, message: str, when: str) -> dict[str, str]:
        return {
            "type": kind,
            "status": state,
            "reason": f"TFJob{kind}",
            "message": message,
            "lastUpdateTime": when,
            "lastTransitionTime": when,
        }

    def counts(role: str) -> dict[str, object]:
        selector = (
            "training.kubeflow.org/job-name=j,"
            "training.kubeflow.org/operator-name=tfjob-controller,"
            f"training.kubeflow.org/replica-type={role}"
        )
        return {"succeeded": 1, "completedIndexes": "0", "selector": selector}

    shown = status.encode(passes.job.status)
    assert shown == {
        "conditions": [
            condition("Created", "True", "TFJob j is created.", first),
            condition("Running", "False", "TFJob n/j is running.", last),
            condition("Succeeded", "True", "TFJob n/j successfully completed.", last),
        ],
        "replicaStatuses": {"Chief": counts("chief"), "Worker": counts("worker")},
        "startTime": first,
        "completionTime": last,
    }
