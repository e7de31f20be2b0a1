"""A stored job with faults fails with a message that lists them."""

import msgspec
import pytest

from tests.support.builders import (
    NOW,
    at,
    conditions_of,
    deleted_names,
    events_of,
    manifest,
    meta,
    pods,
    rejected,
    services_of,
)
from tfjob.core.invalid_job import InvalidJob, reject
from tfjob.core.observe import Children
from tfjob.core.plan import ChildKind, Plan
from tfjob.core.status import Condition, JobStatus
from tfjob.k8s import field
from tfjob.k8s.child_types import PodGroup

PREFIX = "Failed to marshal the object to TFJob; the spec is invalid: "


def a_bad_job(**fields: object) -> InvalidJob:
    given = manifest("W1")
    given["spec"] = {}
    return msgspec.structs.replace(rejected(given), **fields)


@pytest.mark.scenario(19)
def test_a_broken_spec_ends_as_failed_with_a_warning_and_no_pod() -> None:
    plan = reject(a_bad_job(), now=at(0.5))
    assert plan.status is not None
    (failed,) = plan.status.conditions
    message = f"{PREFIX}spec.tfReplicaSpecs: Required value: must be required"
    assert (failed.type, failed.status) == ("Failed", "True")
    assert (failed.reason, failed.message) == ("InvalidTFJobSpec", message)
    assert (failed.last_update, failed.last_transition) == (NOW, NOW)
    assert plan.status.completion_time == NOW
    assert events_of(plan) == [("Warning", "InvalidTFJobSpec", message)]
    assert plan.events[0].key == "verdict/U"
    assert (plan.creates, plan.deletes) == ((), ())


def test_all_faults_are_named_in_order() -> None:
    faults = [field.required("a", "x"), field.forbidden("b", "y")]
    plan = reject(a_bad_job(faults=faults), now=NOW)
    assert plan.events[0].message == f"{PREFIX}[a: Required value: x, b: Forbidden: y]"


@pytest.mark.parametrize(("count", "tail"), [(20, ""), (21, " and 1 more"), (25, " and 5 more")])
def test_of_very_many_faults_the_first_twenty_are_named(count: int, tail: str) -> None:
    faults = [field.required(f"f{number}", "x") for number in range(count)]
    message = reject(a_bad_job(faults=faults), now=NOW).events[0].message
    assert message.count("Required value") == 20
    assert message.endswith(f"]{tail}")
    assert "f19:" in message


@pytest.mark.parametrize("fields", [{"is_external": True}, {"is_deleting": True}])
def test_external_or_terminating_job_is_not_touched(fields: dict[str, bool]) -> None:
    assert reject(a_bad_job(**fields), now=NOW) == Plan()


def condition(kind: str) -> Condition:
    return Condition(
        type=kind, status="True", reason="", message="", last_update=NOW, last_transition=NOW
    )


RUNNING = JobStatus(conditions=(condition("Created"), condition("Running")), start_time=NOW)


def children(workers: str) -> Children:
    found = pods(worker=workers)
    return Children(pods=found, services=services_of(found))


def test_finished_job_stays_unchanged() -> None:
    for kind in ("Failed", "Succeeded"):
        status = JobStatus(conditions=(condition(kind),))
        assert reject(a_bad_job(status=status), now=NOW) == Plan()


def test_a_running_job_that_became_unreadable_fails() -> None:
    plan = reject(a_bad_job(status=RUNNING), now=at(5))
    assert plan.status is not None
    assert conditions_of(plan.status) == ["Created", "Running=F", "Failed"]
    assert (plan.status.start_time, plan.status.completion_time) == (NOW, at(5))


def test_rejected_job_loses_running_pods_and_keeps_ended_ones() -> None:
    plan = reject(a_bad_job(status=RUNNING), children=children("RPUSFT"), now=NOW)
    gone = ["j-worker-0", "j-worker-1", "j-worker-2"]
    assert deleted_names(plan, ChildKind.POD) == gone
    assert deleted_names(plan, ChildKind.SERVICE) == gone
    assert plan.status is not None


def test_rejected_job_is_reconciled_until_nothing_runs() -> None:
    first = reject(a_bad_job(status=RUNNING), children=children("RR"), now=NOW)
    assert first.status is not None
    failed = a_bad_job(status=first.status)
    again = reject(failed, children=children("-R"), now=at(60))
    assert deleted_names(again, ChildKind.POD) == ["j-worker-1"]
    assert (again.status, again.events) == (None, ())
    assert reject(failed, children=children("SF"), now=at(60)).is_empty


def test_a_service_left_behind_by_its_pod_goes_with_a_rejected_job() -> None:
    left = Children(services=children("R").services)
    plan = reject(a_bad_job(status=RUNNING), children=left, now=NOW)
    assert deleted_names(plan, ChildKind.SERVICE) == ["j-worker-0"]


def test_a_rejected_job_gives_its_group_back() -> None:
    left = Children(pod_group=PodGroup(metadata=meta("j")))
    plan = reject(a_bad_job(status=RUNNING), children=left, now=NOW)
    assert deleted_names(plan, ChildKind.POD_GROUP) == ["j"]


@pytest.mark.parametrize("kind", ["Failed", "Succeeded"])
def test_a_job_that_ended_before_it_became_unreadable_keeps_its_pods(kind: str) -> None:
    status = JobStatus(conditions=(condition(kind),))
    assert reject(a_bad_job(status=status), children=children("RS"), now=NOW) == Plan()


@pytest.mark.parametrize("fields", [{"is_external": True}, {"is_deleting": True}])
def test_pods_of_an_external_or_terminating_job_are_not_touched(
    fields: dict[str, bool],
) -> None:
    assert reject(a_bad_job(**fields), children=children("R"), now=NOW) == Plan()
