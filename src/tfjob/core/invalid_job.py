"""A stored job that no rule can read: it fails with a sentence that says why, and stays failed.

Law: what still runs of a rejected job goes; what has ended stays to be looked at. A job that came
to its end before it became unreadable is left alone, with everything it kept. One that was not
even parsed is told so, and nothing of it is touched.
"""

from collections.abc import Sequence
from datetime import datetime

import msgspec

from tfjob.core import cleanup
from tfjob.core.job import CleanPolicy, Owner
from tfjob.core.messages import Messages
from tfjob.core.observe import Children
from tfjob.core.plan import Delete, EventType, JobEvent, Plan, Rule
from tfjob.core.pod_state import has_ended
from tfjob.core.status import Condition, ConditionType, JobStatus, with_condition
from tfjob.k8s import field, time

_MOST_FAULTS = 20
_NOTHING = Children()


class InvalidJob(msgspec.Struct, frozen=True):
    """What could be read of a job that cannot run."""

    owner: Owner
    messages: Messages
    faults: Sequence[field.Fault]
    status: JobStatus = JobStatus()
    is_external: bool = False
    is_deleting: bool = False
    is_unparsed: bool = False
    """Its spec or status could not be decoded, so nothing is known of what it asks for."""

    @property
    def is_left_alone(self) -> bool:
        return self.is_external or self.is_deleting or self.is_unparsed


def reject(job: InvalidJob, *, children: Children = _NOTHING, now: datetime) -> Plan:
    """Decide about a job that cannot run; `children` are what it owns that runs or serves."""
    if job.is_external or job.is_deleting:
        return Plan()
    if job.is_unparsed:
        return Plan(events=[_warning(job, _verdict(job, at=time.whole(now)), "unparsed")])
    if job.status.is_finished:
        return Plan(deletes=_removals(children)) if _is_rejected(job) else Plan()
    failed = _verdict(job, at=time.whole(now))
    status = with_condition(job.status, failed)
    return Plan(
        deletes=_removals(children),
        status=msgspec.structs.replace(status, completion_time=failed.last_update),
        events=[_warning(job, failed, "verdict")],
    )


def _warning(job: InvalidJob, verdict: Condition, topic: str) -> JobEvent:
    return JobEvent(
        type=EventType.WARNING,
        reason=verdict.reason,
        message=verdict.message,
        key=f"{topic}/{job.owner.uid}",
    )


def _is_rejected(job: InvalidJob) -> bool:
    """It has failed because it could not be read, and not in another way before."""
    failed = job.status.condition(ConditionType.FAILED)
    return failed is not None and failed.is_true and failed.reason == job.messages.invalid.reason


def _removals(children: Children) -> tuple[Delete, ...]:
    """What the job asked to be kept cannot be known; what holds resources goes."""
    gone = cleanup.removals(
        CleanPolicy.RUNNING,
        pods=children.pods,
        jobs=children.jobs,
        services=[each.metadata for each in children.services],
        ended={
            *(pod.metadata.uid for pod in children.pods if has_ended(pod)),
            *(each.metadata.uid for each in children.jobs if each.status.succeeded),
        },
        limit=Rule.INVALID_SPEC,
    )
    return tuple(gone)


def _verdict(job: InvalidJob, *, at: datetime) -> Condition:
    phrase = job.messages.invalid
    return Condition(
        type=ConditionType.FAILED.value,
        status="True",
        reason=phrase.reason,
        message=phrase.say(detail=_detail(job.faults)),
        last_update=at,
        last_transition=at,
    )


def _detail(faults: Sequence[field.Fault]) -> str:
    """All faults, or the first of very many: a condition is read by people."""
    text = field.summary(faults[:_MOST_FAULTS])
    more = len(faults) - _MOST_FAULTS
    return f"{text} and {more} more" if more > 0 else text
