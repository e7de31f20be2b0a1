"""The ReplicaSet controller: keeps the requested number of pods.

Reconciling is idempotent. A finished pod is replaced at once the first time, then with growing
delays; the last few are kept for inspection. Pods without an owner are not adopted.
"""

from datetime import datetime, timedelta
from typing import Any

from tfjob.local.apiserver import status as answers
from tfjob.local.apiserver.controller import Controller, delay
from tfjob.local.apiserver.owned_objects import (
    drop,
    ended_at,
    has_ended,
    is_active,
    is_terminating,
    make,
    owned,
    pod_of,
    ready_since,
    record_event,
    store_status,
)
from tfjob.local.apiserver.store import Key

Json = dict[str, Any]
RESOURCE = "replicasets.apps"
KEPT_ENDED = 10
_RECENT = timedelta(minutes=10)


class ReplicaSetController(Controller):
    resource = RESOURCE
    kind = "ReplicaSet"

    def reconcile(self, key: Key) -> None:
        stored = self.backend.store.get(key)
        if stored is None or is_terminating(stored.object()):
            return
        replica_set = stored.object()
        pods = owned(self.backend, replica_set, "pods")
        self._forget_old_ends(pods)
        active = [pod for pod in pods if is_active(pod)]
        self._shrink(replica_set, active)
        if len(active) < _wanted(replica_set):
            self._grow(key, replica_set, pods, missing=_wanted(replica_set) - len(active))
        self._report(key, replica_set)

    def _shrink(self, replica_set: Json, active: list[Json]) -> None:
        """Delete pods that are not ready first, then the youngest."""
        serving = {pod["metadata"]["name"]: ready_since(pod) is not None for pod in active}
        oldest_first = sorted(active, key=lambda pod: str(pod["metadata"]["creationTimestamp"]))
        ordered = sorted(oldest_first, key=lambda pod: not serving[pod["metadata"]["name"]])
        for pod in ordered[_wanted(replica_set) :]:
            drop(self.backend, "pods", pod)
            self._tell(replica_set, "SuccessfulDelete", f"Deleted pod: {pod['metadata']['name']}")

    def _grow(self, key: Key, replica_set: Json, pods: list[Json], *, missing: int) -> None:
        moment = next_try(pods, now=self.backend.clock())
        if moment is not None:
            self.enqueue_at(key, moment)
            return
        body = pod_of(replica_set, api_version="apps/v1", kind=self.kind)
        for _ in range(missing):
            try:
                pod = make(self.backend, "pods", body, namespace=key.namespace)
            except answers.StatusError:
                # The template is invalid: wait until the ReplicaSet changes.
                return
            self._tell(replica_set, "SuccessfulCreate", f"Created pod: {pod['metadata']['name']}")

    def _forget_old_ends(self, pods: list[Json]) -> None:
        ended = [pod for pod in pods if has_ended(pod) and not is_terminating(pod)]
        ended.sort(key=lambda pod: str(pod["metadata"]["creationTimestamp"]), reverse=True)
        for pod in ended[KEPT_ENDED:]:
            drop(self.backend, "pods", pod)

    def _report(self, key: Key, replica_set: Json) -> None:
        pods = owned(self.backend, replica_set, "pods")
        now = self.backend.clock()
        pause = timedelta(seconds=replica_set["spec"].get("minReadySeconds") or 0)
        for pod in pods:
            ready = ready_since(pod)
            if ready is not None and ready + pause > now:
                self.enqueue_at(key, ready + pause)
        store_status(self.backend, key, status_of(replica_set, pods, now=now))

    def _tell(self, replica_set: Json, reason: str, message: str) -> None:
        record_event(
            self.backend,
            replica_set,
            reference=f"apps/v1 {self.kind}",
            component="replicaset-controller",
            reason=reason,
            message=message,
        )


def next_try(pods: list[Json], *, now: datetime) -> datetime | None:
    """When a finished pod may be replaced; None for at once."""
    ends = [moment for pod in pods if has_ended(pod) and (moment := ended_at(pod)) is not None]
    recent = [moment for moment in ends if moment > now - _RECENT]
    if len(recent) < 2:
        return None
    moment = max(recent) + delay(len(recent) - 1)
    return moment if moment > now else None


def status_of(replica_set: Json, pods: list[Json], *, now: datetime) -> Json:
    """The status; most zero counts are omitted, as in Kubernetes."""
    active = [pod for pod in pods if is_active(pod)]
    pause = timedelta(seconds=replica_set["spec"].get("minReadySeconds") or 0)
    ready = [moment for pod in active if (moment := ready_since(pod)) is not None]
    counts = {
        "fullyLabeledReplicas": len(active),
        "readyReplicas": len(ready),
        "availableReplicas": sum(moment + pause <= now for moment in ready),
    }
    going = [pod for pod in pods if is_terminating(pod) and not has_ended(pod)]
    return {
        "replicas": len(active),
        **{name: count for name, count in counts.items() if count},
        "terminatingReplicas": len(going),
        "observedGeneration": replica_set["metadata"]["generation"],
    }


def _wanted(replica_set: Json) -> int:
    return int(replica_set["spec"].get("replicas", 1))
