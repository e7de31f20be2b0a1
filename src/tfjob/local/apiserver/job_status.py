"""What a Job needs next, and its status.

A pure function of the Job, its pods and the time. Counts never decrease, and a finished Job stays
finished.
"""

from datetime import datetime
from typing import Any

import msgspec

from tfjob.k8s import time
from tfjob.local.apiserver.controller import delay
from tfjob.local.apiserver.owned_objects import (
    ended_at,
    has_ended,
    is_active,
    is_terminating,
    ready_since,
)

Json = dict[str, Any]
TRACKING = "batch.kubernetes.io/job-tracking"
_DONE = ("CompletionsReached", "Reached expected number of succeeded pods")
_LOST = ("BackoffLimitExceeded", "Job has reached the specified backoff limit")


class Ends(msgspec.Struct, frozen=True):
    """UIDs of finished pods that are not counted yet."""

    succeeded: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()

    def listed(self) -> Json:
        fields = {"succeeded": list(self.succeeded), "failed": list(self.failed)}
        return {name: uids for name, uids in fields.items() if uids}


class Decision(msgspec.Struct, frozen=True, kw_only=True):
    """The number of active pods wanted; `again` is when to reconcile without a change."""

    wanted: int
    status: Json
    again: datetime | None = None

    @property
    def as_job(self) -> Json:
        return {"status": self.status}

    @property
    def last_words(self) -> tuple[str, str]:
        """Reason and message of the final event."""
        is_complete = _holds(self.status, "Complete")
        return ("Completed", "Job completed") if is_complete else _LOST


def is_finished(job: Json) -> bool:
    status = job.get("status") or {}
    return _holds(status, "Complete") or _holds(status, "Failed")


def ends_of(job: Json, pods: list[Json]) -> Ends:
    """The pods to count now; a terminating pod counts as failed.

    If the Job is suspended, it is not counted: the Job itself deletes its pods.
    """
    before = (job.get("status") or {}).get("uncountedTerminatedPods") or {}
    succeeded, failed = list(before.get("succeeded") or ()), list(before.get("failed") or ())
    for pod in pods:
        uid = pod["metadata"]["uid"]
        if uid in succeeded or uid in failed:
            continue
        if (pod.get("status") or {}).get("phase") == "Succeeded":
            succeeded.append(uid)
        elif has_ended(pod) or (is_terminating(pod) and not job["spec"].get("suspend")):
            failed.append(uid)
    return Ends(tuple(succeeded), tuple(failed))


def counted(status: Json, ends: Ends) -> Json:
    """The status with these pods counted."""
    sums = {
        "succeeded": (status.get("succeeded") or 0) + len(ends.succeeded),
        "failed": (status.get("failed") or 0) + len(ends.failed),
    }
    return {
        **status,
        **{name: count for name, count in sums.items() if count},
        "uncountedTerminatedPods": {},
    }


def decide(job: Json, pods: list[Json], *, now: datetime) -> Decision:
    """The number of active pods wanted, and the status to store."""
    spec, moment = job["spec"], time.render(now)
    kept = ("startTime", "conditions", "succeeded", "failed")
    status = {k: v for k, v in (job.get("status") or {}).items() if k in kept}
    is_empty = all(has_ended(pod) for pod in pods)
    if spec.get("suspend"):
        return _suspended(status, moment)
    status.setdefault("startTime", moment)
    if _holds(status, "FailureTarget") or _has_failed(spec, status, pods):
        return _ending(status, ("FailureTarget", "Failed"), _LOST, moment, is_empty=is_empty)
    active = sum(map(is_active, pods))
    missing = _missing(spec, succeeded=status.get("succeeded") or 0, active=active)
    if missing == 0:
        names = ("SuccessCriteriaMet", "Complete")
        return _ending(status, names, _DONE, moment, is_empty=is_empty)
    if any(c["type"] == "Suspended" for c in status.get("conditions") or ()):
        why = ("JobResumed", "Job resumed")
        status = _with_condition(status, "Suspended", why, moment, value="False")
    wanted = min(spec.get("parallelism", 1), missing)
    again = next_try(pods)
    if again is not None and again > now:
        return Decision(wanted=min(wanted, active), status=status, again=again)
    return Decision(wanted=wanted, status=status)


def with_pods(status: Json, pods: list[Json]) -> Json:
    """The status with the counts of the current pods."""
    active = [pod for pod in pods if is_active(pod)]
    going = [pod for pod in pods if is_terminating(pod) and not has_ended(pod)]
    return {
        **status,
        **({"active": len(active)} if active else {}),
        "terminating": len(going),
        "uncountedTerminatedPods": {},
        "ready": sum(ready_since(pod) is not None for pod in active),
    }


def next_try(pods: list[Json]) -> datetime | None:
    """When a pod may follow those that failed since the last success; None if none failed."""
    ended: dict[str, list[datetime]] = {"Succeeded": [], "Failed": []}
    for pod in pods:
        moment = ended_at(pod) if has_ended(pod) else None
        if moment is not None:
            ended[pod["status"]["phase"]].append(moment)
    last_success = max(ended["Succeeded"], default=None)
    failures = [m for m in ended["Failed"] if last_success is None or m > last_success]
    return max(failures) + delay(len(failures)) if failures else None


def _suspended(status: Json, moment: str) -> Decision:
    status.pop("startTime", None)
    why = ("JobSuspended", "Job suspended")
    return Decision(wanted=0, status=_with_condition(status, "Suspended", why, moment))


def _ending(
    status: Json, names: tuple[str, str], why: tuple[str, str], moment: str, *, is_empty: bool
) -> Decision:
    """Set the outcome at once; the Job is finished when no pod is running."""
    verdict, end = names
    status = _with_condition(status, verdict, why, moment)
    if is_empty:
        status = _with_condition(status, end, why, moment)
        if end == "Complete":
            status["completionTime"] = moment
    return Decision(wanted=0, status=status)


def _has_failed(spec: Json, status: Json, pods: list[Json]) -> bool:
    limit = spec.get("backoffLimit", 6)
    if (status.get("failed") or 0) > limit:
        return True
    if (spec["template"].get("spec") or {}).get("restartPolicy") != "OnFailure":
        return False
    restarts = sum(_restarts(pod) for pod in pods if is_active(pod))
    return restarts > 0 if limit == 0 else restarts >= limit


def _restarts(pod: Json) -> int:
    status = pod.get("status") or {}
    fields = ("initContainerStatuses", "containerStatuses")
    return sum(one.get("restartCount") or 0 for field in fields for one in status.get(field) or ())


def _missing(spec: Json, *, succeeded: int, active: int) -> int:
    """How many successes are missing; without completions, one success stops new pods."""
    if spec.get("completions") is not None:
        return max(int(spec["completions"]) - succeeded, 0)
    return active if succeeded else max(int(spec.get("parallelism", 1)), 1)


def _holds(status: Json, type_: str) -> bool:
    conditions = status.get("conditions") or ()
    return any(c.get("type") == type_ and c.get("status") == "True" for c in conditions)


def _with_condition(
    status: Json, type_: str, why: tuple[str, str], moment: str, *, value: str = "True"
) -> Json:
    stood = status.get("conditions") or []
    if any(c["type"] == type_ and c["status"] == value for c in stood):
        return status
    reason, message = why
    fresh = {"type": type_, "status": value, "reason": reason, "message": message}
    fresh |= {"lastProbeTime": moment, "lastTransitionTime": moment}
    return {**status, "conditions": [*(c for c in stood if c["type"] != type_), fresh]}
