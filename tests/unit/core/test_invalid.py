"""A stored job that cannot run fails with a sentence that says why."""

import msgspec
import pytest

from tests.support.builders import NOW, at, conditions_of, events_of, manifest, rejected
from tfjob.core.invalid import InvalidJob, reject
from tfjob.core.plan import Plan
from tfjob.core.status import Condition, JobStatus
from tfjob.k8s import field

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
def test_a_job_that_is_not_ours_or_goes_is_not_touched(fields: dict[str, bool]) -> None:
    assert reject(a_bad_job(**fields), now=NOW) == Plan()


def condition(kind: str) -> Condition:
    return Condition(
        type=kind, status="True", reason="", message="", last_update=NOW, last_transition=NOW
    )


def test_a_job_that_has_ended_stays_as_it_ended() -> None:
    for kind in ("Failed", "Succeeded"):
        status = JobStatus(conditions=(condition(kind),))
        assert reject(a_bad_job(status=status), now=NOW) == Plan()


def test_a_running_job_that_became_unreadable_fails() -> None:
    status = JobStatus(conditions=(condition("Created"), condition("Running")), start_time=NOW)
    plan = reject(a_bad_job(status=status), now=at(5))
    assert plan.status is not None
    assert conditions_of(plan.status) == ["Created", "Running=F", "Failed"]
    assert (plan.status.start_time, plan.status.completion_time) == (NOW, at(5))
