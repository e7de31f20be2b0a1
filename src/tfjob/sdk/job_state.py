"""A job's state and explanation as values, which can also be printed."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Self

import msgspec

from tfjob.core.invalid_job import InvalidJob
from tfjob.core.status import ConditionType
from tfjob.sdk import jobs
from tfjob.sdk.condition_text import condition_text
from tfjob.sdk.explanation import Explanation
from tfjob.sdk.jobs import ClusterJob


class ReplicaCounts(msgspec.Struct, frozen=True):
    wanted: int
    active: int
    succeeded: int
    failed: int


class Status(msgspec.Struct, frozen=True, kw_only=True):
    """The state of a job at one moment."""

    state: str
    """The newest condition, such as `Running` or `Succeeded`; `Pending` before the first one."""
    message: str
    is_finished: bool
    has_succeeded: bool
    replicas: Mapping[str, ReplicaCounts]
    restarts: int
    started: datetime | None
    finished: datetime | None

    @classmethod
    def of(cls, found: ClusterJob) -> Self:
        status = found.status
        last = status.conditions[-1] if status.conditions else None
        return cls(
            state=found.state or "Pending",
            message="" if last is None else condition_text(found, last),
            is_finished=status.is_finished,
            has_succeeded=status.is_true(ConditionType.SUCCEEDED),
            replicas=_replicas(found),
            restarts=jobs.restarts(found),
            started=status.start_time,
            finished=status.completion_time,
        )

    def __str__(self) -> str:
        active = sum(each.active for each in self.replicas.values())
        wanted = sum(each.wanted for each in self.replicas.values())
        counts = "" if self.is_finished else f", {active} of {wanted} replicas active"
        return f"{self.state}{counts}"


def _replicas(found: ClusterJob) -> dict[str, ReplicaCounts]:
    if isinstance(found.job, InvalidJob):
        return {}
    counts = {}
    for each in found.job.replicas:
        seen = found.status.of(each.type)
        counts[each.task] = ReplicaCounts(each.count, seen.active, seen.succeeded, seen.failed)
    return counts


class Reason(msgspec.Struct, frozen=True, kw_only=True):
    """Why a job is in its state; empty fields are unknown."""

    sentence: str
    cause: str = ""
    remedy: str = ""
    replica: str = ""
    exit_code: int | None = None
    details: Mapping[str, Any] = {}
    """The output of `tfjob explain -o json`."""

    @classmethod
    def of(cls, found: ClusterJob, explanation: Explanation) -> Self:
        diagnosis = explanation.diagnosis
        details = explanation.as_json(found)
        if diagnosis is None:
            return cls(sentence=explanation.sentence, details=details)
        return cls(
            sentence=explanation.sentence,
            cause=str(diagnosis.cause),
            remedy=diagnosis.remedy,
            replica=diagnosis.replica,
            exit_code=diagnosis.exit_code,
            details=details,
        )

    def __str__(self) -> str:
        return f"{self.sentence}. {self.remedy}" if self.remedy else f"{self.sentence}."
