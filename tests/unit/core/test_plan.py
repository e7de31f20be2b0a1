"""Plans as values."""

from typing import Any

import pytest

from tests.support.builders import NOW, meta
from tfjob.core.plan import (
    ChildKind,
    Create,
    Delete,
    EventType,
    JobEvent,
    Plan,
    Rule,
    Update,
    deletes_of,
)
from tfjob.core.status import JobStatus


@pytest.mark.parametrize(
    "fields",
    [
        {"creates": [Create(kind="Pod", name="p")]},
        {"updates": [Update(kind="PodGroup", name="g", uid="u", body={})]},
        {"deletes": [Delete(kind="Pod", name="p", uid="u", rule=Rule.SCALE_DOWN)]},
        {"status": JobStatus()},
        {"deletes_job": True},
    ],
)
def test_plan_with_a_write_is_not_empty(fields: dict[str, Any]) -> None:
    assert not Plan(**fields).is_empty


def test_plan_with_only_events_or_a_requeue_is_empty() -> None:
    event = JobEvent(type=EventType.NORMAL, reason="R", message="m", key="k")
    assert Plan().is_empty
    assert Plan(events=[event], requeue_at=NOW).is_empty


def test_terminating_objects_are_not_deleted_again() -> None:
    staying = meta("a", uid="u")
    going = meta("b", deleted=-5)
    assert deletes_of(ChildKind.SERVICE, [going, staying], rule=Rule.SUSPENDED) == [
        Delete(kind="Service", name="a", uid="u", rule=Rule.SUSPENDED, is_forced=False)
    ]
