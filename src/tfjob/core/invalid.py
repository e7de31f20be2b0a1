"""A stored job that no rule can read: it fails with a sentence that says why, and stays failed."""

from collections.abc import Sequence
from datetime import datetime

import msgspec

from tfjob.core.job import Owner
from tfjob.core.plan import EventType, JobEvent, Plan
from tfjob.core.status import Condition, ConditionType, JobStatus, with_condition
from tfjob.core.wording import Wording
from tfjob.k8s import field, time

_MOST_FAULTS = 20


class InvalidJob(msgspec.Struct, frozen=True):
    """What could be read of a job that cannot run."""

    owner: Owner
    wording: Wording
    faults: Sequence[field.Fault]
    status: JobStatus = JobStatus()
    is_external: bool = False
    is_deleting: bool = False


def reject(job: InvalidJob, *, now: datetime) -> Plan:
    if job.is_external or job.is_deleting or job.status.is_finished:
        return Plan()
    stamp = time.whole(now)
    phrase = job.wording.invalid
    message = phrase.say(detail=_detail(job.faults))
    condition = Condition(
        type=ConditionType.FAILED.value,
        status="True",
        reason=phrase.reason,
        message=message,
        last_update=stamp,
        last_transition=stamp,
    )
    status = with_condition(job.status, condition)
    event = JobEvent(
        type=EventType.WARNING,
        reason=phrase.reason,
        message=message,
        key=f"verdict/{job.owner.uid}",
    )
    return Plan(status=msgspec.structs.replace(status, completion_time=stamp), events=[event])


def _detail(faults: Sequence[field.Fault]) -> str:
    """All faults, or the first of very many: a condition is read by people."""
    text = field.summary(faults[:_MOST_FAULTS])
    more = len(faults) - _MOST_FAULTS
    return f"{text} and {more} more" if more > 0 else text
