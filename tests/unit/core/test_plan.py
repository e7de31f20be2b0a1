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
def test_a_plan_that_writes_anything_is_not_quiet(fields: dict[str, Any]) -> None:
    assert not Plan(**fields).is_empty


def test_a_plan_that_only_tells_or_waits_is_quiet() -> None:
    event = JobEvent(type=EventType.NORMAL, reason="R", message="m", key="k")
    assert Plan().is_empty
    assert Plan(events=[event], requeue_at=NOW).is_empty


def test_only_what_is_not_on_its_way_out_is_deleted() -> None:
    staying = meta("a", uid="u")
    going = meta("b", deleted=-5)
    assert deletes_of(ChildKind.SERVICE, [going, staying], rule=Rule.SUSPENDED) == [
        Delete(kind="Service", name="a", uid="u", rule=Rule.SUSPENDED, is_forced=False)
    ]
