"""Building a plan: conditions, events, requeue times and the order of writes."""

import msgspec
import pytest

from tests.support.builders import NOW, a_job, at, conditions_of
from tfjob.core.messages import MessageTemplate
from tfjob.core.plan import Delete, EventType, Rule
from tfjob.core.plan_builder import PlanBuilder
from tfjob.core.status import ConditionType

PHRASE = MessageTemplate("Because", "{namespace}/{name} {what}")


def a_draft(seconds: float = 0) -> PlanBuilder:
    return PlanBuilder(a_job("W1"), now=at(seconds))


def test_a_condition_is_stamped_with_whole_seconds_and_says_what_it_was_given() -> None:
    draft = a_draft(0.75)
    message = draft.set_condition(ConditionType.RUNNING, PHRASE, params={"what": "runs"})
    assert message == "n/j runs"
    (condition,) = draft.status.conditions
    assert (condition.type, condition.status) == ("Running", "True")
    assert (condition.reason, condition.message) == ("Because", "n/j runs")
    assert (condition.last_update, condition.last_transition) == (NOW, NOW)


def test_a_condition_that_changes_nothing_has_no_message() -> None:
    draft = a_draft()
    draft.set_condition(ConditionType.RUNNING, PHRASE, params={"what": "runs"})
    before = draft.status
    assert draft.set_condition(ConditionType.RUNNING, PHRASE, params={"what": "walks"}) is None
    assert draft.status is before


def test_a_condition_that_turns_false_has_a_message() -> None:
    draft = a_draft()
    draft.set_condition(ConditionType.RUNNING, PHRASE, params={"what": "runs"})
    params = {"what": "rests"}
    assert draft.set_condition(ConditionType.RUNNING, PHRASE, is_true=False, params=params)
    assert conditions_of(draft.status) == ["Running=F"]


def test_a_condition_that_a_failed_job_rejects_has_no_message() -> None:
    draft = a_draft()
    draft.set_condition(ConditionType.FAILED, PHRASE, params={"what": "failed"})
    assert draft.set_condition(ConditionType.RUNNING, PHRASE, params={"what": "runs"}) is None
    assert conditions_of(draft.status) == ["Failed"]


def test_an_event_without_a_key_is_a_fact_of_this_moment() -> None:
    draft = a_draft(0.5)
    draft.record_event(EventType.WARNING, "Reason", "text")
    draft.record_event(EventType.NORMAL, "Reason", "text", key="mine")
    first, second = draft.plan().events
    assert (first.type, first.reason, first.message) == ("Warning", "Reason", "text")
    assert (first.key, second.key) == ("Reason/2026-01-02T03:04:05Z", "mine")


def test_the_plan_wakes_at_the_first_moment_asked_for() -> None:
    draft = a_draft()
    assert draft.plan().requeue_at is None
    for moment in (at(9), None, at(3), at(5)):
        draft.requeue_at(moment)
    assert draft.plan().requeue_at == at(3)


def test_a_status_that_did_not_change_is_not_written() -> None:
    draft = a_draft()
    assert draft.plan().status is None
    draft.set_status(start_time=NOW)
    plan = draft.plan()
    assert plan.status is not None
    assert plan.status.start_time == NOW


def test_a_child_is_deleted_once_by_the_first_rule_that_deletes_it() -> None:
    draft = a_draft()
    first, second = (Delete(kind="Pod", name=name, uid=name, rule=Rule.SUPERSEDED) for name in "ab")
    again = msgspec.structs.replace(first, rule=Rule.SCALE_DOWN)
    draft.deletes.extend([first, second, first, again])
    assert draft.plan().deletes == [first, second]


@pytest.mark.parametrize("deletes_job", [True, False])
def test_the_plan_carries_what_was_collected(deletes_job: bool) -> None:
    draft = a_draft()
    draft.replaced = 2
    plan = draft.plan(deletes_job=deletes_job)
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
def test_an_end_and_a_suspension_are_stored_before_anything_is_done(
    kind: ConditionType, expected: bool
) -> None:
    draft = a_draft()
    draft.set_condition(kind, PHRASE, params={"what": "x"})
    assert draft.plan().writes_status_first is expected


@pytest.mark.parametrize("kind", ["Succeeded", "Failed", "Suspended"])
def test_what_is_stored_already_hurries_nothing(kind: str) -> None:
    stored = {"conditions": [{"type": kind, "status": "True"}]}
    draft = PlanBuilder(a_job("W1", status=stored), now=NOW)
    draft.set_status(start_time=NOW)
    plan = draft.plan()
    assert plan.status is not None
    assert not plan.writes_status_first
