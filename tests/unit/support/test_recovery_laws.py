"""The laws about restarts of groups: what is a loss, and what is none."""

from datetime import UTC, datetime
from typing import Any

import pytest

from tests.support.histories.recovery_laws import RecoveryLaws
from tests.support.histories.truth import JobFacts, PodFacts, Truth
from tfjob.core.status import PodRecord, RecordCause

DONE: dict[str, Any] = {"has_ended": True, "code": 0}


def broken_by_restart(*, completed: bool = False, **fields: Any) -> str:
    """The law that the restart of a chief breaks if this happened to its only worker."""
    truth = Truth()
    truth.jobs["j"] = job = JobFacts("j", "j", "a", {})
    for kind, more in (("chief", {}), ("worker", fields)):
        truth.pods[kind] = PodFacts(kind, kind, "a", (kind, 0), owner="j", **more)
    if completed:
        job.completed_at[("worker", 0)] = 1
    at = datetime(2026, 1, 1, tzinfo=UTC)
    record = PodRecord(index=0, uid="chief", streak=1, at=at, cause=RecordCause.GROUP)
    return RecoveryLaws(truth).superseded(job, record)


@pytest.mark.parametrize(
    "fields",
    [
        pytest.param({"has_ended": True, "code": 137}, id="failed"),
        pytest.param({"restarts": 1}, id="restarted in place"),
        pytest.param({"is_terminating": True}, id="deleted"),
        pytest.param({"is_marked": True, "is_disrupted": True}, id="marked"),
        pytest.param({"is_marked": True, **DONE}, id="exited with 0, then marked"),
        pytest.param({"is_terminating": True, **DONE}, id="exited with 0, then deleted"),
    ],
)
def test_a_group_is_restarted_after_a_loss(fields: dict[str, Any]) -> None:
    assert broken_by_restart(**fields) == ""


@pytest.mark.parametrize(
    "fields",
    [
        pytest.param({}, id="runs"),
        pytest.param(DONE, id="exited with 0"),
        pytest.param({"is_marked": True, "completed": True, **DONE}, id="marked after success"),
        pytest.param({"is_terminating": True, "completed": True, **DONE}, id="deleted after it"),
    ],
)
def test_a_group_is_not_restarted_without_a_loss(fields: dict[str, Any]) -> None:
    law = "j restarts chief with its group, but lost no replica"
    assert broken_by_restart(**fields) == law
