"""The batch/v1 Job controller: creates pods until enough succeed or too many fail.

Reconciling is idempotent. A finished pod is counted once, even if it is deleted or the server is
killed: a finalizer holds it until it is counted. Indexed completion, deadlines, TTL and pod failure
policies are not implemented.
"""

from typing import Any

from tfjob.local.apiserver import status as answers
from tfjob.local.apiserver.backend import Backend
from tfjob.local.apiserver.controller import Controller
from tfjob.local.apiserver.handlers.objects import store_internally
from tfjob.local.apiserver.job_status import (
    TRACKING,
    Decision,
    Ends,
    counted,
    decide,
    ends_of,
    is_finished,
    with_pods,
)
from tfjob.local.apiserver.owned_objects import (
    drop,
    has_ended,
    is_active,
    is_terminating,
    make,
    owned,
    pod_of,
    record_event,
    store_status,
)
from tfjob.local.apiserver.store import Change, Key

Json = dict[str, Any]
RESOURCE = "jobs.batch"


class JobController(Controller):
    resource = RESOURCE
    kind = "Job"

    def __init__(self, backend: Backend) -> None:
        self._gone: set[str] = set()
        super().__init__(backend)

    def reconcile(self, key: Key) -> None:
        stored = self.backend.store.get(key)
        if stored is None:
            self._release_orphans()
            return
        job = stored.object()
        if is_terminating(job) or is_finished(job):
            self._release(owned(self.backend, job, "pods"))
            return
        if job["spec"].get("completionMode") == "Indexed":
            return
        job = self._count_ends(key, job)
        pods = owned(self.backend, job, "pods")
        decision = decide(job, pods, now=self.backend.clock())
        if decision.again is not None:
            self.enqueue_at(key, decision.again)
        self._reach(job, pods, decision)
        pods = owned(self.backend, job, "pods")
        store_status(self.backend, key, with_pods(decision.status, pods))
        if is_finished(decision.as_job):
            self._tell(job, *decision.last_words)

    def _count_ends(self, key: Key, job: Json) -> Json:
        """Record the UIDs to count, then remove their finalizers, then count them."""
        pods = [pod for pod in owned(self.backend, job, "pods") if is_tracked(pod)]
        ends = ends_of(job, pods)
        if job["spec"].get("suspend"):
            self._release([pod for pod in pods if is_terminating(pod) and not has_ended(pod)])
        if not (ends.succeeded or ends.failed):
            return job
        announced = {**(job.get("status") or {}), "uncountedTerminatedPods": ends.listed()}
        store_status(self.backend, key, announced)
        self._release([pod for pod in pods if _is_among(pod, ends)])
        return {**job, "status": counted(announced, ends)}

    def _release(self, pods: list[Json]) -> None:
        for pod in pods:
            if not is_tracked(pod):
                continue
            meta = pod["metadata"]
            left = [name for name in meta["finalizers"] if name != TRACKING]
            kept = {field: value for field, value in meta.items() if field != "finalizers"}
            free = {**pod, "metadata": {**kept, **({"finalizers": left} if left else {})}}
            store_internally(self.backend, Key("pods", meta["namespace"], meta["name"]), free)

    def enqueue_all(self) -> None:
        super().enqueue_all()
        store = self.backend.store
        self._gone |= {uid for uid in store.owner_uids() if store.find_uid(uid) is None}
        self._release_orphans()

    def on_change(self, change: Change) -> None:
        super().on_change(change)
        if change.key.resource == RESOURCE and change.type == "DELETED":
            self._gone.add(change.object["metadata"]["uid"])

    def _release_orphans(self) -> None:
        """Remove the finalizer from pods whose Job is gone."""
        while self._gone:
            uid = self._gone.pop()
            self._release(owned(self.backend, {"metadata": {"uid": uid}}, "pods"))

    def _reach(self, job: Json, pods: list[Json], decision: Decision) -> None:
        active = [pod for pod in pods if is_active(pod)]
        for pod in active[decision.wanted :]:
            drop(self.backend, "pods", pod)
            self._tell(job, "SuccessfulDelete", f"Deleted pod: {pod['metadata']['name']}")
        body = pod_of(job, api_version="batch/v1", kind=self.kind)
        finalizers = [*body["metadata"].get("finalizers", ()), TRACKING]
        body["metadata"]["finalizers"] = finalizers
        for _ in range(decision.wanted - len(active)):
            try:
                pod = make(self.backend, "pods", body, namespace=job["metadata"]["namespace"])
            except answers.StatusError:
                # The template is invalid: wait until the Job changes.
                return
            self._tell(job, "SuccessfulCreate", f"Created pod: {pod['metadata']['name']}")

    def _tell(self, job: Json, reason: str, message: str) -> None:
        record_event(
            self.backend,
            job,
            reference=f"batch/v1 {self.kind}",
            component="job-controller",
            reason=reason,
            message=message,
        )


def is_tracked(pod: Json) -> bool:
    return TRACKING in (pod["metadata"].get("finalizers") or ())


def _is_among(pod: Json, ends: Ends) -> bool:
    return pod["metadata"]["uid"] in {*ends.succeeded, *ends.failed}
