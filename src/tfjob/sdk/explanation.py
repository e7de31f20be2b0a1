"""The diagnosis of a job for people: the stored one, or one computed from what is there.

A job of another operator has no stored diagnosis; its pods, conditions and events are read instead.
All commands tell the same sentence.
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

import msgspec

from tfjob.core.diagnosis import diagnose
from tfjob.core.diagnosis.causes import BLOCKING, Cause
from tfjob.core.diagnosis.diagnosis import Diagnosis, Incident, count, names, render
from tfjob.core.job import Job
from tfjob.core.observe import Children
from tfjob.core.status import ConditionType
from tfjob.k8s import time
from tfjob.k8s.pod import Phase, Pod
from tfjob.sdk import event_evidence, jobs
from tfjob.sdk.condition_text import condition_text, silence_of
from tfjob.sdk.connection import Cluster
from tfjob.sdk.job_activity import ReplicaActivity, activity_of, stall_of
from tfjob.sdk.job_events import JobEvent, events_of
from tfjob.sdk.jobs import ClusterJob

_MAX_NAMED: Final = 4
KEYS: Final = (
    "cause",
    "message",
    "remedy",
    "replica",
    "node",
    "reason",
    "exitCode",
    "since",
    "incidents",
)
"""The keys that the JSON output always has."""


class Explanation(msgspec.Struct, frozen=True):
    sentence: str
    diagnosis: Diagnosis | None = None
    is_stored: bool = False
    activity: Sequence[ReplicaActivity] = ()
    """What the replicas of a running job have done last."""

    def as_json(self, found: ClusterJob) -> dict[str, Any]:
        shown: dict[str, Any] = dict.fromkeys(KEYS)
        shown |= {} if self.diagnosis is None else render(self.diagnosis)
        shown["incidents"] = shown["incidents"] or []
        shown["message"] = shown["message"] or self.sentence
        return {
            "job": found.name,
            "namespace": found.namespace,
            "state": found.state,
            "sentence": self.sentence,
            "stored": self.is_stored,
            **shown,
        }


async def explain(cluster: Cluster, found: ClusterJob) -> tuple[Explanation, list[JobEvent]]:
    """The explanation from what the cluster has now, and the events that it had to offer."""
    events = await events_of(cluster, found)
    pods = await jobs.pods_of(cluster, found)
    now = datetime.now(tz=UTC)
    told = explained(found, pods, events, now=now)
    if told.diagnosis is None and found.status.is_true(ConditionType.RUNNING):
        rows = await activity_of(cluster, found, pods)
        stall = stall_of(rows, pods, now=now)
        if stall is not None:
            told = Explanation(stall.message, stall)
        told = msgspec.structs.replace(told, activity=rows)
    return told, events


def explained(
    found: ClusterJob, pods: Sequence[Pod], events: Sequence[JobEvent], *, now: datetime
) -> Explanation:
    stored = found.status.diagnosis
    diagnosis = stored or _computed(found, pods, now=now)
    if (diagnosis is None or diagnosis.cause in _VAGUE) and not found.status.is_finished:
        diagnosis = event_evidence.cause_in(found, pods, events, now=now) or diagnosis
    if diagnosis is None:
        diagnosis = _of_verdict(found)
    text = _healthy(found) if diagnosis is None else sentence(found, diagnosis, pods=pods)
    if found.job.is_external and found.status.conditions:
        text = f"{text}; {_ELSEWHERE}"
    return Explanation(text, diagnosis, is_stored=stored is not None and diagnosis is stored)


_ELSEWHERE: Final = "another controller manages the job, and its pods may be in another cluster"
_EMPTY: Final = "the job has no replicas, so nothing runs; set replicas to 1 or more"
_VAGUE: Final = frozenset({Cause.KILLED, Cause.PROGRAM_FAILED, Cause.UNKNOWN})
"""Causes that an event may explain better."""


def sentence(found: ClusterJob, diagnosis: Diagnosis, *, pods: Sequence[Pod] = ()) -> str:
    """What happened, what followed from it, and what became of the job, in one sentence.

    The pods of a job that has not finished show the restarts that its status does not count yet.
    """
    parts = [diagnosis.message]
    incident = _incident_of(diagnosis)
    if incident is not None:
        parts.extend(_followers(incident))
    parts.append(_outcome(found, diagnosis, pods))
    return "; ".join(part for part in parts if part)


def joined(replicas: Sequence[str]) -> str:
    """`worker-0, worker-1 and 3 more`."""
    shown = list(replicas[:_MAX_NAMED])
    more = len(replicas) - len(shown)
    if more:
        return f"{', '.join(shown)} and {more} more"
    return " and ".join([part for part in (", ".join(shown[:-1]), shown[-1]) if part])


def _followers(incident: Incident) -> list[str]:
    found = []
    if count(incident.alike):
        found.append(f"the same happened to {joined(names(incident.alike))}")
    if count(incident.consequences):
        found.append(f"{joined(names(incident.consequences))} then lost it and ended")
    return found


def _incident_of(diagnosis: Diagnosis) -> Incident | None:
    if diagnosis.cause in BLOCKING:
        return None
    same = (each for each in diagnosis.incidents if each.replica == diagnosis.replica)
    return next((each for each in same if each.at == diagnosis.since), None)


def _outcome(found: ClusterJob, diagnosis: Diagnosis, pods: Sequence[Pod]) -> str:
    status = found.status
    if status.is_true(ConditionType.SUCCEEDED):
        return "the job has succeeded nevertheless"
    if status.is_true(ConditionType.FAILED):
        return "the job has failed"
    if diagnosis.cause in BLOCKING:
        return ""
    if jobs.is_empty(found):
        return _EMPTY
    state = "the job is restarting" if status.is_true(ConditionType.RESTARTING) else ""
    state = "the job runs again" if status.is_true(ConditionType.RUNNING) else state
    if not isinstance(found.job, Job) or found.job.policy.backoff_limit is None:
        return state
    limit = found.job.policy.backoff_limit
    restarts = status.restarts + _in_place_restarts(found.job, pods)
    left = f"{max(limit - restarts, 0)} of {limit} restarts left"
    return f"{state}, {left}" if state else left


def _in_place_restarts(job: Job, pods: Sequence[Pod]) -> int:
    """Restarts by the kubelet that count towards the limit and are only in the pods yet."""
    if not job.semantics.backoff_limit_counts_container_restarts:
        return 0
    living = (pod for pod in pods if not pod.metadata.is_terminating)
    return sum(pod.restart_count for pod in living if pod.phase in {Phase.PENDING, Phase.RUNNING})


def _computed(found: ClusterJob, pods: Sequence[Pod], *, now: datetime) -> Diagnosis | None:
    if not isinstance(found.job, Job):
        return None
    return diagnose.of(found.job, Children(pods=tuple(pods)), now=now)


def _of_verdict(found: ClusterJob) -> Diagnosis | None:
    """What the conditions of a failed job still tell when its pods are gone."""
    failed = found.status.condition(ConditionType.FAILED)
    if failed is None or not failed.is_true:
        return None
    moment = failed.last_transition or failed.last_update or found.created
    if moment is None:
        return None
    text = failed.message
    cause = next((cause for phrase, cause in _VERDICTS.items() if phrase in text), Cause.UNKNOWN)
    message = condition_text(found, failed)
    return Diagnosis(cause=cause, message=message, since=moment, reason=failed.reason)


_VERDICTS: Final[Mapping[str, Cause]] = {
    "backoff limit": Cause.BACKOFF_LIMIT_EXCEEDED,
    "longer than specified deadline": Cause.DEADLINE_EXCEEDED,
    "spec is invalid": Cause.INVALID_SPEC,
}


def _healthy(found: ClusterJob) -> str:
    status = found.status
    if not status.conditions:
        return f"{silence_of(found)} yet"
    if status.is_true(ConditionType.SUCCEEDED):
        return "the job has succeeded"
    if status.is_true(ConditionType.SUSPENDED):
        return "the job is suspended"
    if jobs.is_empty(found):
        return _EMPTY
    active = sum(each.active for each in status.replicas.values())
    total = found.job.total if isinstance(found.job, Job) else active
    if status.is_true(ConditionType.RUNNING):
        return f"nothing is wrong: the job runs, {active} of {total} replicas are active"
    return f"nothing is known to be wrong: the job is starting, {active} of {total} replicas run"


def evidence(found: ClusterJob, diagnosis: Diagnosis) -> list[tuple[str, str]]:
    """The facts behind the cause, as label and value."""
    code = diagnosis.exit_code
    rows = [
        ("Cause", str(diagnosis.cause)),
        ("Since", time.render(diagnosis.since)),
        ("Replica", diagnosis.replica),
        ("Node", diagnosis.node),
        ("Reason", diagnosis.reason),
        ("Exit code", "" if code is None else str(code)),
        ("Limit", _limit_text(found, diagnosis)),
    ]
    return [(label, value) for label, value in rows if value]


def _limit_text(found: ClusterJob, diagnosis: Diagnosis) -> str:
    if diagnosis.cause is not Cause.OUT_OF_MEMORY:
        return ""
    limit = jobs.memory_limit(found, diagnosis.replica)
    return f"memory {limit}" if limit else ""
