"""The diagnosis of a job as text: the stored one, or one computed from what the cluster has.

A job of another operator has no stored diagnosis, so its pods, conditions and events are read
instead. Events are used only for what nothing else shows: mounts, sandboxes, probes, and failed
creates of other operators. All commands show the same sentence.
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

import msgspec

from tfjob.core.diagnosis import api_refusals, diagnose, pod_events
from tfjob.core.diagnosis.causes import BLOCKING, CATALOGUE, Cause
from tfjob.core.diagnosis.diagnosis import Diagnosis, Incident, count, fitted, names, render
from tfjob.core.job import Job
from tfjob.core.observe import Children
from tfjob.core.status import ConditionType
from tfjob.k8s import time
from tfjob.k8s.pod import Phase, Pod
from tfjob.sdk import jobs
from tfjob.sdk.condition_text import condition_text, silence_of
from tfjob.sdk.connection import Cluster
from tfjob.sdk.job_activity import ReplicaActivity, activity_of, stall_of
from tfjob.sdk.job_events import WARNING, JobEvent, events_of
from tfjob.sdk.jobs import ClusterJob
from tfjob.sdk.template_changes import changed_templates

_CREATE_FAILED: Final = "FailedCreate"
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
    """The recent activity of a running job's replicas."""
    template: Sequence[str] = ()
    """Which pods differ from the template of the job."""

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
            "template": list(self.template),
            **shown,
        }


async def explain(cluster: Cluster, found: ClusterJob) -> tuple[Explanation, list[JobEvent]]:
    """The explanation of the job's current state, and the job's events."""
    events = await events_of(cluster, found)
    manifests = await jobs.pod_manifests(cluster, found)
    pods = jobs.read_pods(found, manifests)
    now = datetime.now(tz=UTC)
    explanation = explained(found, pods, events, now=now)
    if explanation.diagnosis is None and found.status.is_true(ConditionType.RUNNING):
        rows = await activity_of(cluster, found, pods)
        stall = stall_of(rows, pods, now=now)
        if stall is not None:
            explanation = Explanation(stall.message, stall)
        explanation = msgspec.structs.replace(explanation, activity=rows)
    template = changed_templates(found, manifests)
    return msgspec.structs.replace(explanation, template=template), events


def explained(
    found: ClusterJob, pods: Sequence[Pod], events: Sequence[JobEvent], *, now: datetime
) -> Explanation:
    stored = found.status.diagnosis
    diagnosis = stored or _computed(found, pods, now=now)
    if (diagnosis is None or diagnosis.cause in _VAGUE) and not found.status.is_finished:
        diagnosis = _cause_in_events(found, pods, events, now=now) or diagnosis
    if diagnosis is None:
        diagnosis = _of_verdict(found)
    if _is_idle(found):
        before = "" if diagnosis is None else f"; before that, {diagnosis.message}"
        text, diagnosis = f"{_EMPTY}{before}", None
    else:
        text = _healthy(found) if diagnosis is None else sentence(found, diagnosis, pods=pods)
    if found.job.is_external and found.status.conditions:
        text = f"{text}; {_ELSEWHERE}"
    return Explanation(text, diagnosis, is_stored=stored is not None and diagnosis is stored)


def _is_idle(found: ClusterJob) -> bool:
    """Whether nothing runs because the job has no replicas; earlier causes do not matter then."""
    is_suspended = found.status.is_true(ConditionType.SUSPENDED)
    return jobs.is_empty(found) and bool(found.status.conditions) and not is_suspended


_ELSEWHERE: Final = "another controller manages the job, and its pods may be in another cluster"
_EMPTY: Final = "the job has no replicas, so nothing runs; set replicas to 1 or more"
_VAGUE: Final = frozenset({Cause.KILLED, Cause.PROGRAM_FAILED, Cause.UNKNOWN})
"""Causes that an event may explain better."""


def sentence(found: ClusterJob, diagnosis: Diagnosis, *, pods: Sequence[Pod] = ()) -> str:
    """What happened, its consequences and the outcome for the job, in one sentence.

    The pods of an unfinished job show restarts that its status does not count yet.
    """
    parts = [diagnosis.message]
    incident = _incident_of(diagnosis)
    if incident is not None:
        parts.extend(_followers(incident))
    parts.append(_outcome(found, diagnosis, pods))
    return "; ".join(part for part in parts if part)


def _followers(incident: Incident) -> list[str]:
    found = []
    if count(incident.alike):
        found.append(f"the same happened to {jobs.joined(names(incident.alike))}")
    if count(incident.consequences):
        found.append(f"{jobs.joined(names(incident.consequences))} then lost it and ended")
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
    state = "the job is restarting" if status.is_true(ConditionType.RESTARTING) else ""
    state = "the job runs again" if status.is_true(ConditionType.RUNNING) else state
    if not isinstance(found.job, Job) or found.job.policy.backoff_limit is None:
        return state
    limit = found.job.policy.backoff_limit
    restarts = status.restarts + _in_place_restarts(found.job, pods)
    left = f"{max(limit - restarts, 0)} of {limit} restarts left"
    return f"{state}, {left}" if state else left


def _in_place_restarts(job: Job, pods: Sequence[Pod]) -> int:
    """Restarts by the kubelet that count towards the limit and are not in the status yet."""
    if not job.semantics.backoff_limit_counts_container_restarts:
        return 0
    living = (pod for pod in pods if not pod.metadata.is_terminating)
    return sum(pod.restart_count for pod in living if pod.phase in {Phase.PENDING, Phase.RUNNING})


def _computed(found: ClusterJob, pods: Sequence[Pod], *, now: datetime) -> Diagnosis | None:
    if not isinstance(found.job, Job):
        return None
    return diagnose.of(found.job, Children(pods=tuple(pods)), now=now)


def _cause_in_events(
    found: ClusterJob, pods: Sequence[Pod], events: Sequence[JobEvent], *, now: datetime
) -> Diagnosis | None:
    """The cause that the latest relevant event shows; None if there is no such event.

    An event counts only while its pod exists and does not run; for a probe, if its pod was
    restarted.
    """
    by_uid = {pod.metadata.uid: pod for pod in pods}
    for event in reversed(events):
        pod = by_uid.get(event.involved_object.uid)
        cause = _create_cause(event, pods) if pod is None else _pod_cause(event, pod)
        if event.type == WARNING and cause is not None:
            return _of_event(found, cause, event, pod, now=now)
    return None


def _pod_cause(event: JobEvent, pod: Pod) -> Cause | None:
    if pod.phase is Phase.PENDING:
        # An old warning no longer counts once the sandbox is ready and the image is being pulled.
        return None if pod_events.has_sandbox(pod) else pod_events.starting_cause(event.reason)
    is_probe = pod_events.is_unhealthy(event.reason, event.message)
    return Cause.PROBE_FAILED if is_probe and pod.restart_count else None


def _create_cause(event: JobEvent, pods: Sequence[Pod]) -> Cause | None:
    """A refused create of a job that has no pod at all."""
    if pods or not event.reason.startswith(_CREATE_FAILED):
        return None
    return api_refusals.cause_of(event.message)


def _of_event(
    found: ClusterJob, cause: Cause, event: JobEvent, pod: Pod | None, *, now: datetime
) -> Diagnosis:
    replica = "" if pod is None else jobs.replica_name(found, pod)
    return fitted(
        Diagnosis(
            cause=cause,
            message=f"{replica or 'the job'} {CATALOGUE[cause].text} ({event.message})",
            since=event.last_seen or now,
            replica=replica,
            node="" if pod is None else pod.spec.node_name,
            reason=event.reason,
        )
    )


def _of_verdict(found: ClusterJob) -> Diagnosis | None:
    """The diagnosis from the conditions of a failed job, for when its pods are gone."""
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
