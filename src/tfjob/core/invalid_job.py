"""A stored job with faults: it fails with a message that lists them.

Children that still run are deleted; those that have ended are kept for inspection. A job that
finished before it became invalid is left as it is. A job that cannot be decoded gets an event, and
none of its children is touched.
"""

from collections.abc import Sequence
from datetime import datetime

import msgspec

from tfjob.core import cleanup
from tfjob.core.diagnosis.causes import Cause
from tfjob.core.diagnosis.diagnosis import Diagnosis, fitted
from tfjob.core.job import CleanPolicy, Owner
from tfjob.core.messages import Messages
from tfjob.core.observe import Children
from tfjob.core.plan import ChildKind, Delete, EventType, JobEvent, Plan, Rule, deletes_of
from tfjob.core.pod_state import has_ended
from tfjob.core.status import Condition, ConditionType, JobStatus, with_condition
from tfjob.k8s import field, time

_MAX_FAULTS = 20
_NO_CHILDREN = Children()


class InvalidJob(msgspec.Struct, frozen=True):
    """A job that cannot run, as far as it could be decoded."""

    owner: Owner
    messages: Messages
    faults: Sequence[field.Fault]
    status: JobStatus = JobStatus()
    is_external: bool = False
    is_deleting: bool = False
    is_unparsed: bool = False
    """The spec or status cannot be decoded or checked, so the operator cannot act on the job."""

    @property
    def is_ignored(self) -> bool:
        return self.is_external or self.is_deleting or self.is_unparsed


def reject(job: InvalidJob, *, children: Children = _NO_CHILDREN, now: datetime) -> Plan:
    """Plan the failure of a job that cannot run; `children` are found by their owner."""
    if job.is_external or job.is_deleting:
        return Plan()
    if job.is_unparsed:
        return Plan(
            events=[_warning(job, _failed_condition(job, at=time.truncate(now)), "unparsed")]
        )
    if job.status.is_finished:
        return Plan(deletes=_deletes(children)) if _is_rejected(job) else Plan()
    failed = _failed_condition(job, at=time.truncate(now))
    status = with_condition(job.status, failed)
    return Plan(
        deletes=_deletes(children),
        status=msgspec.structs.replace(
            status,
            completion_time=failed.last_update,
            diagnosis=fitted(
                Diagnosis(
                    cause=Cause.INVALID_SPEC,
                    message=failed.message,
                    since=time.truncate(now),
                    reason=failed.reason,
                )
            ),
        ),
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
    """Whether the job failed because it is invalid, and not for an earlier reason."""
    failed = job.status.condition(ConditionType.FAILED)
    return failed is not None and failed.is_true and failed.reason == job.messages.invalid.reason


def _deletes(children: Children) -> tuple[Delete, ...]:
    """Deletes of all that holds resources or a place in a queue; the cleanPodPolicy is unknown."""
    groups = [] if children.pod_group is None else [children.pod_group.metadata]
    deletes = cleanup.deletes_after_completion(
        CleanPolicy.RUNNING,
        pods=children.pods,
        jobs=children.jobs,
        services=[each.metadata for each in children.services],
        ended={
            *(pod.metadata.uid for pod in children.pods if has_ended(pod)),
            *(each.metadata.uid for each in children.jobs if each.status.succeeded),
        },
        ended_by=Rule.INVALID_SPEC,
    )
    return (*deletes, *deletes_of(ChildKind.POD_GROUP, groups, rule=Rule.INVALID_SPEC))


def _failed_condition(job: InvalidJob, *, at: datetime) -> Condition:
    template = job.messages.invalid
    return Condition(
        type=ConditionType.FAILED.value,
        status="True",
        reason=template.reason,
        message=template.render(detail=_detail(job.faults)),
        last_update=at,
        last_transition=at,
    )


def _without_secrets(fault: field.Fault) -> field.Fault:
    """Hide values of environment variables: they may be secrets, and many people read events."""
    is_secret = ".env" in fault.path and fault.value is not msgspec.UNSET
    return msgspec.structs.replace(fault, value="(hidden)") if is_secret else fault


def _detail(faults: Sequence[field.Fault]) -> str:
    """All faults, or the first ones and the number of the others."""
    text = field.summary(_without_secrets(each) for each in faults[:_MAX_FAULTS])
    more = len(faults) - _MAX_FAULTS
    return f"{text} and {more} more" if more > 0 else text
