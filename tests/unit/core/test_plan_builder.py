"""Building a plan: conditions, events, requeue times and the order of writes."""

import msgspec
import pytest

from tests.support.builders import NOW, a_job, at, conditions_of
from tfjob.core.messages import MessageTemplate
from tfjob.core.plan import Delete, EventType, Rule
from tfjob.core.plan_builder import PlanBuilder
from tfjob.core.status import ConditionType

PHRASE = MessageTemplate("Because", "{namespace}/{name} {what}")


def a_builder(seconds: float = 0) -> PlanBuilder:
    return PlanBuilder(a_job("W1"), now=at(seconds))


def test_condition_has_whole_seconds_and_the_rendered_message() -> None:
    builder = a_builder(0.75)
    message = builder.set_condition(ConditionType.RUNNING, PHRASE, params={"what": "runs"})
    assert message == "n/j runs"
    (condition,) = builder.status.conditions
    assert (condition.type, condition.status) == ("Running", "True")
    assert (condition.reason, condition.message) == ("Because", "n/j runs")
    assert (condition.last_update, condition.last_transition) == (NOW, NOW)


def test_a_condition_that_changes_nothing_has_no_message() -> None:
    builder = a_builder()
    builder.set_condition(ConditionType.RUNNING, PHRASE, params={"what": "runs"})
    before = builder.status
    assert builder.set_condition(ConditionType.RUNNING, PHRASE, params={"what": "walks"}) is None
    assert builder.status is before


def test_a_condition_that_turns_false_has_a_message() -> None:
    builder = a_builder()
    builder.set_condition(ConditionType.RUNNING, PHRASE, params={"what": "runs"})
    params = {"what": "rests"}
    assert builder.set_condition(ConditionType.RUNNING, PHRASE, is_true=False, params=params)
    assert conditions_of(builder.status) == ["Running=F"]


def test_a_condition_that_a_failed_job_rejects_has_no_message() -> None:
    builder = a_builder()
    builder.set_condition(ConditionType.FAILED, PHRASE, params={"what": "failed"})
    assert builder.set_condition(ConditionType.RUNNING, PHRASE, params={"what": "runs"}) is None
    assert conditions_of(builder.status) == ["Failed"]


def test_event_without_a_key_is_a_new_occurrence() -> None:
    builder = a_builder(0.5)
    builder.record_event(EventType.WARNING, "Reason", "text")
    builder.record_event(EventType.NORMAL, "Reason", "text", key="mine")
    first, second = builder.plan().events
    assert (first.type, first.reason, first.message) == ("Warning", "Reason", "text")
    assert (first.key, second.key) == ("Reason/2026-01-02T03:04:05Z", "mine")


def test_plan_is_requeued_at_the_earliest_requested_time() -> None:
    builder = a_builder()
    assert builder.plan().requeue_at is None
    for moment in (at(9), None, at(3), at(5)):
        builder.requeue_at(moment)
    assert builder.plan().requeue_at == at(3)


def test_a_status_that_did_not_change_is_not_written() -> None:
    builder = a_builder()
    assert builder.plan().status is None
    builder.set_status(start_time=NOW)
    plan = builder.plan()
    assert plan.status is not None
    assert plan.status.start_time == NOW


def test_a_child_is_deleted_once_by_the_first_rule_that_deletes_it() -> None:
    builder = a_builder()
    first, second = (Delete(kind="Pod", name=name, uid=name, rule=Rule.SUPERSEDED) for name in "ab")
    again = msgspec.structs.replace(first, rule=Rule.SCALE_DOWN)
    builder.deletes.extend([first, second, first, again])
    assert builder.plan().deletes == [first, second]


@pytest.mark.parametrize("deletes_job", [True, False])
def test_the_plan_carries_what_was_collected(deletes_job: bool) -> None:
    builder = a_builder()
    builder.replaced = 2
    plan = builder.plan(deletes_job=deletes_job)
    assert (plan.replaced, plan.deletes_job, plan.writes_status_first) == (2, deletes_job, False)


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (ConditionType.SUCCEEDED, True),
        (ConditionType.FAILED, True),
        (ConditionType.SUSPENDED, True),
        (ConditionType.RUNNING, False),
        (ConditionType.RESTARTING, False),
    ],
)
def test_finish_and_suspension_are_stored_before_children_change(
    kind: ConditionType, expected: bool
) -> None:
    builder = a_builder()
    builder.set_condition(kind, PHRASE, params={"what": "x"})
    assert builder.plan().writes_status_first is expected


@pytest.mark.parametrize("kind", ["Succeeded", "Failed", "Suspended"])
def test_conditions_that_are_already_stored_do_not_force_the_status_first(kind: str) -> None:
    stored = {"conditions": [{"type": kind, "status": "True"}]}
    builder = PlanBuilder(a_job("W1", status=stored), now=NOW)
    builder.set_status(start_time=NOW)
    plan = builder.plan()
    assert plan.status is not None
    assert not plan.writes_status_first
