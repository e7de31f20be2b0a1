"""What must never happen when groups are restarted and jobs end in order.

A law that depends on what an operator has seen holds for pods that it must have seen: they were
there before a step at which every cache was up to date, and that was before its reconcile began.
"""

from typing import Final

from tests.support.histories.connection import Pass
from tests.support.histories.server import PODS, Change, Json
from tests.support.histories.truth import JobFacts, Place, PodFacts, Truth
from tfjob.core.status import PodRecord, RecordCause

_USERS: Final = frozenset({"chief", "master", "worker"})


class RecoveryLaws:
    def __init__(self, truth: Truth) -> None:
        self._truth = truth
        self._running_since: dict[str, int] = {}
        self._caught_up: list[int] = []

    def caught_up(self) -> None:
        """Every operator's cache of pods is up to date."""
        self._caught_up.append(self._truth.step)

    def observe(self, change: Change) -> None:
        if change.key[0] != PODS or change.new is None:
            return
        uid = change.new["metadata"]["uid"]
        if _is_running(change.new):
            self._running_since.setdefault(uid, self._truth.step)
        else:
            self._running_since.pop(uid, None)

    def early_server(self, job: JobFacts, pod: PodFacts, reconcile: Pass | None) -> str:
        """A parameter server that runs is ended although a replica runs that is not told to end."""
        is_ending = job.verdict or job.status.is_true("Suspended")
        if reconcile is None or not is_ending or job.is_refused or not _is_of(pod, {"ps"}):
            return ""
        if not self._has_seen(pod, reconcile):
            return ""
        for other in self._truth.pods_of(job):
            if not _is_of(other, _USERS) or other.is_terminating or not other.maker:
                continue
            if self._has_seen(other, reconcile):
                return f"{pod.name} is deleted before {other.name}, which runs"
        return ""

    def _has_seen(self, pod: PodFacts, reconcile: Pass) -> bool:
        since = self._running_since.get(pod.uid)
        if since is None or pod.is_gone:
            return False
        return any(since < step < reconcile.begun for step in self._caught_up)

    def mixed_group(self, job: JobFacts, place: Place) -> str:
        """A replica of a group is created although an old pod of the group is still there."""
        own = _record_at(job, place)
        if own is None or not own.incident:
            return ""
        for kind, status in job.status.replicas.items():
            for each in status.records:
                old = self._truth.pods.get(each.uid)
                if each.incident != own.incident or old is None or old.place is None:
                    continue
                is_done = (kind.lower(), each.index) in job.completed_at
                if not (old.is_gone or is_done):
                    return f"{place} is made although {old.name} of its group is still there"
        return ""

    def superseded(self, job: JobFacts, each: PodRecord) -> str:
        """A pod is replaced with a group in which nothing was lost, or is a success already."""
        if each.cause is not RecordCause.GROUP:
            return ""
        others = [other for other in self._truth.pods_of(job) if other.uid != each.uid]
        if any(is_lost(job, other) or other.restarts for other in others):
            return ""
        return f"{job.name} restarts {each.uid} with its group, but lost no replica"


def is_lost(job: JobFacts, pod: PodFacts) -> bool:
    """It failed, or was deleted or marked as disrupted before its success was stored.

    An end that is first seen together with a deletion or a mark is a disruption.
    """
    is_done = pod.has_succeeded and pod.place in job.completed_at
    return pod.has_failed or ((pod.is_marked or pod.is_terminating) and not is_done)


def _is_of(pod: PodFacts, kinds: frozenset[str] | set[str]) -> bool:
    return pod.place is not None and pod.place[0] in kinds


def _record_at(job: JobFacts, place: Place) -> PodRecord | None:
    for kind, status in job.status.replicas.items():
        if kind.lower() == place[0]:
            return status.record_of(place[1])
    return None


def _is_running(pod: Json) -> bool:
    statuses = pod["status"].get("containerStatuses") or []
    is_running = any("running" in each.get("state", {}) for each in statuses)
    return is_running and pod["status"].get("phase") == "Running"
