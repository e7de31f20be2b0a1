"""`tfjob describe JOB --why POD`: which rule of the operator deleted or replaced a pod.

The rule is an annotation of the events of the job. Events expire, after an hour by default; the
operator's log has the same rules.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Final, Protocol

from tfjob.cli import printing
from tfjob.core.plan import Rule
from tfjob.k8s.event import CHILD_ANNOTATION, RULE_ANNOTATION
from tfjob.k8s.meta import ObjectMeta

MEANINGS: Final[Mapping[Rule, str]] = {
    Rule.MISSING_REPLICA: "the replica had no pod",
    Rule.MISSING_SERVICE: "the replica had no service",
    Rule.MISSING_COMPANION: "a companion object of the job was missing",
    Rule.GANG_SCHEDULING: "the job uses gang scheduling and had no PodGroup",
    Rule.RESTART_POLICY: "its container ended and the restart policy requires a new pod",
    Rule.DISRUPTION: "it was evicted, preempted or deleted by someone else, and is replaced",
    Rule.PEER_LOST: "it ended because another replica was lost, and is replaced with it",
    Rule.GROUP_RESTART: "another replica of its group was lost, and the group restarts together",
    Rule.GANG_RESIZED: "its PodGroup is recreated for another number of pods",
    Rule.REQUEUED: "the job has another number of pods, and its queue admits it as a whole",
    Rule.SCALE_DOWN: "the job has fewer replicas of this type now",
    Rule.SUPERSEDED: "it belongs to a run from before the job was resumed or scaled",
    Rule.SUSPENDED: "the job is suspended",
    Rule.CLEAN_POD_POLICY: "the job has finished and its cleanPodPolicy deletes the pod",
    Rule.BACKOFF_LIMIT: "the job has reached its backoffLimit, which deletes all running pods",
    Rule.ACTIVE_DEADLINE: "the job has reached activeDeadlineSeconds, which deletes running pods",
    Rule.JOB_FINISHED: "the job has finished",
    Rule.INVALID_SPEC: "the spec of the job is invalid, which deletes all running pods",
    Rule.STUCK_TERMINATING: "it stayed Terminating on a lost node or beyond the time allowed",
    Rule.TTL_AFTER_FINISHED: "the job has reached ttlSecondsAfterFinished",
}


class RecordedEvent(Protocol):
    """The fields of an Event that are needed."""

    @property
    def metadata(self) -> ObjectMeta: ...
    @property
    def reason(self) -> str: ...
    @property
    def message(self) -> str: ...
    @property
    def last_seen(self) -> datetime | None: ...


def lines(pod: str, events: Sequence[RecordedEvent], *, now: datetime) -> Iterator[str]:
    """One line for each decision about the pod, oldest first; none if no decision is known."""
    for each in events:
        annotations = each.metadata.annotations
        if annotations.get(CHILD_ANNOTATION) != pod:
            continue
        rule = annotations.get(RULE_ANNOTATION, "")
        meaning = MEANINGS[Rule(rule)] if rule in set(Rule) else "a rule of another version"
        age = printing.age(each.last_seen, now)
        yield printing.plain_line(f"{age} ago  {rule}: {meaning} ({each.reason}: {each.message})")


def unknown(job: str, pod: str) -> str:
    return (
        f"no event of job {job} names a deleted or replaced pod {pod}: the operator did not delete"
        ' it, or its events have expired; search the operator\'s log for "child deleted"'
        f" with child {pod}"
    )
